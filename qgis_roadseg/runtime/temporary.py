"""Temporary folder of a run, removed at its end; leftovers of a killed QGIS are removed by the next run.

Scope: folders, and the lock files of those in use. Independent of their content.
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
    """Yield a new, empty folder that no other user can read; it is removed at the end.

    Raises
    ------
    OutputError
        The folder cannot be created.
    """
    root = Path(tempfile.gettempdir())
    _remove_leftovers(root)
    folder = root / f"{_PREFIX}{uuid.uuid4().hex}"
    lock = _lock_of(folder)  # before the folder exists, so that no other run takes it for a leftover
    try:
        lock.tryLock(0)
        folder.mkdir(mode=0o700)
    except OSError as error:
        lock.unlock()
        raise OutputError(
            f"The temporary folder {folder} cannot be created ({error.strerror}).", "Make room on its disk."
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
