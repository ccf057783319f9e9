"""A Dask worker, which is this process: it is prepared once, then does one task at a time.

A worker gets the names of two functions of RoadSeg and JSON documents, nothing else. Dask itself carries its messages
as pickles, so anyone who reaches a scheduler can run code on its workers.

Scope: preparation and tasks of a worker. Independent of the process that leads the job.
"""

from __future__ import annotations

import asyncio
import json
import os
import pkgutil
import platform
import sys
import threading
from dataclasses import dataclass
from typing import Any

import distributed

from .. import events
from ..error_events import explain
from ..errors import Cancelled, RoadSegError
from ..events import Reporter
from ..system import processor
from ..system.placement import Place, settle
from .executors import Outcome, Task, attempt, complaints, failed

# The leading process asks for this name to find out whether a worker has RoadSeg.
PROBE = f"{__name__}:PROBE"
_ONE_AT_A_TIME = threading.Lock()
_STATES: dict[str, State] = {}


@dataclass(frozen=True)
class State:
    """Result of this process' checks for a job: `executors.Handlers.perform`, or complaints if it does not fit."""

    complaints: tuple[str, ...]
    name: str
    perform: Any = None


class WorkerSetup(distributed.WorkerPlugin):
    """Prepares each worker once, also those that join later: cores, memory, checks, the model.

    The job is the id of the run, and the topic of the events that go to its leader. `leader` is
    `executors.Leader.document`. `handlers` has functions of `executors.Handlers` as names. Places belong to the
    workers with the names 0, 1, ...; those of a scheduler have none.
    """

    def __init__(self, job: str, leader: dict[str, Any], handlers: dict[str, Any], places: list[Place]) -> None:
        self.name = job
        self._leader, self._handlers, self._places = leader, handlers, places

    async def setup(self, worker: distributed.Worker) -> None:
        """See `distributed.WorkerPlugin`."""
        places = self._places
        place = places[int(worker.name) % len(places)] if places else Place((), await _threads_of(worker))
        name = f"worker {worker.name}" if str(worker.name).isdecimal() else str(worker.name)
        settle(place)
        processor.limit_waiting()
        state = await asyncio.to_thread(self._prepare, f"{name} ({platform.node()})", worker.id, place.threads)
        _STATES[self.name] = state
        worker.log_event(self.name, {"worker": worker.address, "name": state.name, "complaints": state.complaints})

    def teardown(self, worker: distributed.Worker) -> None:
        """See `distributed.WorkerPlugin`."""
        _STATES.pop(self.name, None)

    def _prepare(self, name: str, answer: str, threads: int) -> State:
        """Check this process, and load the model; no error here may end the worker."""
        try:
            lacking = complaints(self._leader, answer)
            if lacking:
                return State(tuple(lacking), name)
            processor.prepare_process(threads)
            if "torch" in sys.modules:  # which read the variables when it was loaded
                sys.modules["torch"].set_num_threads(threads)
            perform = pkgutil.resolve_name(self._handlers["perform"])
            pkgutil.resolve_name(self._handlers["prepare"])(self._handlers["document"])
            return State((), name, perform)
        except RoadSegError as error:
            return State((error.message,), name)
        except Exception as error:
            return State((explain(error, Reporter()).message,), name)


async def _threads_of(worker: distributed.Worker) -> int:
    """Return the number of threads with which a worker computes.

    Of a worker with several threads it is theirs. Workers with one divide the machine's cores among themselves, unless
    the system limits them to some.
    """
    if worker.state.nthreads > 1:
        return worker.state.nthreads
    cores = processor.core_count()
    if len(processor.usable_cpus()) < (os.cpu_count() or 1):
        return cores
    known = (await worker.scheduler.identity(n_workers=-1))["workers"].values()
    return max(1, cores // max(1, sum(other["host"] == worker.ip for other in known)))


def state_of(job: str) -> dict[str, Any] | None:
    """Return the result of this process' checks for a job; None until they are done."""
    state = _STATES.get(job)
    return None if state is None else {"name": state.name, "complaints": list(state.complaints)}


def do_task(job: str, text: str) -> str:
    """Do a task, JSON of key, number, work and document, for a job of `WorkerSetup`; return its outcome as JSON."""
    worker = distributed.get_worker()
    description = json.loads(text)
    state = _STATES.get(job)
    if state is None or state.perform is None:
        return json.dumps({"unfit": worker.address})
    with _ONE_AT_A_TIME:  # a worker with several threads computes with all of them
        worker.log_event(job, {"begun": description["number"]})
        return _done(state, description, worker.address)


def _done(state: State, description: dict[str, Any], address: str) -> str:
    task = Task(description["key"], description["work"], description["document"])
    logs: list[str] = []

    def sink(event: events.Event) -> None:
        if isinstance(event, events.Log):
            logs.append(event.message)

    reporter = Reporter(sink)
    try:
        outcome = attempt(state.perform, task, state.name, reporter)
        return _as_json(outcome, address, logs)
    except (Cancelled, TypeError, ValueError) as error:  # the latter two: the result is no JSON
        return _as_json(failed(task, explain(error, reporter), state.name), address, logs)


def _as_json(outcome: Outcome, address: str, logs: list[str]) -> str:
    names = ("result", "code", "reason", "remedy", "worker", "elapsed_s")
    return json.dumps({**{name: getattr(outcome, name) for name in names}, "address": address, "logs": logs})
