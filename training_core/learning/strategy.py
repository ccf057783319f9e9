"""Strategy by which a training step is computed: here by a single process, which knows of no other one.

Scope: who computes which batch, tile or block. `distributed.data_parallel` shares them among processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from torch import Tensor, nn

Item = TypeVar("Item")


class SingleProcess:
    """Computes all batches of a step, all tiles of an image and all blocks of a validation in this process."""

    @property
    def waited_s(self) -> float:
        """Seconds spent so far on waiting for other processes."""
        return 0.0

    def attach(self, model: nn.Module) -> None:
        """Prepare for the gradients of a model."""

    def assigned(self, count: int) -> range:
        """Return which of `count` batches of a step, or tiles of an image, this process computes, by number."""
        return range(count)

    def turns(self, count: int, is_last: bool = True) -> Iterator[int]:
        """Yield the numbers from `assigned` in turn; `is_last` if no more gradients follow before `finish`."""
        yield from self.assigned(count)

    def finish(self) -> None:
        """Put the gradients of the step, summed over all processes, into `.grad` of the parameters."""

    def in_order(self, computed: Tensor, count: int) -> Tensor:
        """Return the values of all batches or tiles, (count, ...), from each process's, (assigned, ...), same dtype."""
        return computed

    def deal(self, items: Sequence[Item]) -> Iterator[tuple[list[Item], list[Item]]]:
        """Yield rounds of items: those that this process takes, none or one, and those of all processes."""
        for item in items:
            yield [item], [item]

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of values (...), any dtype, over all processes."""
        return values

    def announce_step(self, rate: float) -> None:
        """Have the other processes take a step with this learning rate, 0 or more."""

    def announce_validation(self, blocks: int, fewest: int, limit_s: float) -> None:
        """Have the other processes validate; see `validation.validate`."""


SINGLE_PROCESS = SingleProcess()
