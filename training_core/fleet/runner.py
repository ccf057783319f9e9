"""The runner of a fleet: hands tasks to workers, and takes their results.

A worker has one task, and a second one where tasks are so short that it would wait for the next. A task whose worker
was lost goes to another one. A task during which three workers died has failed. Between a fleet and its workers goes
JSON, nothing else: a preparation first, then one task after the other. Functions travel as names, which workers import.

Scope: tasks and workers by their names. Independent of how workers are reached (`processes`, `dask_workers`).
"""

from __future__ import annotations

import json
import pkgutil
import platform
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, Protocol, Union

from .. import events
from ..errors import Cancelled, RoadSegError, RuntimeEnvironmentError, WorkerError
from ..events import Reporter, explain
from ..regions.tasks import Document, Task, TaskResult, failed, run_task
from ..system import processor

# A task during which this number of workers died is what kills them.
MAX_KILLS = 3
# How long to wait for the first worker, for all of them to be prepared, and for others after the last one is lost.
WORKERS_S, PREPARE_S, LOST_S = 30.0, 300.0, 120.0
POLL_S = 0.2
# A worker whose last task took less time than this has the next one in advance.
SHORT_S = 1.0
MAX_SHOWN = 5
# Members of a task's result in an answer.
_OF_RESULT = ("document", "code", "reason", "remedy", "elapsed_s")


def as_text(task: Task, **more: Any) -> str:
    """Return a task, and what else a worker must know of it, as JSON."""
    function = f"{task.function.__module__}:{task.function.__qualname__}"
    return json.dumps({"function": function, "document": task.document, **more})


def prepare(text: str, worker: str, threads: int) -> tuple[str, list[str]]:
    """Make this process ready to compute with some threads, and do a preparation.

    Return the worker's name with that of its machine, and sentences about what it lacks; none if it is ready.
    """
    lacks = []
    try:
        processor.prepare_process(threads)
        if "torch" in sys.modules:  # which read the variables when it was loaded
            sys.modules["torch"].set_num_threads(threads)
        function, document = _parsed(text)
        function(document)
    except RoadSegError as error:
        lacks = [error.message]
    except Exception as error:  # nothing may end a worker that can say what it lacks
        lacks = [explain(error, Reporter()).message]
    return f"{worker} ({platform.node()})", lacks


def answer(text: str) -> dict[str, Any]:
    """Do a task in this process; return its result, and the lines that it has logged, as JSON types."""
    logs: list[str] = []

    def sink(event: events.Event) -> None:
        if isinstance(event, events.Log):
            logs.append(event.message)

    reporter, task = Reporter(sink), Task(*_parsed(text))
    try:
        result = run_task(task, "", reporter)
        json.dumps(result.document)
    except (Cancelled, TypeError, ValueError) as error:  # the latter two: the result is no JSON
        result = failed(task, explain(error, reporter))
    return {**{name: getattr(result, name) for name in _OF_RESULT}, "logs": logs}


def _parsed(text: str) -> tuple[Callable[[Document], Document], Document]:
    description = json.loads(text)
    return pkgutil.resolve_name(description["function"]), description["document"]


@dataclass(frozen=True)
class Prepared:
    """A worker is prepared: its name for people, and sentences about what it lacks."""

    name: str
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answered:
    """A worker has answered a task, by the task's number; see `answer`."""

    number: int
    answer: dict[str, Any]


@dataclass(frozen=True)
class Lost:
    """A worker is gone. `is_dead` unless only the connection to it is."""

    is_dead: bool = True


News = Union[Prepared, Answered, Lost]


class Workers(Protocol):
    """Workers that come and go, by addresses; a name of all of them for people, and what to do where there are none."""

    name: str
    remedy: str

    @property
    def starting(self) -> Collection[str]:
        """Addresses of the workers that are not prepared yet."""
        ...

    def poll(self, timeout_s: float) -> Iterator[tuple[str, News]]:
        """Yield what has happened, each with the address of its worker, after waiting for it a moment."""
        ...

    def send(self, worker: str, number: int, text: str) -> None:
        """Give a worker a task as text, to be done after those that it has."""
        ...

    def cancel(self, numbers: Iterable[int]) -> None:
        """Take tasks back where that is possible; their answers are ignored."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...


@dataclass
class _Attempt:
    """A task, and how many workers died during it."""

    task: Task
    kills: int = 0


@dataclass
class _Worker:
    """A worker that is prepared, the numbers of its tasks, the first under way, and how long the last one took."""

    name: str
    numbers: list[int] = field(default_factory=list)
    last_s: float = SHORT_S


class FleetRunner:
    """Workers that do tasks; see `regions.tasks.TaskRunner`. All workers are prepared before the first task.

    Raises WorkerError if there are no workers. Raises RuntimeEnvironmentError if no worker fits.
    """

    def __init__(self, workers: Workers, reporter: Reporter) -> None:
        self.name = workers.name
        self._workers, self._numbers = workers, count(1)
        self._fit: dict[str, _Worker] = {}
        self._unfit: dict[str, str] = {}
        self._warned_of: set[str] = set()
        # Tasks that were not asked for yet, those to try again, and those under way by their numbers.
        self._source: Iterator[Task] = iter(())
        self._again: deque[_Attempt] = deque()
        self._under_way: dict[int, _Attempt] = {}
        try:
            self._start(reporter)
        except BaseException:
            workers.close()
            raise

    @property
    def workers(self) -> int:
        """Number of workers that fit."""
        return len(self._fit)

    def run(self, tasks: Iterable[Task], reporter: Reporter) -> Iterator[TaskResult]:
        """See `TaskRunner.run`."""
        self._source, seen_s = iter(tasks), time.monotonic()
        self._again.clear()
        try:
            while True:
                reporter.check_cancelled()
                self._hand_out()
                if self._fit:
                    seen_s = time.monotonic()
                    if not self._under_way:
                        return
                elif time.monotonic() - seen_s > LOST_S:
                    why = f"{self.name}: there has been no worker that fits for {LOST_S:.0f} s."
                    for task in chain([attempt.task for attempt in self._again], self._source):
                        yield failed(task, _error(why))
                    return
                for worker, news in self._workers.poll(POLL_S):
                    yield from self._heard(worker, news, reporter)
                self._warn_of_unfit(reporter)
        finally:
            self._workers.cancel(self._under_way)
            self._under_way.clear()
            for each in self._fit.values():
                each.numbers.clear()

    def close(self) -> None:
        """See `TaskRunner.close`."""
        self._workers.close()

    def _start(self, reporter: Reporter) -> None:
        """Wait until all workers that are there now are prepared."""
        began_s = time.monotonic()
        while (not self._fit and not self._unfit) or self._workers.starting:
            reporter.check_cancelled()
            elapsed_s, are_there = time.monotonic() - began_s, self._fit or self._unfit or self._workers.starting
            if elapsed_s > (PREPARE_S if are_there else WORKERS_S):
                break
            for worker, news in self._workers.poll(POLL_S):
                list(self._heard(worker, news, reporter))
        if not self._fit and not self._unfit:
            raise WorkerError(f"{self.name}: no worker has started within {elapsed_s:.0f} s.", self._workers.remedy)
        if not self._fit:
            raise RuntimeEnvironmentError(
                f"No worker of {self.name} fits this job: {_shown(self._unfit)}.",
                "All workers need the same versions, model file and paths as this machine.",
            )
        self._warn_of_unfit(reporter)

    def _hand_out(self) -> None:
        """Give each worker a task before any of them gets a second one."""
        for most in (1, 2):
            for address, worker in self._fit.items():
                if len(worker.numbers) >= most or (most == 2 and worker.last_s >= SHORT_S):
                    continue
                attempt = self._again.popleft() if self._again else next(map(_Attempt, self._source), None)
                if attempt is not None:
                    number = next(self._numbers)
                    self._under_way[number] = attempt
                    worker.numbers.append(number)
                    self._workers.send(address, number, as_text(attempt.task))

    def _heard(self, address: str, news: News, reporter: Reporter) -> Iterator[TaskResult]:
        """Take news of a worker, and yield the result that it brings, if any."""
        if isinstance(news, Prepared):
            if news.lacks:
                named = f"{address}, {news.name}:" if news.name else f"{address},"
                self._unfit[address] = f"{named} {'; '.join(news.lacks)}"
            else:
                self._fit[address] = _Worker(news.name)
        elif isinstance(news, Lost):
            self._unfit.pop(address, None)
            yield from self._taken_back(self._fit.pop(address, _Worker("")), news.is_dead)
        elif address in self._fit and news.number in self._under_way:
            worker, attempt = self._fit[address], self._under_way.pop(news.number)
            worker.numbers.remove(news.number)
            parts = {name: news.answer[name] for name in _OF_RESULT}
            result = TaskResult(attempt.task, **parts, worker=worker.name)
            worker.last_s = result.elapsed_s
            for line in news.answer["logs"]:
                reporter.log(f"{worker.name}: {line}")
            yield result

    def _taken_back(self, worker: _Worker, is_dead: bool) -> Iterator[TaskResult]:
        """Take back the tasks of a lost worker; it died during the first of them."""
        attempts = [self._under_way.pop(number) for number in worker.numbers]
        if attempts and is_dead:
            attempts[0].kills += 1
            if attempts[0].kills >= MAX_KILLS:
                guilty = attempts.pop(0)
                yield failed(guilty.task, _error(f"{guilty.kills} workers died while running this task."))
        self._again.extendleft(reversed(attempts))

    def _warn_of_unfit(self, reporter: Reporter) -> None:
        if self._unfit.keys() - self._warned_of:
            self._warned_of |= self._unfit.keys()
            reporter.warning(
                f"{len(self._unfit)} workers of {self.name} do not fit and get no work: {_shown(self._unfit)}."
            )


def _shown(unfit: dict[str, str]) -> str:
    lines = list(unfit.values())
    return ". ".join(lines[:MAX_SHOWN]) + (f". And {len(lines) - MAX_SHOWN} more" * (len(lines) > MAX_SHOWN))


def _error(why: str) -> events.Error:
    return events.Error(WorkerError.code, why, "Run the same job again to compute the missing parts.")
