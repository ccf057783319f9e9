"""CPU time of threads of this process, such as those that libraries start for themselves.

Scope: /proc of Linux; elsewhere no thread is known. Independent of what the threads do.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

_TASKS = Path("/proc/self/task")


def thread_ids() -> frozenset[int]:
    """Return the system's numbers of all threads of this process; none where it does not tell."""
    try:
        return frozenset(int(path.name) for path in _TASKS.iterdir())
    except OSError:
        return frozenset()


def are_told() -> bool:
    """Whether the system tells for how long a processor has worked on a thread."""
    return (_TASKS / str(threading.get_native_id()) / "schedstat").exists()


def ran_ns(thread: int) -> int:
    """Return for how many nanoseconds so far a processor has worked on a thread; 0 for one that has ended."""
    try:
        return int((_TASKS / str(thread) / "schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def busy_s(threads: Iterable[int]) -> float:
    """Return for how many seconds so far a processor has worked on some threads; ended ones count nothing."""
    return sum(map(ran_ns, threads)) / 1e9
