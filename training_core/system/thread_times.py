"""CPU time of threads of this process, such as those that libraries start for themselves.

Scope: /proc of Linux; elsewhere no thread is known. Independent of what the threads do.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_TASKS = Path("/proc/self/task")


def thread_ids() -> frozenset[int]:
    """Return the system's numbers of all threads of this process; none where it does not tell."""
    try:
        return frozenset(int(path.name) for path in _TASKS.iterdir())
    except OSError:
        return frozenset()


def busy_s(threads: Iterable[int]) -> float:
    """Return for how many seconds so far a processor has worked on some threads; ended ones count nothing."""
    total_ns = 0
    for thread in threads:
        with suppress(OSError, ValueError, IndexError):
            total_ns += int((_TASKS / str(thread) / "schedstat").read_text().split()[0])
    return total_ns / 1e9
