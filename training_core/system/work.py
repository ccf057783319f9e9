"""How the work of a job goes on: stages that are timed, items made ahead, sections that are finished before the end.

Scope: clocks, threads and the end of the process. Independent of what the work is.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..events import Reporter

Item = TypeVar("Item")
_IN_CRITICAL_SECTION = threading.RLock()
_CLEANUPS: list[Callable[[], None]] = []
_ENDING = threading.Event()


@dataclass
class Stages:
    """The stages of a job so far, and how many seconds each took."""

    reporter: Reporter
    timings_s: dict[str, float] = field(default_factory=dict, init=False)

    @contextmanager
    def timed(self, part: str, begin: float, end: float) -> Iterator[Reporter]:
        """Run and time a stage of a name, as a context manager.

        The reporter's progress is that of the stage, from `begin` to `end` of the job's, from 0 to 1.
        """
        self.reporter.check_cancelled()
        reporter = self.reporter.part(begin, end)
        reporter.progress(0, part[0].upper() + part[1:])
        began_s = time.perf_counter()
        yield reporter
        self.timings_s[part] = time.perf_counter() - began_s


def preload(module: str) -> None:
    """Import a module in a background thread; another import of it waits for it, and gets its errors."""

    def load() -> None:
        with suppress(Exception):
            importlib.import_module(module)

    threading.Thread(target=load, daemon=True).start()


def ahead(items: Iterable[Item], depth: int) -> Generator[Item, None, None]:
    """Yield items that a background thread makes ahead of use; at most `depth` wait.

    The item in use and the one being made come on top. An exception in making an item is raised in its place. Closing
    the generator, or leaving it by an exception, ends the thread: this waits until the item being made is done and the
    generator of the items is closed.
    """
    iterator = iter(items)
    end: Any = object()
    with ThreadPoolExecutor(1) as thread:
        coming = deque(thread.submit(next, iterator, end) for _ in range(depth + 1))
        try:
            while (item := coming.popleft().result()) is not end:
                coming.append(thread.submit(next, iterator, end))
                yield item
                del item  # it may be large
        finally:
            for future in coming:
                future.cancel()
            if isinstance(items, Generator):
                thread.submit(items.close)  # where its items were made: what it holds may belong to the thread


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


def is_ending() -> bool:
    """Whether the cleanups are being called, since the process is about to be ended."""
    return _ENDING.is_set()


def clean_up(patience_s: float) -> None:
    """Call all cleanups, so that another thread can end the process; no critical section begins after this.

    It waits up to `patience_s` for a critical section.
    """
    _IN_CRITICAL_SECTION.acquire(timeout=patience_s)
    _ENDING.set()
    for each in reversed(_CLEANUPS):
        with suppress(OSError):
            each()
