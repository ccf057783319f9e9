"""The workers of a Dask scheduler, checked and prepared, also those that join later.

Each gets its own tasks, so that a worker without RoadSeg never takes one, and does one at a time. Answers come as
events, which need no worker to keep them. If the scheduler goes away, its workers are lost until it comes back.

Dask carries pickles, so anyone who reaches a scheduler can run code on its workers. A scheduler for many machines
should use TLS (`tls://`), or have a network of its own.

Scope: reaching workers of a scheduler. Independent of tasks. Dask is imported when it is needed.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import pkgutil
import queue
import secrets
import socket
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Optional, Union

from ..errors import JobError, RoadSegError, RuntimeEnvironmentError
from ..events import Reporter
from ..regions.tasks import Task
from ..system import processor
from .runner import LOST_S, Answered, Lost, News, Prepared, answer, as_text, prepare
from .worker_checks import Leader, differences

CONNECT_S, CLOSE_S, CENSUS_S = 15.0, 5.0, 2.0
# A function that any Python has, and a name that it finds where RoadSeg is.
_PROBE, _NAME = pkgutil.resolve_name, f"{__name__}:do_task"
# In a worker: one with several threads computes with all of them, and has been prepared for some jobs.
_ONE_AT_A_TIME = threading.Lock()
_PREPARED: set[str] = set()


class DaskWorkers:
    """The workers of a scheduler; see `runner.Workers`. Each passes the leader's checks, then does the preparation.

    It closes the leader. See `connect` for errors.
    """

    remedy = "Start workers with: dask worker and its address."

    def __init__(self, scheduler: str, preparation: Task, leader: Leader, reporter: Reporter) -> None:
        self.name, self._job = scheduler, f"roadseg-{secrets.token_hex(6)}"
        self._preparation, self._leader, self._reporter = preparation, leader, reporter
        self._client: Any = None
        # Futures of tasks by number, and of preparations by worker.
        self._futures: dict[Union[int, str], Any] = {}
        self._known: set[str] = set()
        self.starting: set[str] = set()
        self._heard: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._census_s = 0.0
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def poll(self, timeout_s: float) -> Iterator[tuple[str, News]]:
        """See `runner.Workers`."""
        if self._client is None or self._client.status != "running":
            yield from self._reconnected(timeout_s)
        elif time.monotonic() - self._census_s > CENSUS_S:
            yield from self._census()
        with suppress(queue.Empty):
            message = self._heard.get(timeout=timeout_s)
            while True:
                yield from self._news(message)
                message = self._heard.get_nowait()

    def send(self, worker: str, number: int, text: str) -> None:
        """See `runner.Workers`."""
        self._submit(worker, number, do_task, self._job, number, text)

    def cancel(self, numbers: Iterable[int]) -> None:
        """See `runner.Workers`."""
        futures = [self._futures.pop(number) for number in numbers if number in self._futures]
        if futures and self._client is not None:
            with suppress(Exception):
                self._client.cancel(futures, force=True)

    def close(self) -> None:
        """Leave the workers as they are."""
        self._disconnect()
        self._leader.close()

    def _submit(self, worker: str, number: int, function: Any, *arguments: Any) -> None:
        """Have one worker call a function, those with smaller numbers first; 0 stands for its preparation."""

        def hear(future: Any) -> None:
            message = {"worker": worker, "number": number}
            if future.status == "error":
                self._heard.put({**message, "error": in_words(future.exception())})
            elif function is _PROBE:  # of other functions, an event comes by itself
                self._heard.put({**message, "has_roadseg": True})

        key = (f"roadseg-{function.__name__}", f"{self._job}-{number or secrets.token_hex(6)}")
        with suppress(Exception):  # the connection is gone, as `poll` finds out
            future = self._client.submit(function, *arguments, key=key, workers=[worker], priority=-number, pure=False)
            self._futures[number or worker] = future
            future.add_done_callback(hear)

    def _news(self, message: dict[str, Any]) -> Iterator[tuple[str, News]]:
        """Yield the news in a message of a worker that is known, or of Dask where it could not do a task."""
        worker, number = message["worker"], message["number"]
        if worker not in self._known or self._futures.pop(number or worker, None) is None:
            return
        if number and "error" in message:  # it is another process now, and prepared anew
            yield from self._forget({worker}, is_dead=True)
        elif number:
            yield worker, Answered(number, message)
        elif "has_roadseg" in message:
            self._prepare(worker)
        else:
            self.starting.discard(worker)
            lacks = [f"it has no RoadSeg ({message['error']})"] if "error" in message else message["lacks"]
            yield worker, Prepared(message.get("name", ""), tuple(lacks or self._leader.unseen(message["answer"])))

    def _census(self) -> Iterator[tuple[str, News]]:
        """Find the workers that are gone, and have new ones prepared."""
        self._census_s = time.monotonic()
        try:
            threads = self._client.nthreads()
        except Exception:  # the scheduler does not answer
            self._disconnect()
            return
        yield from self._forget(self._known - threads.keys(), is_dead=True)
        for worker in threads.keys() - self._known:
            self._known.add(worker)
            self.starting.add(worker)
            # A worker without RoadSeg ends when it gets a function of RoadSeg's.
            self._submit(worker, 0, _PROBE, _NAME)

    def _prepare(self, worker: str) -> None:
        host = worker.rpartition(":")[0]
        workers_there = sum(other.rpartition(":")[0] == host for other in self._known)
        text = as_text(self._preparation, leader=self._leader.document, workers_there=workers_there)
        self._submit(worker, 0, prepare_worker, self._job, text)

    def _forget(self, workers: set[str], is_dead: bool) -> Iterator[tuple[str, News]]:
        for worker in workers:
            self._known.discard(worker)
            self.starting.discard(worker)
            self._futures.pop(worker, None)
            yield worker, Lost(is_dead)

    def _reconnected(self, pause_s: float) -> Iterator[tuple[str, News]]:
        """Take the workers of a lost scheduler for lost, and try to reach it again."""
        if self._known:
            self._reporter.warning(f"The connection to {self.name} is lost. Waiting {LOST_S:.0f} s for it.")
        yield from self._forget(set(self._known), is_dead=False)
        self._disconnect()
        try:
            self._connect()
        except RoadSegError:
            time.sleep(pause_s)

    def _connect(self) -> None:
        self._client = connect(self.name)
        if "dashboard" in self._client.scheduler_info().get("services", {}):
            self._reporter.log(f"Watch the run at {self._client.dashboard_link}.")
        self._client.subscribe_topic(self._job, lambda event: self._heard.put(json.loads(event[1])))
        self._census_s = 0.0

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        self._futures.clear()
        if client is not None:
            with suppress(Exception):
                client.close(timeout=CLOSE_S)


def connect(address: str) -> Any:
    """Return a client of a scheduler.

    Raises JobError if it cannot be reached, or does not accept the certificates. Raises RuntimeEnvironmentError if it
    has no RoadSeg.
    """
    import distributed  # sets up its loggers, and RoadSeg reports what matters

    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == distributed.__name__:
            logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        # Fails at once, where Dask would try until its timeout.
        host, _, port = address.partition("://")[2].rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
        # Dask's own configuration says which certificates to use.
        client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except Exception as error:
        # A client that failed closes itself when it is collected. If that happens while the next one starts, both wait
        # for each other.
        traceback.clear_frames(error.__traceback__)
        gc.collect()
        raise JobError(
            f"The Dask scheduler at {address} (scheduler) cannot be reached: {in_words(error)}.",
            "Start it, or correct its address; for tls://, name the certificates in Dask's configuration "
            "(distributed.comm.tls).",
        ) from error
    try:
        client.run_on_scheduler(_PROBE, _NAME)
    except Exception as error:
        client.close(timeout=CLOSE_S)
        raise RuntimeEnvironmentError(
            f"The Dask scheduler at {address} (scheduler) cannot import RoadSeg ({in_words(error)}).",
            "Start it as you start the workers: with the runtime's Python, in RoadSeg's folder.",
        ) from error
    return client


def in_words(error: Optional[BaseException]) -> str:
    """Return the reason of an error, with those of its causes, in one line."""
    texts: list[str] = []
    kind = type(error).__name__
    while error is not None and len(texts) < 4:
        text = " ".join(str(error).split())
        if text and text not in texts:
            texts.append(text)
        error = error.__cause__ or error.__context__
    return "; ".join(texts)[:500] or kind


def prepare_worker(job: str, text: str) -> None:
    """Check this worker of Dask, and do a preparation, which has `leader` and `workers_there` beside.

    The job is the topic of the events that go to its leader.
    """
    from distributed import get_worker

    worker, description = get_worker(), json.loads(text)
    name = f"worker {worker.name}" if str(worker.name).isdecimal() else str(worker.name)
    with _ONE_AT_A_TIME:
        lacks = list(differences(description["leader"], worker.id))
        if not lacks:
            name, lacks = prepare(text, name, _threads(worker.state.nthreads, description["workers_there"]))
        if not lacks:
            _PREPARED.add(job)
    _tell(worker, job, {"number": 0, "name": name, "lacks": lacks, "answer": worker.id})


def do_task(job: str, number: int, text: str) -> None:
    """Do a task in this worker of Dask.

    Raises RuntimeError if this process is not prepared, as after a restart at the same address.
    """
    from distributed import get_worker

    if job not in _PREPARED:
        raise RuntimeError("the worker was started again")
    with _ONE_AT_A_TIME:
        message = answer(text)
    _tell(get_worker(), job, {"number": number, **message})


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
