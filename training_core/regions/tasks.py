"""The port between a region and whoever does its work: tasks in, results out, and the runner of this process.

A task is a function of a document that names its inputs and outputs. The region's code plans tasks and reads results,
and knows no runner. A runner knows no rasters and no roads. A task that fails has a result with its reason and raises
no exception, so the other tasks are still done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Optional, Protocol

from .. import events
from ..errors import Cancelled
from ..events import Reporter, explain

Document = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A function of a module, and the document of JSON types that it takes; it returns one, or raises if it fails.

    Tasks with the same key, which is made from the content, have the same result. The time is estimated from the
    megapixels. The scene is empty for work on the region.
    """

    function: Callable[[Document], Document]
    document: Document
    key: str = ""
    megapixels: float = 0.0
    scene: str = ""


@dataclass(frozen=True)
class TaskResult:
    """The end of a task: a document, or None and the failure's code (see `errors`), reason and remedy.

    The worker's name is empty where it is unknown. `elapsed_s` is the wall time of the work itself.
    """

    task: Task
    document: Optional[Document]
    code: str = ""
    reason: str = ""
    remedy: str = ""
    worker: str = ""
    elapsed_s: float = 0.0


class TaskRunner(Protocol):
    """Workers that do tasks, and their name for people."""

    name: str

    @property
    def workers(self) -> int:
        """Number of tasks that are done at once."""
        ...

    def run(self, tasks: Iterable[Task], reporter: Reporter) -> Iterator[TaskResult]:
        """Do tasks, taken as they are needed, and yield their results in the order in which they end.

        The reporter stops the work of a cancelled job, and receives warnings and the logs of workers.
        """
        ...

    def close(self) -> None:
        """End all workers that the runner has started."""
        ...


class InProcessRunner:
    """Does one task after the other in this process, after a preparation, whose errors it raises."""

    name = "this process"
    workers = 1

    def __init__(self, preparation: Task) -> None:
        preparation.function(preparation.document)

    def run(self, tasks: Iterable[Task], reporter: Reporter) -> Iterator[TaskResult]:
        """See `TaskRunner.run`."""
        for task in tasks:
            reporter.check_cancelled()
            yield run_task(task, self.name, reporter)

    def close(self) -> None:
        """See `TaskRunner.close`."""


def run_task(task: Task, worker: str, reporter: Reporter) -> TaskResult:
    """Do a task in this process; the reporter receives the traceback of an unexpected error."""
    began_s = time.perf_counter()
    try:
        document = task.function(task.document)
    except Cancelled:
        raise
    except Exception as error:  # no error of a task may end the work on the others
        return failed(task, explain(error, reporter), worker, time.perf_counter() - began_s)
    return TaskResult(task, document, worker=worker, elapsed_s=time.perf_counter() - began_s)


def failed(task: Task, error: events.Error, worker: str = "", elapsed_s: float = 0.0) -> TaskResult:
    """Return the result of a task that has failed."""
    return TaskResult(task, None, error.code, error.message, error.remedy, worker, elapsed_s)
