"""A Dask worker, which is this process: it is checked and prepared once, then does one task at a time."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import distributed

from ..system import processor
from .messages import answer, prepare
from .worker_checks import differences

_ONE_AT_A_TIME = threading.Lock()  # a worker with several threads computes with all of them
# The jobs for which this process is prepared.
_PREPARED: set[str] = set()


def prepare_worker(job: str, number: int, text: str) -> None:
    """Check this process, and do a preparation, which has `leader` and `workers_there` beside; see `messages.as_text`.

    The job is the topic of the events that go to its leader.
    """
    worker, description = distributed.get_worker(), json.loads(text)
    name = f"worker {worker.name}" if str(worker.name).isdecimal() else str(worker.name)
    with _ONE_AT_A_TIME:
        lacks = list(differences(description["leader"], worker.id))
        if not lacks:
            name, lacks = prepare(text, name, _threads(worker.state.nthreads, description["workers_there"]))
        if not lacks:
            _PREPARED.add(job)
    _tell(worker, job, {"number": number, "name": name, "lacks": lacks, "answer": worker.id})


def do_task(job: str, number: int, text: str) -> None:
    """Do a task of `messages.as_text`.

    Raises RuntimeError if this process is not prepared, as after a restart at the same address.
    """
    if job not in _PREPARED:
        raise RuntimeError("the worker was started again")
    worker = distributed.get_worker()
    with _ONE_AT_A_TIME:
        message = answer(text)
    _tell(worker, job, {"number": number, **message})


def _tell(worker: Any, job: str, message: dict[str, Any]) -> None:
    worker.log_event(job, json.dumps({"worker": worker.address, **message}))


def _threads(own: int, workers_there: int) -> int:
    """Return the number of threads with which a worker computes.

    A worker with several threads uses these. Workers with one divide the machine's cores among themselves, unless the
    system limits them to some.
    """
    if own > 1:
        return own
    is_limited = len(processor.usable_cpus()) < (os.cpu_count() or 1)
    return max(1, processor.core_count() // (1 if is_limited else max(1, workers_there)))
