"""Who does the tasks of a region: the interface, and the simplest fleet, this process alone.

A fleet yields an outcome for each task, in the order in which they are done. A task that fails is an outcome with its
reason, never an exception: the others are done all the same.

Scope: tasks in, outcomes out. Independent of what the work is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Protocol

from .. import events
from ..error_events import explain
from ..errors import Cancelled
from ..events import Reporter
from .tasks import Outcome, Task

Perform = Callable[[str, dict[str, Any]], dict[str, Any]]
Prepare = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Crew:
    """What workers can do, and what they load once before they begin.

    Parameters
    ----------
    perform : callable
        Takes the kind of work and a task's document, returns its result, all of JSON types; raises what failed. A
        function of a module, which workers import.
    prepare : callable, optional
        Called once in each worker with `document`, to load the model and to try the engine; raises a RoadSegError
        where that cannot be had there. A function of a module, as well.
    document : dict
        Of JSON types.
    """

    perform: Perform
    prepare: Prepare | None = None
    document: dict[str, Any] = field(default_factory=dict)


class Fleet(Protocol):
    """Workers that do tasks.

    Attributes
    ----------
    name : str
        For people: who does the work.
    workers : int
        How many tasks are done at once.
    dashboard : str
        Address of a page on which the work can be watched; empty without one.
    """

    name: str
    workers: int
    dashboard: str

    def run(self, tasks: Iterable[Task], reporter: Reporter) -> Iterator[Outcome]:
        """Do tasks, and yield what came of each, in the order in which they are done.

        Parameters
        ----------
        tasks : iterable of Task
            Taken as they are needed.
        reporter : Reporter
            Stops the work where the job is cancelled; receives warnings and the logs of workers.
        """
        ...

    def close(self) -> None:
        """End all workers that were started, and leave the others to whom they belong to."""
        ...


class LocalFleet:
    """The own process, which does one task after the other.

    Parameters
    ----------
    crew : Crew
        Prepared at once.

    Raises
    ------
    RoadSegError
        What `crew.prepare` raises.
    """

    name = "this process"
    workers = 1
    dashboard = ""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        if crew.prepare is not None:
            crew.prepare(crew.document)

    def run(self, tasks: Iterable[Task], reporter: Reporter) -> Iterator[Outcome]:
        """See `Fleet.run`."""
        for task in tasks:
            reporter.check_cancelled()
            yield attempt(self._crew.perform, task, self.name, reporter)

    def close(self) -> None:
        """See `Fleet.close`; there is nothing to end."""


def attempt(perform: Perform, task: Task, worker: str, reporter: Reporter) -> Outcome:
    """Do a task in this process.

    Parameters
    ----------
    perform : callable
        See `Crew`.
    worker : str
        Name of the worker, for the outcome.
    reporter : Reporter
        Receives the traceback of an unexpected error.

    Returns
    -------
    Outcome
        The result, or why there is none.
    """
    began_s = time.perf_counter()
    try:
        result = perform(task.work, task.document)
    except Cancelled:
        raise
    except Exception as error:
        # Whatever it is, it must not end the work on all others.
        return failed(task, explain(error, reporter), worker, time.perf_counter() - began_s)
    return Outcome(task, result, worker=worker, elapsed_s=time.perf_counter() - began_s)


def has_module(name: str) -> bool:
    """Return whether a module can be imported; a mere folder of its name does not count."""
    spec = find_spec(name)
    return spec is not None and spec.origin is not None


def failed(task: Task, error: events.Error, worker: str = "", elapsed_s: float = 0.0) -> Outcome:
    """Return the outcome of a task that has failed.

    Parameters
    ----------
    error : events.Error
        Why.
    worker : str
        Where; empty where that is not known.
    """
    return Outcome(task, None, error.code, error.message, error.remedy, worker, elapsed_s)
