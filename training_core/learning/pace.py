"""Throughput of a training over time: a processor that is busy or throttled shows as a fall of the pace.

Scope: seconds and chips of the steps, and the sentences about them. Independent of clocks and of what a step does.
"""

from __future__ import annotations

from typing import NamedTuple

# A window at this share of the usual pace, or less, is slow.
SLOW = 0.5
# A window is closed once it is as long as all of these ask for; its share is that of the training so far.
WINDOW_S, WINDOW_STEPS, WINDOW_SHARE = 2.0, 3, 0.01
# The usual pace is one that three quarters of the windows do not surpass: the machine may be busy from the start.
USUAL_QUANTILE = 0.75


class Window(NamedTuple):
    """Consecutive steps: chips per second without the longest step, and the seconds that all of them take at that."""

    seconds: float
    pace: float


class Pace:
    """Chips per second in windows of some steps, and whether they are far below what is usual in this run.

    The first step, which prepares kernels and memory, does not count; nor does the longest of each window, so that a
    single slow step is no finding. The usual pace never falls, so that a processor which stays throttled is not taken
    for the usual one. Windows grow with the training: days of it are less than a thousand.
    """

    def __init__(self) -> None:
        self._windows: list[Window] = []
        self._usual = self._total_s = 0.0
        self._has_begun = self._has_warned = False
        self._open_new_window()

    def add_step(self, seconds: float, chips: int) -> str:
        """Add a step, and return what to warn of: once in a run, that the pace has fallen; else nothing."""
        if not self._has_begun:
            self._has_begun = True
            return ""
        if not self._add_to_window(seconds, chips):
            return ""
        paces = sorted(window.pace for window in self._windows)
        self._usual = max(self._usual, paces[int(USUAL_QUANTILE * len(paces))])
        if self._has_warned or not self.is_slow:
            return ""
        self._has_warned = True
        return (
            f"The pace has fallen to {self._windows[-1].pace / self._usual:.0%} of what it was: something else uses "
            "the processor, or it is throttled (heat, power saving). Close other programs, or connect the power "
            "supply; otherwise the same time makes fewer steps."
        )

    @property
    def is_slow(self) -> bool:
        """Whether the pace is far below the usual one now, by the last window."""
        return bool(self._windows) and self._windows[-1].pace <= SLOW * self._usual

    def note(self) -> str:
        """Return for the report how long the pace was slow and what that cost; nothing where it was not.

        Looks back at the whole run, so it also finds what was slow from the start; what was shorter than a window is
        by now is left out.
        """
        slow = [window for window in self._windows if window.pace <= SLOW * self._usual]
        slow_s = sum(window.seconds for window in slow)
        if not slow or slow_s < WINDOW_SHARE * self._total_s:
            return ""
        share = sum(window.seconds * window.pace for window in slow) / slow_s / self._usual
        return (
            f"For {_duration(slow_s)} of {_duration(self._total_s)} of training steps the pace was {share:.0%} of "
            "the usual one: something else used the processor, or it was throttled (heat, power saving). At the usual "
            f"pace {_duration(slow_s * (1 - share))} less would have done."
        )

    def _open_new_window(self) -> None:
        self._steps = self._chips = 0
        self._seconds, self._longest = 0.0, (0.0, 0)

    def _add_to_window(self, seconds: float, chips: int) -> bool:
        """Add a step to the open window; return whether that closes it."""
        self._steps, self._seconds, self._chips = self._steps + 1, self._seconds + seconds, self._chips + chips
        self._longest = max(self._longest, (seconds, chips))
        longest_s, longest_chips = self._longest
        counted_s = self._seconds - longest_s
        if self._steps < WINDOW_STEPS or counted_s < max(WINDOW_S, WINDOW_SHARE * self._total_s):
            return False
        pace = (self._chips - longest_chips) / counted_s
        self._windows.append(Window(self._chips / pace, pace))
        self._total_s += self._windows[-1].seconds
        self._open_new_window()
        return True


def _duration(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    for unit, length_s in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length_s:
            return f"{seconds / length_s:.1f} {unit}"
    return f"{seconds:.0f} s"
