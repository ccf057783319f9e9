"""A folder for the files of one run, which goes when the run ends; what a killed QGIS has left goes with the next run.

Knows folders and the locks that tell whether they are in use; knows nothing of what is in them.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qgis.PyQt.QtCore import QLockFile

from ...training_core.errors import OutputError

_PREFIX, _LOCK = "roadseg-run-", ".lock"


@contextmanager
def working_folder() -> Iterator[Path]:
    """Give a new, empty folder that nobody else may read; it is removed at the end.

    Raises
    ------
    OutputError
        It cannot be made.
    """
    root = Path(tempfile.gettempdir())
    _remove_leftovers(root)
    folder = root / f"{_PREFIX}{uuid.uuid4().hex}"
    lock = _lock_of(folder)  # before the folder is there, so that nobody takes it for a leftover
    try:
        lock.tryLock(0)
        folder.mkdir(mode=0o700)
    except OSError as error:
        lock.unlock()
        raise OutputError(
            f"The temporary folder {folder} cannot be made ({error.strerror}).", "Make room on its disk."
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.unlock()


def _lock_of(folder: Path) -> QLockFile:
    lock = QLockFile(f"{folder}{_LOCK}")
    lock.setStaleLockTime(0)  # a lock is stale when its process has gone, however long a run takes
    return lock


def _remove_leftovers(root: Path) -> None:
    for path in root.glob(f"{_PREFIX}*{_LOCK}"):
        folder = path.with_suffix("")
        lock = _lock_of(folder)
        if lock.tryLock(0):
            shutil.rmtree(folder, ignore_errors=True)
            lock.unlock()
