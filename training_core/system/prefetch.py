"""Stages of work that overlap: one stage makes items while the next one uses those before.

Knows threads; knows nothing of what the items are.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")

_LOOK_S = 0.1
_ITEM, _END, _ERROR = "item", "end", "error"


def ahead(items: Iterable[Item], depth: int) -> Iterator[Item]:
    """Yield items that a thread of their own makes ahead of who uses them.

    What goes wrong in making one is raised in its place. Closing the generator, or leaving it by an error, ends the
    thread, and waits until the item that it is making is done and the iterator of the items is closed.

    Parameters
    ----------
    items : iterable
        Used by the thread alone.
    depth : int
        At most so many items wait, beside the one in use and the one being made.
    """
    maker = _Maker(items, depth)
    maker.start()
    try:
        while True:
            kind, what = maker.waiting.get()
            if kind == _END:
                return
            if kind == _ERROR:
                raise what
            yield what
            del what  # it may be large
    finally:
        maker.stop()


class _Maker(threading.Thread):
    """Makes items and lets them wait, each with its kind."""

    def __init__(self, items: Iterable[Any], depth: int) -> None:
        super().__init__(daemon=True)
        self.waiting: queue.Queue[tuple[str, Any]] = queue.Queue(depth)
        self._items = items
        self._is_stopped = threading.Event()

    def run(self) -> None:
        """Make items until there are no more, or nobody wants them."""
        try:
            for item in self._items:
                self._put(_ITEM, item)
                del item
                if self._is_stopped.is_set():
                    break
            if isinstance(self._items, Generator):
                self._items.close()
            self._put(_END, None)
        except BaseException as error:  # it belongs to who waits for the item
            self._put(_ERROR, error)

    def stop(self) -> None:
        """Make no more, and wait for the one that is being made."""
        self._is_stopped.set()
        self.join()

    def _put(self, kind: str, what: Any) -> None:
        while not self._is_stopped.is_set():
            try:
                self.waiting.put((kind, what), timeout=_LOOK_S)
                return
            except queue.Full:
                continue
