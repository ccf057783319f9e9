"""How a process ends that is to stop, but whose job takes long to come to its next tile or step: at once, and tidily.

Knows what must not be cut off, and what is to be tidied up before; knows nothing of files, jobs or clients.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_UNCUT = threading.RLock()
_TIDYING: list[Callable[[], None]] = []


@contextmanager
def uncut() -> Iterator[None]:
    """Within this, what is under way is finished, however long it takes: files put in their places, a checkpoint."""
    with _UNCUT:
        yield


def tidy_by(tidy: Callable[[], None]) -> None:
    """From now on, call `tidy` where the process is cut off."""
    _TIDYING.append(tidy)


def forget(tidy: Callable[[], None]) -> None:
    """No longer call `tidy`: there is nothing left for it to do."""
    _TIDYING.remove(tidy)


def cut(patience_s: float) -> None:
    """Tidy up, so that the process can be ended from another thread; from then on nothing uncut is begun.

    Parameters
    ----------
    patience_s : float
        How long to wait for what must not be cut off.
    """
    _UNCUT.acquire(timeout=patience_s)
    for tidy in reversed(_TIDYING):
        with contextlib.suppress(OSError):
            tidy()
