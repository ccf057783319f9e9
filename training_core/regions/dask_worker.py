"""What happens on a Dask worker: it is prepared once, then does one task at a time.

A worker gets the names of two functions of RoadSeg and JSON documents, nothing else; Dask itself carries its messages
as pickles, so whoever reaches a scheduler can run code on its workers.

Scope: this process as a worker. Loaded only where Dask is. Independent of the process that leads the job.
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
from . import fitness
from .fleet import attempt, failed
from .tasks import Outcome, Task

# By this name it is found out whether a worker has RoadSeg at all.
PROBE = f"{__name__}:PROBE"
_ONE_AT_A_TIME = threading.Lock()
_STATES: dict[str, State] = {}


@dataclass(frozen=True)
class State:
    """What this process has found of itself for a job.

    Parameters
    ----------
    complaints : tuple of str
        What stands against it; empty if it fits.
    name : str
        Of the worker, for people.
    perform : callable, optional
        See `fleet.Crew`.
    """

    complaints: tuple[str, ...]
    name: str
    perform: Any = None


class FleetPlugin(distributed.WorkerPlugin):
    """Prepares each worker once, also those that join later: cores, memory, checks, the model.

    Parameters
    ----------
    job : str
        Id of the run, and topic of the events that go to its leader.
    leader : dict
        See `fitness.Leader.document`.
    crew : dict
        Of `fleet.Crew`: perform and prepare as names, and the document.
    places : list of Place
        Of the workers with the names 0, 1, ...; empty where they are not ours.
    """

    def __init__(self, job: str, leader: dict[str, Any], crew: dict[str, Any], places: list[Place]) -> None:
        self.name = job
        self._leader, self._crew, self._places = leader, crew, places

    async def setup(self, worker: distributed.Worker) -> None:
        """See `distributed.WorkerPlugin`."""
        place = self._place_of(worker) or Place((), await _share(worker))
        settle(place)
        processor.limit_waiting()
        state = await asyncio.to_thread(self._prepare, _name_of(worker), worker.id, place.threads)
        _STATES[self.name] = state
        worker.log_event(self.name, {"worker": worker.address, "name": state.name, "complaints": state.complaints})

    def teardown(self, worker: distributed.Worker) -> None:
        """See `distributed.WorkerPlugin`."""
        _STATES.pop(self.name, None)

    def _place_of(self, worker: distributed.Worker) -> Place | None:
        return self._places[int(worker.name) % len(self._places)] if self._places else None

    def _prepare(self, name: str, answer: str, threads: int) -> State:
        """Return what this process finds of itself; nothing that goes wrong here may end the worker."""
        try:
            complaints = fitness.complaints(self._leader, answer)
            if complaints:
                return State(tuple(complaints), name)
            _limit(threads)
            perform = pkgutil.resolve_name(self._crew["perform"])
            if self._crew["prepare"]:
                pkgutil.resolve_name(self._crew["prepare"])(self._crew["document"])
            return State((), name, perform)
        except RoadSegError as error:
            return State((error.message,), name)
        except Exception as error:
            return State((explain(error, Reporter()).message,), name)


def _limit(threads: int) -> None:
    """Compute with so many threads; PyTorch reads the variables when it is loaded, if it is not already."""
    processor.prepare_process(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


async def _share(worker: distributed.Worker) -> int:
    """Return with how many threads a worker computes.

    These are the threads it was given; of a worker with one, its share of the machine's cores, unless the system has
    already limited it to some.
    """
    if worker.state.nthreads > 1:
        return worker.state.nthreads
    cores = processor.core_count()
    if len(processor.usable_cpus()) < (os.cpu_count() or 1):
        return cores
    known = (await worker.scheduler.identity(n_workers=-1))["workers"].values()
    return max(1, cores // max(1, sum(each["host"] == worker.ip for each in known)))


def _name_of(worker: distributed.Worker) -> str:
    name = str(worker.name)
    return f"worker {name} ({platform.node()})" if name.isdecimal() else f"{name} ({platform.node()})"


def state_of(job: str) -> dict[str, Any] | None:
    """Return what this process has found of itself for a job, None while it is at it."""
    state = _STATES.get(job)
    return None if state is None else {"name": state.name, "complaints": list(state.complaints)}


def do_task(job: str, text: str) -> str:
    """Do a task in this process, alone.

    Parameters
    ----------
    job : str
        See `FleetPlugin`.
    text : str
        The task as JSON: key, number, work and document.

    Returns
    -------
    str
        What came of it, as JSON.
    """
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
