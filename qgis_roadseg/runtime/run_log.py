"""The log of the last run of an algorithm or live session, for a problem report; also of a run during which QGIS died.

Scope: one file of bounded size in RoadSeg's data folder, without passwords. Independent of what runs.
"""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from pathlib import Path
from typing import BinaryIO, Optional

from qgis.core import QgsProcessingFeedback, QgsProcessingMultiStepFeedback

from ...training_core.errors import without_passwords
from ..paths import data_folder

# Of a longer log the beginning and the end are kept.
MAX_BYTES, HEAD_BYTES, TAIL_BYTES = 400_000, 50_000, 150_000
MAX_LINE = 20_000


def log_file() -> Path:
    """Return the path of the log of the run that began last; it may be missing."""
    return data_folder() / "last_run.log"


class RunLog:
    """Writes the log of a run, each line at once. A context manager; an exception that leaves it is logged, too.

    A file that cannot be written is left alone: no run fails for its log.
    """

    def __init__(self, title: str) -> None:
        self._file: Optional[BinaryIO] = None
        path = log_file()
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)  # another run that is still writing keeps its own
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            self._file = open(handle, "w+b", buffering=0)  # noqa: SIM115  # closed at the run's end
        self.write(title)

    def write(self, text: str) -> None:
        """Add a text with the time, without passwords."""
        if self._file is None:
            return
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {without_passwords(text[:MAX_LINE])}\n"
        with contextlib.suppress(OSError, ValueError):  # ValueError: it is closed
            self._file.write(line.encode("utf-8", "backslashreplace"))
            if self._file.tell() > MAX_BYTES:
                self._shorten(self._file)

    def __enter__(self) -> "RunLog":
        return self

    def __exit__(self, kind: object, error: Optional[BaseException], *_: object) -> None:
        if error is not None:
            self.write("".join(traceback.format_exception(type(error), error, error.__traceback__)))
        if self._file is not None:
            self._file.close()

    @staticmethod
    def _shorten(file: BinaryIO) -> None:
        file.seek(-TAIL_BYTES, os.SEEK_END)
        tail = file.read().partition(b"\n")[2]
        file.seek(HEAD_BYTES)
        file.truncate()
        file.write(b"\n[Lines are omitted here.]\n" + tail)


class LoggedFeedback(QgsProcessingMultiStepFeedback):
    """Passes all on to the feedback of a run, and logs its texts."""

    def __init__(self, log: RunLog, feedback: QgsProcessingFeedback) -> None:
        super().__init__(1, feedback)
        self._log = log
        if feedback.isCanceled():  # later ones are passed on
            self.cancel()

    # The names are those of QGIS.
    def setProgressText(self, text: str) -> None:
        self._log.write(text)
        super().setProgressText(text)

    def pushInfo(self, info: str) -> None:
        self._log.write(info)
        super().pushInfo(info)

    def pushWarning(self, warning: str) -> None:
        self._log.write(f"Warning: {warning}")
        super().pushWarning(warning)

    def pushDebugInfo(self, info: str) -> None:
        self._log.write(info)
        super().pushDebugInfo(info)

    def reportError(self, error: str, fatalError: bool = False) -> None:  # noqa: N803
        self._log.write(f"Error: {error}")
        super().reportError(error, fatalError)
