"""Signals that stop a run of qgis_process: Ctrl+C (SIGINT) and SIGTERM cancel its feedback.

Scope: signals. Independent of what runs. QGIS itself notes SIGINT, but acts on it only in an event loop, which its main
thread does not reach during an algorithm; and SIGTERM would end it at once, with its temporary files left behind.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from qgis.core import QgsApplication, QgsProcessingFeedback

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def cancelling_signals(feedback: QgsProcessingFeedback) -> Iterator[None]:
    """Have SIGINT and SIGTERM cancel the feedback in this context; in a window or a script they are left alone.

    Parameters
    ----------
    feedback : QgsProcessingFeedback
        The feedback of the run; outlives the context.
    """
    if QgsApplication.platform() != "qgis_process" or threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.signal(number, lambda *_: feedback.cancel()) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
