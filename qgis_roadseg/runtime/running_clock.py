"""A clock that stands still while this process does: suspended with its machine, or without a processor.

Scope: time. Independent of what it is for.
"""

from __future__ import annotations

import time


class RunningClock:
    """Seconds in which this process was running, as far as it looks at the clock often.

    Parameters
    ----------
    longest_s : float
        What takes longer between two looks is time in which the process stood still.

    Attributes
    ----------
    now_s : float
        The seconds so far.
    """

    def __init__(self, longest_s: float) -> None:
        self.now_s = 0.0
        self._longest_s = longest_s
        self._looked_s = time.monotonic()
        self._looked_at_s = time.time()

    def advance(self) -> float:
        """Look at the clock; return the seconds since the last look, those of a suspended machine included."""
        former_s, self._looked_s = self._looked_s, time.monotonic()
        former_at_s, self._looked_at_s = self._looked_at_s, time.time()
        self.now_s += min(self._looked_s - former_s, self._longest_s)
        return max(self._looked_s - former_s, self._looked_at_s - former_at_s)  # the first may not count sleep
