"""Shuffle buffer: a few of many image parts at hand at a time, others by and by, so that memory holds no more.

Scope: which parts are at hand for a batch, a function of the seed and the batch's number alone. Independent of chips.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Optional

import numpy as np

from .labeled_images import ImagePart, LabeledImage

# Parts at hand, and batches after which the oldest of them gives its place to another one.
SIZE, BATCHES_PER_EXCHANGE = 8, 4


class ShuffleBuffer:
    """Parts at hand by batch, in an order that is drawn anew once all have had their turn.

    Parameters
    ----------
    parts : sequence of ImagePart
        At least one.
    read : callable
        Returns a part with its labels, or None where nothing is labeled.
    seed : int
        Of the order.
    """

    def __init__(
        self, parts: Sequence[ImagePart], read: Callable[[ImagePart], Optional[LabeledImage]], seed: int
    ) -> None:
        self._parts, self._read, self._seed = parts, read, seed
        self._at_hand: dict[int, Optional[LabeledImage]] = {}

    def weight(self, batch: int) -> float:
        """Return how many parts each of those at hand for a batch stands for."""
        return len(self._parts) / len(self._turns(batch))

    def at_hand(self, batch: int) -> dict[int, LabeledImage]:
        """Return the labeled parts at hand for a batch, by the number of their turn; those not in memory are read."""
        self._at_hand = {
            turn: self._at_hand[turn] if turn in self._at_hand else self._read(self._part(turn))
            for turn in self._turns(batch)
        }
        return {turn: image for turn, image in self._at_hand.items() if image is not None}

    def _turns(self, batch: int) -> range:
        newest = batch // BATCHES_PER_EXCHANGE
        # The first batch waits for one part alone.
        return range(max(0, newest + 1 - min(SIZE, len(self._parts))), newest + 1)

    def _part(self, turn: int) -> ImagePart:
        number, place = divmod(turn, len(self._parts))
        return self._parts[np.random.default_rng([self._seed, number]).permutation(len(self._parts))[place]]
