"""Resources on disk that a process holds: temporary folders of runs, and environments in which a job runs.

Scope: folders, and the lock files next to them. Independent of their content. The next run removes
leftovers of a killed QGIS, since a lock counts as stale as soon as its process has gone.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Union

from qgis.PyQt.QtCore import QLockFile

from ...training_core.errors import OutputError
from .runtime import managed_folder

_PREFIX, _LOCK = "roadseg-run-", ".lock"


def lock_at(path: Union[str, Path]) -> QLockFile:
    """Return the lock of a lock file; it never grows stale while its process runs, however long that takes."""
    lock = QLockFile(str(path))
    lock.setStaleLockTime(0)
    return lock


@contextmanager
def working_folder() -> Iterator[Path]:
    """Yield a new folder that only this user can read, and remove it at the end; raise OutputError if that fails."""
    root = Path(tempfile.gettempdir())
    _remove_leftovers(root)
    folder = root / f"{_PREFIX}{uuid.uuid4().hex}"
    lock = lock_at(f"{folder}{_LOCK}")  # before the folder exists, so that no other run takes it for a leftover
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


def _remove_leftovers(root: Path) -> None:
    for path in root.glob(f"{_PREFIX}*{_LOCK}"):
        lock = lock_at(path)
        if lock.tryLock(0):
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            lock.unlock()


@contextmanager
def in_use(python: Path) -> Iterator[None]:
    """Mark the managed environment of a Python as in use; any other Python is left alone."""
    environment = python.parent.parent
    if environment.parent != managed_folder():
        yield
        return
    lock = lock_at(environment.with_name(f".{environment.name}.use-{uuid.uuid4().hex}"))
    lock.tryLock(0)  # in vain where the folder cannot be written, and then nothing can be replaced in it
    try:
        yield
    finally:
        lock.unlock()


def is_in_use(environment: Path) -> bool:
    """Return whether a job runs in an environment; the mark of a process that has gone is removed."""
    locks = [lock_at(path) for path in environment.parent.glob(f".{environment.name}.use-*")]
    free = [lock.tryLock(0) for lock in locks]
    for lock in locks:
        lock.unlock()  # which leaves those of others alone
    return not all(free)
