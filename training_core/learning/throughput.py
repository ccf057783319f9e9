"""Throughput of a training over time, which falls if the processor is busy or throttled.

Scope: seconds and chips of the steps, and the sentences about them. Independent of clocks and of what a step does.
"""

from __future__ import annotations

from typing import NamedTuple

# A window is slow at this fraction of the usual throughput, or less.
SLOW = 0.5
# A window is closed once it fulfills all of these; its fraction is that of the training so far.
WINDOW_S, WINDOW_STEPS, WINDOW_FRACTION = 2.0, 3, 0.01
# Three quarters of the windows do not surpass the usual throughput: the machine may be busy from the start.
USUAL_QUANTILE = 0.75


class Window(NamedTuple):
    """Consecutive steps: chips per second without the longest step, and the seconds of all of them at that rate."""

    seconds: float
    chips_per_s: float


class Throughput:
    """Chips per second in windows of some steps, and whether they are far below the usual throughput of this run.

    The first step, which prepares kernels and memory, does not count, nor does the longest step of each window. The
    usual throughput never falls, so a throttled processor does not become the usual one. Windows grow with the
    training: even days have fewer than a thousand.
    """

    def __init__(self) -> None:
        self._windows: list[Window] = []
        self._usual = self._total_s = 0.0
        self._has_begun = self._has_warned = False
        self._open_new_window()

    def add_step(self, seconds: float, chips: int) -> str:
        """Add a step of some seconds, above 0; return a warning, once in a run, that the throughput has fallen."""
        if not self._has_begun:
            self._has_begun = True
            return ""
        if not self._add_to_window(seconds, chips):
            return ""
        rates = sorted(window.chips_per_s for window in self._windows)
        self._usual = max(self._usual, rates[int(USUAL_QUANTILE * len(rates))])
        if self._has_warned or not self.is_slow:
            return ""
        self._has_warned = True
        return (
            f"The throughput has fallen to {self._windows[-1].chips_per_s / self._usual:.0%} of its former value. "
            "Another program uses the processor, or the processor is throttled (heat, power saving). Close other "
            "programs, or connect the power supply. Otherwise, fewer steps fit into the time."
        )

    @property
    def is_slow(self) -> bool:
        """Whether the throughput is far below the usual one now, by the last window."""
        return bool(self._windows) and self._windows[-1].chips_per_s <= SLOW * self._usual

    def note(self) -> str:
        """Return for the report how long the training was slow, and the time lost; empty if it was not.

        This also finds a slow beginning, but omits slowdowns shorter than a window is by now.
        """
        slow = [window for window in self._windows if window.chips_per_s <= SLOW * self._usual]
        slow_s = sum(window.seconds for window in slow)
        if not slow or slow_s < WINDOW_FRACTION * self._total_s:
            return ""
        fraction = sum(window.seconds * window.chips_per_s for window in slow) / slow_s / self._usual
        return (
            f"During {_duration(slow_s)} of {_duration(self._total_s)} of training steps, the throughput was "
            f"{fraction:.0%} of its usual value. Another program used the processor, or the processor was throttled "
            "(heat, power saving). At the usual throughput, training would have taken "
            f"{_duration(slow_s * (1 - fraction))} less."
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
        if self._steps < WINDOW_STEPS or counted_s < max(WINDOW_S, WINDOW_FRACTION * self._total_s):
            return False
        chips_per_s = (self._chips - longest_chips) / counted_s
        self._windows.append(Window(self._chips / chips_per_s, chips_per_s))
        self._total_s += self._windows[-1].seconds
        self._open_new_window()
        return True


def _duration(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    for unit, length_s in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length_s:
            return f"{seconds / length_s:.1f} {unit}"
    return f"{seconds:.0f} s"
