"""Graceful shutdown: clean up and exit when a job does not react to cancellation in time.

Scope: critical sections that must be finished, and cleanup handlers. Independent of files, jobs and clients.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_IN_CRITICAL_SECTION = threading.RLock()
_CLEANUPS: list[Callable[[], None]] = []
_BEGUN = threading.Event()


@contextmanager
def critical_section() -> Iterator[None]:
    """Provide a context whose work is finished before the process ends: renaming outputs, a checkpoint."""
    with _IN_CRITICAL_SECTION:
        yield


def add_cleanup(cleanup: Callable[[], None]) -> None:
    """Register a function to call before the process is ended."""
    _CLEANUPS.append(cleanup)


def remove_cleanup(cleanup: Callable[[], None]) -> None:
    """Unregister a function that has nothing left to do."""
    _CLEANUPS.remove(cleanup)


def has_begun() -> bool:
    """Whether the cleanups are being called, since the process is about to be ended."""
    return _BEGUN.is_set()


def clean_up(patience_s: float) -> None:
    """Call all cleanups, so that another thread can end the process; no critical section begins after this.

    It waits up to `patience_s` for a critical section.
    """
    _IN_CRITICAL_SECTION.acquire(timeout=patience_s)
    _BEGUN.set()
    for each in reversed(_CLEANUPS):
        with contextlib.suppress(OSError):
            each()
