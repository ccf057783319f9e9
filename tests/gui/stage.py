"""How a story is acted out in a running QGIS: as what it waits for comes true, timed, and with an end in any case.

Scope: the event loop and the clock. Independent of what is done.
"""

import faulthandler
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from qgis.PyQt.QtCore import QObject, QTimer
from qgis.PyQt.QtWidgets import QApplication, QDialog
from qgis.utils import iface

TICK_MS = 20


@dataclass
class Until:
    """What a story waits for."""

    is_so: Callable[[], bool]
    what: str
    limit_s: float = 30


class Stage(QObject):
    """Goes on with a story whenever what it waits for is so, and notes how long the window did not answer.

    That is measured in two ways: as the time in which it did not, and as the processor's time that the window's thread
    took in it, which other processes do not lengthen.

    A story must not block: what opens a dialog has to be put into the event loop, in which the story goes on.

    Parameters
    ----------
    told : Path
        The JSON file to write in the end: `steps` by name, `error`, `exceptions`, and what the story adds to `seen`.
    limit_s : float
        How long the story may last; the process ends itself then.
    """

    def __init__(self, told: Path, limit_s: float) -> None:
        super().__init__()
        self.seen = {"steps": {}, "error": "", "exceptions": []}
        self.max_gap_s = self.max_work_s = 0.0
        self._told = told
        self._wait, self._deadline = None, 0.0
        self._last = self._began = time.monotonic()
        self._last_worked_s = time.thread_time()
        self._step = ""
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._watchdog = threading.Timer(limit_s, self._die)
        self._watchdog.daemon = True

    def play(self, story: Iterator[Until]) -> None:
        """Begin; the rest happens in the event loop."""
        self._story = story
        sys.excepthook = self._on_exception
        self._watchdog.start()
        self._timer.start()

    def step(self, name: str) -> None:
        """Note that a step begins, and how the last one went."""
        now = time.monotonic()
        if self._step:
            longest = {"max_gap_s": self.max_gap_s, "max_work_s": self.max_work_s}
            took = {"seconds": now - self._began, **longest}
            self.seen["steps"][self._step] = {name: round(value, 3) for name, value in took.items()}
        self._step, self._began = name, now
        self.max_gap_s = self.max_work_s = 0.0

    def _tick(self) -> None:
        now = time.monotonic()
        self.max_gap_s = max(self.max_gap_s, now - self._last - TICK_MS / 1000)
        self.max_work_s = max(self.max_work_s, time.thread_time() - self._last_worked_s)
        try:
            self._go_on(now)
        except StopIteration:
            self._end()
        except Exception:
            self.seen["error"] = traceback.format_exc()
            self._end()
        # What the story itself does, such as taking a picture, is not the window's slowness.
        self._last, self._last_worked_s = time.monotonic(), time.thread_time()

    def _go_on(self, now: float) -> None:
        if self._wait is None or self._wait.is_so():
            self._wait = next(self._story)
            self._deadline = time.monotonic() + self._wait.limit_s
        elif now > self._deadline:
            raise TimeoutError(f"{self._wait.what}: not so within {self._wait.limit_s} s; open are {open_dialogs()}")

    def _end(self) -> None:
        self._timer.stop()
        self.step("")
        self._told.write_text(json.dumps(self.seen, indent=1, default=str))
        for dialog in open_dialogs():
            dialog.reject()
        QTimer.singleShot(0, lambda: (iface.newProject(False), iface.actionExit().trigger()))

    def _on_exception(self, kind, error, trace) -> None:
        self.seen["exceptions"].append("".join(traceback.format_exception(kind, error, trace)))

    def _die(self) -> None:
        faulthandler.dump_traceback(all_threads=True)  # into QGIS' log
        self.seen["error"] = f"not through in time: {self._step}, {self._wait.what if self._wait else ''}"
        self._told.write_text(json.dumps(self.seen, indent=1, default=str))
        os._exit(70)


def open_dialogs() -> list[QDialog]:
    """Return the dialogs that can be seen, the last opened last."""
    return [each for each in QApplication.topLevelWidgets() if isinstance(each, QDialog) and each.isVisible()]
