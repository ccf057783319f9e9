"""Data-parallel training: rank r of n computes the batches r, r + n, r + 2 n and so on of a step.

Scope: the ranks' shares of the work, and the order of sums. The tiles of an image are shared like batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional

import torch
from torch import Tensor, nn

from ..learning.share import Item, Share
from .gradient_exchange import GradientExchange
from .group import Command, Group


class DataParallel(Share):
    """Shares batches, tiles and blocks among the ranks of a group; sums are bit by bit those of a single process.

    The `replicas`, by default the whole group, share the batches of a step. Compressed, gradients travel in BF16.
    """

    def __init__(self, group: Group, is_compressed: bool = False, replicas: Optional[Group] = None) -> None:
        self.group, self._is_compressed = group, is_compressed
        self._replicas = group if replicas is None else replicas
        self._exchange: Optional[GradientExchange] = None

    @property
    def waited_s(self) -> float:
        """Seconds spent so far on waiting for other ranks."""
        return sum(group.waited_s for group in self._groups)

    @property
    def sent_bytes(self) -> int:
        """Payload that this rank has sent so far."""
        return sum(group.sent_bytes for group in self._groups)

    @property
    def _groups(self) -> set[Group]:
        return {self.group, self._replicas}

    def attach(self, model: nn.Module) -> None:
        """Exchange the gradients of a model from here on."""
        if self._replicas.size > 1:
            self._exchange = GradientExchange(model.parameters(), self._replicas, self._is_compressed)

    def begin_step(self, rate: float) -> None:
        """See Share."""
        self.group.command(Command.STEP, rate)

    def begin_validation(self, blocks: int, fewest: int, limit_s: float) -> None:
        """See Share."""
        self.group.command(Command.VALIDATE, blocks, fewest, limit_s)

    def assigned(self, count: int) -> range:
        """See Share."""
        return range(self._replicas.rank, count, self._replicas.size)

    def turns(self, count: int, is_last: bool = True) -> Iterator[int]:
        """See Share; at the end, this goes along with the round in which only other ranks compute."""
        rank, size = self._replicas.rank, self._replicas.size
        for first in range(0, count, size):
            contributors = min(size, count - first)
            if self._exchange:
                self._exchange.begin_round(contributors, is_last and first + size >= count)
            if rank < contributors:
                yield first + rank
        if self._exchange:
            self._exchange.end_round()

    def finish(self) -> None:
        """Put the gradients of the step, summed over all ranks, into `.grad` of the parameters."""
        if self._exchange:
            self._exchange.finish()

    def in_order(self, computed: Tensor, count: int) -> Tensor:
        """Return the values (count, ...) of all batches or tiles from this rank's (assigned, ...), same dtype."""
        # Ranks without an item in the last round send zeros, which are cut off.
        rounds = -(-count // self._replicas.size)
        padded = computed.new_zeros(rounds, *computed.shape[1:])
        padded[: len(computed)] = computed
        return self._replicas.gather(padded).transpose(0, 1).flatten(0, 1)[:count]

    def deal(self, items: Sequence[Item]) -> Iterator[tuple[list[Item], list[Item]]]:
        """See Share."""
        rank, size = self.group.rank, self.group.size
        for first in range(0, len(items), size):
            together = list(items[first : first + size])
            yield together[rank : rank + 1], together

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of values (...), any dtype, in the order of the ranks."""
        return self.group.sum(values)


class PipelineParallel(DataParallel):
    """The stages of one or more pipelines, each on a rank; the pipelines share the batches of a step.

    With n stages, the first n ranks are the first pipeline, the next n the second one, and so on. `stages` are the
    ranks of this rank's pipeline, and `replica` is its number.
    """

    def __init__(self, group: Group, stages: int, is_compressed: bool = False) -> None:
        if group.size == stages:
            self.stages, replicas = group, Group()
        else:
            starts = range(0, group.size, stages)
            self.stages = group.divided([range(first, first + stages) for first in starts])
            replicas = group.divided([range(stage, group.size, stages) for stage in range(stages)])
        super().__init__(group, is_compressed, replicas)
        self.replica = replicas.rank

    def losses_in_order(self, losses: list[float], count: int) -> list[float]:
        """Return the losses of a step's batches, which last stages have, in the order of the batches."""
        padded = torch.zeros(-(-count // self._replicas.size), dtype=torch.float64)
        padded[: len(losses)] = torch.tensor(losses, dtype=torch.float64)
        on_last_stages = self.group.gather(padded)[self.stages.size - 1 :: self.stages.size]
        return on_last_stages.T.reshape(-1)[:count].tolist()

    @property
    def _groups(self) -> set[Group]:
        return {self.group, self.stages, self._replicas}
