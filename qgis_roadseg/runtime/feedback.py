"""What the person at the screen hears of a running job.

Knows events and Processing's feedback, and how often a person wants to hear of them; knows no process.
"""

from __future__ import annotations

import re
import time

from qgis.core import QgsProcessingFeedback

from ...training_core import events
from ..translation import tr

LINE_EVERY_S = 10.0
# Lines of libraries that are told in that time; a dialog that shows thousands holds up all of QGIS.
FOREIGN_LINES = 100
# Texts of progress that differ by more than their numbers, and are told at once; more of them are no stages of a job.
STAGES = 50


class Narrator:
    """Tells a job's events to Processing: the bar at once, lines of text seldom enough to be read.

    Numbers are for logs and charts: those that a person wants to follow stand in the texts of progress, too.

    Parameters
    ----------
    feedback : QgsProcessingFeedback
        Who listens.
    every_s : float
        Seconds between two lines on progress.
    """

    def __init__(self, feedback: QgsProcessingFeedback, every_s: float = LINE_EVERY_S) -> None:
        self._feedback = feedback
        self._every_s = every_s
        self._told_s: dict[str, float] = {}
        self._stages: set[str] = set()
        self._foreign_lines = 0

    def tell(self, event: events.Event) -> None:
        """Tell one event; a number is not for the log, nor is the last one, a result or an error."""
        if isinstance(event, events.Progress):
            # Each move is a message to QGIS' main thread; the same number twice is none.
            self._feedback.setProgress(round(100 * event.fraction, 1))
            if event.message and (self._is_new_stage(event.message) or self._is_due(event.kind)):
                self._told_s[event.kind] = time.monotonic()
                self._feedback.setProgressText(", ".join(filter(None, (event.message, events.time_left(event.eta_s)))))
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

    def _is_new_stage(self, message: str) -> bool:
        stage = re.sub(r"[\d.,]+", "", message)
        if stage in self._stages or len(self._stages) >= STAGES:
            return False
        self._stages.add(stage)
        return True

    def _is_due(self, kind: str) -> bool:
        now = time.monotonic()
        if now - self._told_s.get(kind, -self._every_s) < self._every_s:
            return False
        self._told_s[kind] = now
        return True
