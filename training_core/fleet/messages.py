"""What goes between a fleet and its workers: JSON, nothing else.

A worker gets a preparation first, then one task after the other. Functions travel as names, which workers import.
"""

from __future__ import annotations

import json
import pkgutil
import platform
import sys
from collections.abc import Callable
from typing import Any

from .. import events
from ..error_events import explain
from ..errors import Cancelled, RoadSegError
from ..events import Reporter
from ..regions.tasks import Document, Task, TaskResult, failed, run_task
from ..system import processor

# What an answer has of a task's result.
_OF_RESULT = ("document", "code", "reason", "remedy", "elapsed_s")


def as_text(task: Task, **more: Any) -> str:
    """Return a task, and what else a worker must know of it, as JSON."""
    function = f"{task.function.__module__}:{task.function.__qualname__}"
    return json.dumps({"function": function, "document": task.document, **more})


def prepare(text: str, worker: str, threads: int) -> tuple[str, list[str]]:
    """Make this process ready to compute with some threads, and do a preparation.

    Return the worker's name with that of its machine, and sentences about what it lacks; none if it is ready.
    """
    name = f"{worker} ({platform.node()})"
    try:
        processor.prepare_process(threads)
        if "torch" in sys.modules:  # which read the variables when it was loaded
            sys.modules["torch"].set_num_threads(threads)
        function, document = _parsed(text)
        function(document)
    except RoadSegError as error:
        return name, [error.message]
    except Exception as error:  # nothing may end a worker that can say what it lacks
        return name, [explain(error, Reporter()).message]
    return name, []


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


def result_in(answer: dict[str, Any], task: Task, worker: str) -> TaskResult:
    """Return the result that a worker's answer has of a task."""
    return TaskResult(task, **{name: answer[name] for name in _OF_RESULT}, worker=worker)


def _parsed(text: str) -> tuple[Callable[[Document], Document], Document]:
    description = json.loads(text)
    return pkgutil.resolve_name(description["function"]), description["document"]
