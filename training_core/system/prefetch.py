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
from typing import TypeVar

Item = TypeVar("Item")

_END = object()


def preload(module: str) -> None:
    """Import a module in a background thread; who imports it meanwhile waits for it, and gets what errors there are."""

    def load() -> None:
        with suppress(Exception):
            importlib.import_module(module)

    threading.Thread(target=load, daemon=True).start()


def ahead(items: Iterable[Item], depth: int) -> Generator[Item, None, None]:
    """Yield items that a background thread makes ahead of use.

    An exception in making an item is raised in its place. Closing the generator, or leaving it by an exception, ends
    the thread: this waits until the item being made is done and the generator of the items is closed.

    Parameters
    ----------
    items : iterable
        Used by the thread alone.
    depth : int
        At most so many items wait, besides the one in use and the one being made.
    """
    iterator = iter(items)
    with ThreadPoolExecutor(1) as thread:
        coming = deque(thread.submit(next, iterator, _END) for _ in range(depth + 1))
        try:
            while (item := coming.popleft().result()) is not _END:
                coming.append(thread.submit(next, iterator, _END))
                yield item
                del item  # it may be large
        finally:
            for future in coming:
                future.cancel()
            if isinstance(items, Generator):
                thread.submit(items.close)  # where its items were made: what it holds may belong to the thread
