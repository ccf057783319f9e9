"""Marks of use: an environment in which a job runs, perhaps of another QGIS, is not replaced.

Scope: lock files beside environments. Independent of jobs and of how environments are built.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qgis.PyQt.QtCore import QLockFile

from .runtime import managed_folder


@contextmanager
def in_use(python: Path) -> Iterator[None]:
    """Mark the managed environment of a Python as in use; any other Python is left alone."""
    environment = python.parent.parent
    if environment.parent != managed_folder():
        yield
        return
    lock = _lock(environment.with_name(f".{environment.name}.use-{uuid.uuid4().hex}"))
    lock.tryLock(0)  # in vain where the folder cannot be written, and then nothing can be replaced in it
    try:
        yield
    finally:
        lock.unlock()


def is_in_use(environment: Path) -> bool:
    """Return whether a job runs in an environment; the mark of a process that has gone is removed."""
    locks = [_lock(path) for path in environment.parent.glob(f".{environment.name}.use-*")]
    free = [lock.tryLock(0) for lock in locks]
    for lock in locks:
        lock.unlock()  # which leaves those of others alone
    return not all(free)


def _lock(path: Path) -> QLockFile:
    lock = QLockFile(str(path))
    lock.setStaleLockTime(0)  # a lock is stale when its process has gone, however long a job takes
    return lock
