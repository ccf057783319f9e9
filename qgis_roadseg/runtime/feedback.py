"""Processing's feedback: events of a job shown at a readable rate, and signals that cancel.

Scope: events, feedback, signals. Independent of processes.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from qgis.core import QgsApplication, QgsProcessingFeedback

from ...training_core import events
from ...training_core.errors import Cancelled
from ..translation import tr

LINE_EVERY_S = 10.0
# Limit of libraries' output lines in that time; a dialog that shows thousands blocks all of QGIS.
OUTPUT_LINES = 100
# Limit of progress texts that differ by more than their numbers and count as stages, which are shown at once.
STAGES = 50


class EventFeedback:
    """Forwards a job's events to Processing: the progress bar at once, lines of text rate-limited.

    Metrics are not shown: those of interest to the user are in the progress texts, too. `named` puts names of layers
    in place of those of their temporary files.
    """

    def __init__(
        self, feedback: QgsProcessingFeedback, every_s: float = LINE_EVERY_S, named: Callable[[str], str] = str
    ) -> None:
        self._feedback, self._named = feedback, named
        self._every_s = every_s
        self._shown_s: dict[str, float] = {}
        self._stages: set[str] = set()
        self._output_lines = 0

    def report(self, event: events.Event) -> None:
        """Forward one event; metrics, results and errors are not shown."""
        if isinstance(event, events.Progress):
            # QGIS' main thread gets a message for each change; rounded, there are fewer.
            self._feedback.setProgress(round(100 * event.fraction, 1))
            if event.message and (self._is_new_stage(event.message) or self._is_due(event.kind)):
                self._shown_s[event.kind] = time.monotonic()
                self._feedback.setProgressText(", ".join(filter(None, (event.message, events.time_left(event.eta_s)))))
        elif isinstance(event, events.Log):
            self._feedback.pushInfo(self._named(event.message))
        elif isinstance(event, events.Warning):
            self._feedback.pushWarning(self._named(event.message))

    def report_output(self, line: str) -> None:
        """Forward a line that is not an event, such as a library's print, unless there are too many."""
        if self._is_due("output"):
            self._output_lines = 0
        self._output_lines += 1
        if self._output_lines <= OUTPUT_LINES:
            self._feedback.pushDebugInfo(line)
        elif self._output_lines == OUTPUT_LINES + 1:
            self._feedback.pushDebugInfo(tr("Further lines of output are omitted."))

    def _is_new_stage(self, message: str) -> bool:
        stage = re.sub(r"[\d.,]+", "", message)
        if stage in self._stages or len(self._stages) >= STAGES:
            return False
        self._stages.add(stage)
        return True

    def _is_due(self, kind: str) -> bool:
        now = time.monotonic()
        if now - self._shown_s.get(kind, -self._every_s) < self._every_s:
            return False
        self._shown_s[kind] = now
        return True


def wait(seconds: float, feedback: QgsProcessingFeedback) -> None:
    """Wait; raise Cancelled if the user stops it meanwhile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if feedback.isCanceled():
            raise Cancelled()
        time.sleep(0.05)


# QGIS notes SIGINT itself, but acts on it only in an event loop, which its main thread does not reach during an
# algorithm; SIGTERM would end it at once and leave temporary files.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def cancelling_signals(feedback: QgsProcessingFeedback) -> Iterator[None]:
    """Have SIGINT and SIGTERM cancel the feedback in this context; in a window or a script they are left alone."""
    if QgsApplication.platform() != "qgis_process" or threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.signal(number, lambda *_: feedback.cancel()) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
