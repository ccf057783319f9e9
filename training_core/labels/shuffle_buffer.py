"""Shuffle buffer: a few of many items in memory at a time, exchanged one by one, so that memory does not grow.

Scope: which items are at hand for a batch, a function of the seed and the batch's number alone. Independent of images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Optional, TypeVar

import numpy as np

# Items at hand, and batches after which the oldest of them gives its place to another one.
SIZE, BATCHES_PER_EXCHANGE = 8, 4
Part = TypeVar("Part")
Item = TypeVar("Item")


class ShuffleBuffer(Generic[Part, Item]):
    """Items at hand by batch, in an order that is drawn anew once all have had their turn.

    Parameters
    ----------
    parts : sequence
        The parts from which items are read, at least one.
    read : callable
        Returns the item of a part, or None where there is none.
    seed : int
        Of the order.
    """

    def __init__(self, parts: Sequence[Part], read: Callable[[Part], Optional[Item]], seed: int) -> None:
        self._parts, self._read, self._seed = parts, read, seed
        self._at_hand: dict[int, Optional[Item]] = {}

    def weight(self, batch: int) -> float:
        """Return how many parts each of those read for a batch stands for."""
        return len(self._parts) / len(self._turns(batch))

    def at_hand(self, batch: int) -> list[Item]:
        """Return the items at hand for a batch, the oldest first; those not in memory are read."""
        self._at_hand = {
            turn: self._at_hand[turn] if turn in self._at_hand else self._read(self._part(turn))
            for turn in self._turns(batch)
        }
        return [item for item in self._at_hand.values() if item is not None]

    def _turns(self, batch: int) -> range:
        newest = batch // BATCHES_PER_EXCHANGE
        # The first batch waits for a single part.
        return range(max(0, newest + 1 - min(SIZE, len(self._parts))), newest + 1)

    def _part(self, turn: int) -> Part:
        number, place = divmod(turn, len(self._parts))
        return self._parts[np.random.default_rng([self._seed, number]).permutation(len(self._parts))[place]]
