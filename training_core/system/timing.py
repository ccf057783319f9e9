"""Times: how long the stages of a job take by the clock, and how long processors have worked on threads.

/proc of Linux also knows the threads that libraries start for themselves; other systems know none. Scope: clocks.
Independent of the work in stages and threads.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..events import Reporter

_TASKS = Path("/proc/self/task")


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


def thread_ids() -> frozenset[int]:
    """Return the system's numbers of all threads of this process; none where it hides them."""
    try:
        return frozenset(int(path.name) for path in _TASKS.iterdir())
    except OSError:
        return frozenset()


def ran_ns(thread: int) -> int:
    """Return the nanoseconds that a processor has worked on a thread; 0 for one that has ended."""
    try:
        return int((_TASKS / str(thread) / "schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def busy_s(threads: Iterable[int]) -> float:
    """Return the seconds that processors have worked on some threads; ended ones count nothing."""
    return sum(map(ran_ns, threads)) / 1e9
