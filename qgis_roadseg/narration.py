"""What the person at the screen hears of a running job.

Knows events and Processing's feedback, and how often a person wants to hear of them; knows no process.
"""

from __future__ import annotations

import time

from qgis.core import QgsProcessingFeedback

from ..training_core import events
from .translation import tr

LINE_EVERY_S = 10.0
# Lines of libraries that are told in that time; a dialog that shows thousands holds up all of QGIS.
FOREIGN_LINES = 100


class Narrator:
    """Tells a job's events to Processing: the bar at once, lines of text seldom enough to be read.

    Parameters
    ----------
    feedback : QgsProcessingFeedback
        Who listens.
    every_s : float
        Seconds between two lines on progress, and between two on numbers.
    """

    def __init__(self, feedback: QgsProcessingFeedback, every_s: float = LINE_EVERY_S) -> None:
        self._feedback = feedback
        self._every_s = every_s
        self._told_s: dict[str, float] = {}
        self._numbers: dict[str, float] = {}
        self._step = 0
        self._foreign_lines = 0

    def tell(self, event: events.Event) -> None:
        """Tell one event; the last one, a result or an error, is not for the log."""
        if isinstance(event, events.Progress):
            # Each move is a message to QGIS' main thread; the same number twice is none.
            self._feedback.setProgress(round(100 * event.fraction, 1))
            if event.message and self._is_due(event.kind):
                self._feedback.setProgressText(", ".join(filter(None, (event.message, events.time_left(event.eta_s)))))
        elif isinstance(event, events.Metric):
            if event.step != self._step:  # all numbers of the step before are known now
                self._tell_numbers()
            self._numbers[event.name], self._step = event.value, event.step
        elif isinstance(event, events.Log):
            self._feedback.pushInfo(event.message)
        elif isinstance(event, events.Warning):
            self._feedback.pushWarning(event.message)

    def tell_foreign(self, line: str) -> None:
        """Tell a line that is no event, such as a library's print, unless there are too many of them."""
        if self._is_due("foreign"):
            self._foreign_lines = 0
        self._foreign_lines += 1
        if self._foreign_lines <= FOREIGN_LINES:
            self._feedback.pushDebugInfo(line)
        elif self._foreign_lines == FOREIGN_LINES + 1:
            self._feedback.pushDebugInfo(tr("More lines like these are left out."))

    def _is_due(self, kind: str) -> bool:
        now = time.monotonic()
        if now - self._told_s.get(kind, -self._every_s) < self._every_s:
            return False
        self._told_s[kind] = now
        return True

    def _tell_numbers(self) -> None:
        if self._numbers and self._is_due(events.Metric.kind):
            numbers = (f"{name.replace('_', ' ')} {value:.4g}" for name, value in self._numbers.items())
            self._feedback.pushInfo(f"Step {self._step}: {', '.join(numbers)}")
        self._numbers.clear()
