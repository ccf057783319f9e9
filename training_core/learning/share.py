"""The share of a training that this process computes: here all of it.

Scope: which batches, tiles and blocks, and how the results of all are put together. Independent of what they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from torch import Tensor

Item = TypeVar("Item")


class Share:
    """All batches of a step, all tiles of an image and all blocks of a validation."""

    def begin_step(self, rate: float) -> None:
        """Prepare for the next step, which has the learning rate `rate`, above 0."""

    def begin_validation(self, blocks: int, fewest: int, limit_s: float) -> None:
        """Prepare for a validation on the first `blocks` blocks; see `validation.validate`."""

    def assigned(self, count: int) -> range:
        """Return which of `count` batches of a step, or tiles of an image, this process computes, by number."""
        return range(count)

    def turns(self, count: int, is_last: bool = True) -> Iterator[int]:
        """Yield the numbers from `assigned` in turn; `is_last` if no more gradients follow in this step."""
        yield from self.assigned(count)

    def finish(self) -> None:
        """Wait until the gradients of a step are those of all its batches or tiles."""

    def in_order(self, computed: Tensor, count: int) -> Tensor:
        """Return the values of all batches or tiles, (count, ...), from those here, (assigned, ...), same dtype."""
        return computed

    def deal(self, items: Sequence[Item]) -> Iterator[tuple[list[Item], list[Item]]]:
        """Yield rounds of items: those that this process takes, none or one, and all of the round."""
        for item in items:
            yield [item], [item]

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of all values (...), any dtype."""
        return values


ALL = Share()
