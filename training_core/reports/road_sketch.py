"""A sketch of a road network that comes part by part: as many of its lines as a map can show.

Scope: lines. Independent of how they are drawn.
"""

from __future__ import annotations

import numpy as np

# A map of more lines is a page that is slow to open.
MAX_LINES = 30_000


class RoadSketch:
    """Every line of a network; of a large one every second, every fourth and so on, wherever it lies.

    Parameters
    ----------
    most : int
        Number of lines to keep at most.
    """

    def __init__(self, most: int = MAX_LINES) -> None:
        self._most, self._seen, self.every = most, 0, 1
        self._parts: list[np.ndarray] = []
        self._count = 0

    def add(self, lines: np.ndarray) -> None:
        """Add lines, (n,), object, of a part of the network."""
        kept = lines[-self._seen % self.every :: self.every]
        self._seen += len(lines)
        self._parts.append(kept)
        self._count += len(kept)
        while self._count > self._most:
            halved = np.concatenate(self._parts)[::2]
            self.every *= 2
            self._parts, self._count = [halved], len(halved)

    @property
    def lines(self) -> np.ndarray:
        """The lines that are kept, (n,), object."""
        return np.concatenate(self._parts) if self._parts else np.zeros(0, dtype=object)
