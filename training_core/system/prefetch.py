"""Prefetching: a background thread makes items, or loads a library, ahead of use, so that stages of work overlap.

Scope: the thread, its bounded look-ahead, and its end. Independent of what the items are.
"""

from __future__ import annotations

import importlib
import threading
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

Item = TypeVar("Item")


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
