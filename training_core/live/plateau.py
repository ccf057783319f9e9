"""Plateau detection: when a training that could go on for ever no longer improves.

Scope: the losses of steps. Independent of how they come about.
"""

from __future__ import annotations

import math

# The mean loss of so many steps is compared; their chips differ, so single losses say little.
WINDOW_STEPS = 40
# A mean that is not lower by this share than the lowest so far is no progress; so many of them in a row are the end.
MIN_PROGRESS, MAX_IDLE_WINDOWS = 0.03, 2
# After so many steps a drawing is learned, whatever the loss says: longer, and single labels are learned by heart.
MAX_STEPS = 600


class Plateau:
    """Whether the loss still falls, since the labels last changed."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin anew: the labels have changed."""
        self._losses: list[float] = []
        self._lowest, self._idle, self._steps = math.inf, 0, 0

    def add(self, loss: float) -> None:
        """Add the loss of a step."""
        self._losses.append(loss)
        self._steps += 1
        if len(self._losses) < WINDOW_STEPS:
            return
        mean = sum(self._losses) / WINDOW_STEPS
        self._idle = 0 if mean < self._lowest * (1 - MIN_PROGRESS) else self._idle + 1
        self._lowest, self._losses = min(self._lowest, mean), []

    @property
    def is_reached(self) -> bool:
        """Whether further steps would bring nothing."""
        return self._idle >= MAX_IDLE_WINDOWS or self._steps >= MAX_STEPS
