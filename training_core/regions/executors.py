"""Executors: who does the tasks of a region. The tasks, their outcomes, and the simplest executor, this process alone.

An executor yields an outcome for each task as tasks end. A task that fails has an outcome with its reason and raises
no exception, so the other tasks are still done.

Scope: tasks in, outcomes out. Independent of the work in the tasks, which `task_handlers` does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Optional, Protocol

from .. import events
from ..error_events import explain
from ..errors import Cancelled, RuntimeEnvironmentError
from ..events import Reporter
from ..system.placement import AUTO, count_processes
from .worker_checks import Needs

SET_UP = "Run Set up runtime with Many machines (FLEET), or install what resources/runtime/fleet.txt lists."


@dataclass(frozen=True)
class Task:
    """A piece of work for one worker.

    Tasks with the same key, which is made from the content, have the same result. Its file is named after the key. A
    handler takes the kind of work and the document of JSON types. The time is estimated from the megapixels. The scene
    is empty for work on the region.
    """

    key: str
    work: str
    document: dict[str, Any]
    megapixels: float = 0.0
    scene: str = ""


@dataclass(frozen=True)
class Outcome:
    """The end of a task: a result of JSON types, or None and the failure's code (see `errors`), reason and remedy.

    The worker's name is empty where it is unknown. `elapsed_s` is the wall time of the work itself.
    """

    task: Task
    result: Optional[dict[str, Any]]
    code: str = ""
    reason: str = ""
    remedy: str = ""
    worker: str = ""
    elapsed_s: float = 0.0


@dataclass(frozen=True)
class Handlers:
    """The functions that workers call. Both are functions of a module, which workers import.

    `perform` takes the kind of work and a task's document, returns its result, of JSON types, and raises if it fails.
    `prepare` is called once in each worker with `document`, of JSON types, to load the model and to try the engine. It
    raises a RoadSegError where these cannot be used.
    """

    perform: Callable[[str, dict[str, Any]], dict[str, Any]]
    prepare: Callable[[dict[str, Any]], object]
    document: dict[str, Any] = field(default_factory=dict)


class Executor(Protocol):
    """Workers that do tasks, with a name for people and the address of a page that shows the work, or none."""

    name: str
    dashboard: str

    @property
    def workers(self) -> int:
        """Number of tasks that are done at once."""
        ...

    def run(self, tasks: Iterable[Task], reporter: Reporter) -> Iterator[Outcome]:
        """Do tasks, taken as they are needed, and yield their outcomes in the order in which they end.

        The reporter stops the work of a cancelled job, and receives warnings and the logs of workers.
        """
        ...

    def close(self) -> None:
        """End all workers that the executor has started."""
        ...


class LocalExecutor:
    """The executor that does one task after the other in this process.

    Raises
    ------
    RoadSegError
        See `Handlers.prepare`.
    """

    name = "this process"
    workers = 1
    dashboard = ""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        handlers.prepare(handlers.document)

    def run(self, tasks: Iterable[Task], reporter: Reporter) -> Iterator[Outcome]:
        """See `Executor.run`."""
        for task in tasks:
            reporter.check_cancelled()
            yield attempt(self._handlers.perform, task, self.name, reporter)

    def close(self) -> None:
        """See `Executor.close`."""


def open_executor(
    handlers: Handlers, needs: Needs, reporter: Reporter, scheduler: str = "", workers: int = 0, threads: int = 0
) -> Executor:
    """Return the executor that a job asks for; close it at the end.

    Without the address of a Dask scheduler it works on this machine. 0 workers stand for one process for each NUMA
    node, 0 threads, of all processes together, for the number of cores.

    Raises
    ------
    JobError
        There are fewer cores than workers.
    RuntimeEnvironmentError
        A scheduler is given, but Dask is not installed.
    RoadSegError
        See `DaskExecutor` and `LocalExecutor`.
    """
    has_dask = has_module("distributed")
    if scheduler and not has_dask:
        raise RuntimeEnvironmentError(
            f"The scheduler {scheduler} cannot be used: the runtime has no Dask (requirement set fleet).", SET_UP
        )
    count = 0 if scheduler else count_processes(str(workers) if workers else AUTO, threads, max(workers, 1 << 16))
    if count > 1 and not has_dask:
        reporter.warning(
            f"One process does the work instead of {count}: the runtime has no Dask (requirement set fleet). {SET_UP}"
        )
    if not has_dask or count == 1:
        return LocalExecutor(handlers)
    from .dask_executor import DaskExecutor

    return DaskExecutor(handlers, needs, reporter, scheduler, count, threads)


def attempt(
    perform: Callable[[str, dict[str, Any]], dict[str, Any]], task: Task, worker: str, reporter: Reporter
) -> Outcome:
    """Do a task in this process; the reporter receives the traceback of an unexpected error."""
    began_s = time.perf_counter()
    try:
        result = perform(task.work, task.document)
    except Cancelled:
        raise
    except Exception as error:  # no error of a task may end the work on the others
        return failed(task, explain(error, reporter), worker, time.perf_counter() - began_s)
    return Outcome(task, result, worker=worker, elapsed_s=time.perf_counter() - began_s)


def failed(task: Task, error: events.Error, worker: str = "", elapsed_s: float = 0.0) -> Outcome:
    """Return the outcome of a task that has failed."""
    return Outcome(task, None, error.code, error.message, error.remedy, worker, elapsed_s)


def has_module(name: str) -> bool:
    """Return whether a module can be imported; a mere folder of its name does not count."""
    spec = find_spec(name)
    return spec is not None and spec.origin is not None
