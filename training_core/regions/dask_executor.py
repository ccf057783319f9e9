"""The executor of Dask workers: processes of this machine, or those of a scheduler.

Only a few tasks are submitted ahead of the workers, so that the scheduler never has many, and workers that join later
get their part. A task whose worker was killed goes to another one; a task that has lost three workers has failed. If
the scheduler goes away, the executor waits for it to come back, then submits the unfinished tasks again.

Dask carries pickles, so anyone who reaches a scheduler can run code on its workers. Processes of this machine listen
on the loopback interface only, with certificates of their own if the package cryptography is installed. A scheduler
for many machines should use TLS (`tls://`), or have a network of its own.

Scope: tasks in the leading process. Independent of their work, and of how workers are found and checked (`dask_pool`).
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Optional

from .. import events
from ..errors import OutputError, WorkerError
from ..events import Reporter
from . import dask_pool
from .dask_pool import MAX_KILLS, SchedulerLost, WorkerPool, in_words
from .executors import Handlers, Needs, Outcome, Task, failed

# Tasks submitted for each worker, besides its current one.
AHEAD = 4
POLL_S, CENSUS_S = 0.2, 2.0
# A task that fails for want of room or rights on a worker is tried on another one.
RETRIED_CODES = (OutputError.code,)


@dataclass
class _Submission:
    """A task on its way. Workers report by its number that they have begun it.

    Its worker died, did not fit, or failed for reasons of its own as often as `kills`, `unfit` and `retries` say. An
    avoided worker should not do it, and only allowed ones may; None for all. Both are addresses.
    """

    task: Task
    number: int
    kills: int = 0
    unfit: int = 0
    retries: int = 0
    attempts: int = 0
    avoided: str = ""
    allowed: Optional[list[str]] = None


@dataclass
class _Queue:
    """The tasks of one run: those to submit, and those under way, by their futures."""

    source: Iterator[Task]
    numbers: Iterator[int]
    again: deque[_Submission] = field(default_factory=deque)
    under_way: dict[Any, _Submission] = field(default_factory=dict)

    def next(self) -> Optional[_Submission]:
        """Return the next task to submit; None if none is left."""
        if self.again:
            return self.again.popleft()
        task = next(self.source, None)
        return None if task is None else _Submission(task, next(self.numbers))


class DaskExecutor:
    """Dask workers that do tasks, after a check of their needs; see `executors.Executor`.

    Without the address of a scheduler they are processes of this machine, which share the threads; 0 threads stand for
    the number of cores.

    Raises
    ------
    JobError
        The scheduler cannot be reached, or does not accept the certificates.
    WorkerError
        There are no workers.
    RuntimeEnvironmentError
        No worker fits, or the scheduler has no RoadSeg.
    RoadSegError
        See `executors.Leader`.
    """

    def __init__(
        self, handlers: Handlers, needs: Needs, reporter: Reporter, scheduler: str = "", workers: int = 0,
        threads: int = 0,
    ) -> None:  # fmt: skip
        self._reporter = reporter
        self._finished: queue.SimpleQueue = queue.SimpleQueue()
        self._numbers = count(1)
        self._begun: Counter[int] = Counter()
        self._alarm = threading.Event()
        self._pool = WorkerPool(handlers, needs, reporter, self._note_begun, scheduler, workers, threads)
        self.name, self.dashboard = self._pool.name, self._pool.dashboard

    @property
    def workers(self) -> int:
        """Number of workers that fit."""
        return len(self._pool.fit)

    def run(self, tasks: Iterable[Task], reporter: Reporter) -> Iterator[Outcome]:
        """See `Executor.run`."""
        self._reporter = self._pool.reporter = reporter
        tasks_left = _Queue(iter(tasks), self._numbers)
        try:
            while True:
                try:
                    yield from self._run(tasks_left)
                    return
                except SchedulerLost:
                    lost_s = dask_pool.LOST_S
                    reporter.warning(f"The connection to {self.name} is lost; waiting for it for {lost_s:.0f} s.")
                    _take_back(tasks_left)
                    if not self._pool.rejoin():
                        break
            yield from _given_up(tasks_left, f"{self.name} is gone.")
        finally:
            self._cancel(list(tasks_left.under_way))
            self._begun.clear()

    def close(self) -> None:
        """See `Executor.close`."""
        self._pool.close()

    def _note_begun(self, number: int) -> None:
        self._begun[number] += 1
        if self._begun[number] > MAX_KILLS:
            self._alarm.set()

    def _run(self, tasks: _Queue) -> Iterator[Outcome]:
        seen_s = census_s = time.monotonic()
        while True:
            self._reporter.check_cancelled()
            self._submit(tasks)
            if not tasks.under_way and self.workers:
                return
            yield from self._outcomes(tasks, self._wait())
            now_s = time.monotonic()
            if now_s - census_s > CENSUS_S or self._alarm.is_set():
                self._alarm.clear()
                yield from self._review(tasks, self._pool.count_workers())
                census_s = now_s
            if self.workers:
                seen_s = now_s
            elif now_s - seen_s > dask_pool.LOST_S:
                _take_back(tasks)
                yield from _given_up(tasks, f"{self.name} has had no fitting worker for {dask_pool.LOST_S:.0f} s.")
                return

    def _submit(self, tasks: _Queue) -> None:
        """Submit the tasks that the workers lack."""
        new: list[_Submission] = []
        while len(tasks.under_way) + len(new) < self.workers * (1 + AHEAD):
            submission = tasks.next()
            if submission is None:
                break
            new.append(submission)
        self._send(tasks, [submission for submission in new if not submission.avoided], self._pool.allowed())
        for submission in new:
            if submission.avoided:
                self._send(tasks, [submission], self._pool.allowed(submission.avoided))

    def _send(self, tasks: _Queue, submissions: list[_Submission], allowed: Optional[list[str]]) -> None:
        if not submissions:
            return
        from .dask_worker import do_task

        job, keys = self._pool.job, []
        for submission in submissions:
            submission.attempts += 1
            submission.allowed = allowed
            keys.append((f"roadseg-{submission.task.work}", f"{job}-{submission.number}-{submission.attempts}"))
        try:
            futures = self._pool.client.map(
                do_task, [job] * len(submissions), [_as_json(submission) for submission in submissions], key=keys,
                pure=False, workers=allowed,
            )  # fmt: skip
        except Exception as error:
            tasks.again.extendleft(reversed(submissions))
            raise SchedulerLost from error
        for submission, future in zip(submissions, futures):
            tasks.under_way[future] = submission
            future.add_done_callback(self._finished.put)

    def _wait(self) -> list[Any]:
        """Return the futures that are done, after waiting for the first of them a moment."""
        futures = []
        with suppress(queue.Empty):
            futures.append(self._finished.get(timeout=POLL_S))
            while True:
                futures.append(self._finished.get_nowait())
        if self._pool.client.status != "running":
            raise SchedulerLost
        return futures

    def _outcomes(self, tasks: _Queue, futures: list[Any]) -> Iterator[Outcome]:
        futures = [future for future in futures if future in tasks.under_way]
        done = [future for future in futures if future.status == "finished"]
        try:
            texts = dict(zip(done, self._pool.client.gather(done, errors="raise"))) if done else {}
        except Exception:  # a worker died with its results
            texts = {}
        for future in futures:
            submission = tasks.under_way.pop(future)
            if future in texts:
                outcome = self._read(submission, json.loads(texts[future]))
            elif future.status == "error":
                outcome = self._killed(submission, future.exception())
            else:
                outcome = None
            if outcome is None:
                tasks.again.appendleft(submission)
            else:
                yield outcome

    def _read(self, submission: _Submission, answer: dict[str, Any]) -> Optional[Outcome]:
        """Return the outcome in a worker's answer; None if the task is to be tried again."""
        if "unfit" in answer:
            submission.unfit += 1
            submission.avoided = answer["unfit"]
            if submission.unfit <= MAX_KILLS:
                return None
            return failed(submission.task, _worker_error("It came to workers that do not fit, again and again."))
        address, logs = answer.pop("address"), answer.pop("logs")
        if answer["code"] in RETRIED_CODES and not submission.retries and self.workers > 1:
            submission.retries += 1
            submission.avoided = address
            self._reporter.log(f"{answer['worker']}: {answer['reason']} It is tried on another worker.")
            return None
        for line in logs:
            self._reporter.log(f"{answer['worker']}: {line}")
        return Outcome(submission.task, **answer)

    def _killed(self, submission: _Submission, error: BaseException) -> Optional[Outcome]:
        """Return the outcome of a task whose worker died; None if the task is to be tried again."""
        if type(error).__name__ != "KilledWorker":
            return failed(submission.task, _worker_error(f"Dask could not have it done ({in_words(error)})."))
        submission.kills += 1
        kills = self._begun[submission.number] - submission.retries
        if kills < MAX_KILLS and submission.kills < MAX_KILLS:
            return None  # it only waited behind another one
        return _killer(submission, max(kills, submission.kills))

    def _review(self, tasks: _Queue, living: set[str]) -> Iterator[Outcome]:
        """Take back tasks that Dask would leave where they are: their workers are gone, or keep dying at them."""
        for future, submission in list(tasks.under_way.items()):
            is_stuck = submission.allowed is not None and living.isdisjoint(submission.allowed)
            kills = self._begun[submission.number] - 1 - submission.retries
            if is_stuck or kills >= MAX_KILLS:
                del tasks.under_way[future]
                self._cancel([future])
                if is_stuck:
                    tasks.again.append(submission)
                else:
                    yield _killer(submission, kills)

    def _cancel(self, futures: list[Any]) -> None:
        if futures:
            with suppress(Exception):
                self._pool.client.cancel(futures, force=True)


def _take_back(tasks: _Queue) -> None:
    tasks.again.extend(tasks.under_way.values())
    tasks.under_way.clear()


def _as_json(submission: _Submission) -> str:
    task = submission.task
    return json.dumps({"key": task.key, "number": submission.number, "work": task.work, "document": task.document})


def _given_up(tasks: _Queue, why: str) -> Iterator[Outcome]:
    """Yield a failure for each task that is left."""
    while (submission := tasks.next()) is not None:
        yield failed(submission.task, _worker_error(why))


def _killer(submission: _Submission, kills: int) -> Outcome:
    return failed(submission.task, _worker_error(f"{kills} workers have died at it."))


def _worker_error(why: str) -> events.Error:
    return events.Error(WorkerError.code, why, "Run the same job again to do the missing parts.")
