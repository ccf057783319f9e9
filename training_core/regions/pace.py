"""Pace: how fast scenes are mapped, by worker, and how long the rest will take.

Scope: megapixels and seconds. Independent of what is mapped.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Optional


class RegionPace:
    """The pace of a region's prediction.

    Parameters
    ----------
    total_megapixels : float
        All that is to be predicted; what is there already does not count.
    clock : callable
        Returns seconds.
    """

    def __init__(self, total_megapixels: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._clock = total_megapixels, clock
        self._began_s = clock()
        self._done: dict[str, float] = defaultdict(float)
        self._busy_s: dict[str, float] = defaultdict(float)

    @property
    def megapixels(self) -> float:
        """What is done."""
        return sum(self._done.values())

    @property
    def share(self) -> float:
        """What is done, from 0 to 1."""
        return min(1.0, self.megapixels / self._total) if self._total else 1.0

    def add(self, worker: str, megapixels: float, elapsed_s: float) -> None:
        """Add a task that is done.

        Parameters
        ----------
        worker : str
            Name of the one that did it.
        megapixels : float
        elapsed_s : float
            How long the worker was busy with it.
        """
        self._done[worker] += megapixels
        self._busy_s[worker] += elapsed_s

    def eta_s(self) -> Optional[float]:
        """Return the seconds left at the mean pace of all workers so far; None as long as nothing is done."""
        if not self.megapixels:
            return None
        return max(0.0, self._total - self.megapixels) * (self._clock() - self._began_s) / self.megapixels

    def by_worker(self) -> dict[str, float]:
        """Return the megapixels a second of each worker while it was busy."""
        return {worker: self._done[worker] / max(self._busy_s[worker], 1e-9) for worker in sorted(self._done)}
