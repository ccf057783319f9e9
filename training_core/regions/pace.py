"""The pace of a region: megapixels a second, in all and by worker, and the time that is left.

The pace is that of the last while, by the clock: it follows workers that come and go, and what lies between two tasks
counts. A worker that has delivered is taken to be at work on its next task; so the pace does not look high whenever
tasks have just ended, nor low before they do.

Scope: sizes and times of tasks. Independent of what they do, and of who reports it.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Optional

# The last while: so long, and at least so many tasks of each worker.
_WINDOW_S, _WINDOW_TASKS = 600.0, 3


@dataclass(frozen=True)
class TaskTime:
    """A task that was done.

    Parameters
    ----------
    elapsed_s : float
        Wall time of the work itself.
    end_s : float
        When it was done, since the first task began.
    """

    worker: str
    megapixels: float
    elapsed_s: float
    end_s: float


@dataclass(frozen=True)
class WorkerPace:
    """What a worker has done.

    Parameters
    ----------
    busy_s : float
        Time of the work itself.
    """

    tasks: int = 0
    megapixels: float = 0.0
    busy_s: float = 0.0

    @property
    def megapixels_per_s(self) -> float:
        """Megapixels a second while it worked; 0 before it has done anything."""
        return self.megapixels / self.busy_s if self.busy_s > 0 else 0.0


class RegionPace:
    """The pace of the work on a region.

    Parameters
    ----------
    total_megapixels : float
        Size of all work. What was kept from an earlier run belongs to it if `skip` is told of it, and else not.
    """

    def __init__(self, total_megapixels: float) -> None:
        self._total = self._left = total_megapixels
        self._began_s: Optional[float] = None
        self._times: list[TaskTime] = []
        self._workers: dict[str, WorkerPace] = {}
        self._last_end_s: dict[str, float] = {}
        # Tasks of the last while, their megapixels in all, and when it began.
        self._recent: deque[TaskTime] = deque()
        self._recent_megapixels = self._recent_from_s = 0.0

    def add(self, worker: str, megapixels: float, elapsed_s: float, now: Optional[float] = None) -> None:
        """Take down a task that was done just now.

        Parameters
        ----------
        megapixels : float
            Its size; 0 for work that is no part of the total, which yet takes time.
        elapsed_s : float
            How long it took.
        now : float, optional
            In seconds of `time.monotonic`, which is the default.
        """
        now = time.monotonic() if now is None else now
        if self._began_s is None:
            self._began_s = now - elapsed_s
        task = TaskTime(worker, megapixels, elapsed_s, now - self._began_s)
        before = self._workers.get(worker, WorkerPace())
        self._workers[worker] = WorkerPace(
            before.tasks + 1, before.megapixels + megapixels, before.busy_s + max(elapsed_s, 0.0)
        )
        self._last_end_s[worker] = task.end_s
        self._times.append(task)
        self._recent.append(task)
        self._recent_megapixels += megapixels
        self.skip(megapixels)

    def skip(self, megapixels: float) -> None:
        """Take down work that need not be done, or cannot: it is there already, or has failed."""
        self._left = max(self._left - megapixels, 0.0)

    def eta_s(self, now: Optional[float] = None) -> Optional[float]:
        """Return the seconds left; None before anything is known.

        Parameters
        ----------
        now : float, optional
            In seconds of `time.monotonic`, which is the default.

        Returns
        -------
        float, optional
            It grows while nothing is done.
        """
        if self._left <= 0:
            return 0.0
        now = time.monotonic() if now is None else now
        pace = self.megapixels_per_s(now)
        return max(self._left - self._in_work(now), 0.0) / pace if pace > 0 else None

    def megapixels_per_s(self, now: Optional[float] = None) -> float:
        """Return the pace of all workers together in the last while; 0 before anything is known.

        Parameters
        ----------
        now : float, optional
            In seconds of `time.monotonic`, which is the default.
        """
        if self._began_s is None:
            return 0.0
        now = time.monotonic() if now is None else now
        since_s = now - self._began_s
        while len(self._recent) > _WINDOW_TASKS * len(self._workers) and self._recent[0].end_s < since_s - _WINDOW_S:
            oldest = self._recent.popleft()
            self._recent_megapixels -= oldest.megapixels
            self._recent_from_s = oldest.end_s
        # What was in work when the last while began makes up for what is now, unless it is the very beginning.
        in_work = 0.0 if self._recent_from_s else self._in_work(now)
        return (self._recent_megapixels + in_work) / max(since_s - self._recent_from_s, 1e-6)

    def _in_work(self, now: float) -> float:
        """Return the megapixels that workers have done of tasks that are not at their end, estimated."""
        done = 0.0
        for worker, pace in self._workers.items():
            age_s = now - (self._began_s or 0.0) - self._last_end_s[worker]
            done += min(age_s * pace.megapixels_per_s, pace.megapixels / pace.tasks)
        return min(done, self._left)

    @property
    def megapixels(self) -> float:
        """What has been done, without what was skipped."""
        return sum(pace.megapixels for pace in self._workers.values())

    @property
    def share(self) -> float:
        """What is done or skipped, from 0 to 1."""
        return 1 - self._left / self._total if self._total else 1.0

    def by_worker(self) -> dict[str, WorkerPace]:
        """Return what each worker has done, by name."""
        return dict(sorted(self._workers.items()))

    @property
    def times(self) -> tuple[TaskTime, ...]:
        """All tasks that were done, in the order of their ends."""
        return tuple(self._times)
