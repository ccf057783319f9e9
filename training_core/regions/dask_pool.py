"""The Dask workers of a job: processes of this machine or those of a scheduler, and which of them fit.

Scope: starting, reaching and checking workers. Independent of tasks. Dask is imported when it is needed.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import multiprocessing.process
import pkgutil
import secrets
import socket
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from typing import Any, Optional

from ..errors import JobError, RoadSegError, RuntimeEnvironmentError, WorkerError
from ..events import Reporter
from ..system.placement import Place, places
from .executors import Handlers, Leader, Needs, has_module

CONNECT_S, WORKERS_S, PREPARE_S, CLOSE_S = 15.0, 30.0, 300.0, 5.0
# How long to wait for a scheduler that has gone away, and for workers after the last one is lost.
LOST_S = 120.0
# Within this time, a worker with RoadSeg loads a model and reports whether it fits.
SILENT_S = 60.0
# A task during which this number of workers died is what kills them.
MAX_KILLS = 3
MAX_SHOWN = 5
_LOOPBACK = "127.0.0.1"
# Dask gives this name to the processes that it starts.
_NAME_OF_PROCESSES = "Dask Worker"
_PROBE = f"{__package__}.dask_worker:PROBE"


class SchedulerLost(Exception):
    """The connection to the scheduler is gone."""


class WorkerPool:
    """Workers that have been checked and prepared, also those that join later.

    `begun` is called in Dask's own thread with the number of each task that a worker begins. `job` is the id of the
    run. `fit` has the names by address of the workers that fit.

    Raises
    ------
    JobError, WorkerError, RuntimeEnvironmentError
        See `dask_executor.DaskExecutor`.
    RoadSegError
        See `Leader`.
    """

    def __init__(
        self, handlers: Handlers, needs: Needs, reporter: Reporter, begun: Callable[[int], None],
        scheduler: str, workers: int, threads: int,
    ) -> None:  # fmt: skip
        self.name = scheduler or f"{workers} processes of this machine"
        self.job = f"roadseg-{secrets.token_hex(6)}"
        self.reporter = reporter
        self.client: Any = None
        self.fit: dict[str, str] = {}
        self._unfit: dict[str, list[str]] = {}
        self._warned_of: set[str] = set()
        self._silent_since_s: dict[str, float] = {}
        self._lock = threading.Lock()
        self._handlers, self._begun, self._address = handlers, begun, scheduler
        self._places = [] if scheduler else places(workers, threads)
        self._cluster: Any = None
        with ExitStack() as stack:
            stack.callback(self._close_cluster)
            self._leader = Leader(needs)
            stack.callback(self._leader.close)
            stack.callback(self._close_client)
            if not scheduler:
                self._cluster = start_processes(self._places, stack)
            self._join()
            self._stack = stack.pop_all()

    @property
    def dashboard(self) -> str:
        """Address of Dask's page about the work; may be empty."""
        has_page = self._cluster is not None and has_module("bokeh")
        if self._cluster is None:
            with suppress(Exception):
                has_page = "dashboard" in self.client.scheduler_info().get("services", {})
        return self.client.dashboard_link if has_page else ""

    def close(self) -> None:
        """End the processes of this machine, and leave those of a scheduler."""
        self._stack.close()

    def allowed(self, avoided: str = "") -> Optional[list[str]]:
        """Return the workers that may get a task, without an avoided one if there are others; None for all.

        Of a scheduler, workers without RoadSeg may join at any time. They would take tasks and never do them.
        """
        with self._lock:
            if self._cluster is not None and not avoided and not self._unfit:
                return None
            return [address for address in self.fit if address != avoided] or list(self.fit) or None

    def rejoin(self) -> bool:
        """Wait for the scheduler to come back; return whether it did."""
        until_s = time.monotonic() + LOST_S
        while time.monotonic() < until_s:
            self.reporter.check_cancelled()
            self._close_client()
            self.fit.clear()
            self._unfit.clear()
            try:
                self._join()
                return True
            except RoadSegError as error:
                self.reporter.log(str(error))
                time.sleep(1)
        return False

    def count_workers(self) -> set[str]:
        """Forget the workers that are gone, warn of new ones that do not fit, and return all living addresses.

        Raises
        ------
        SchedulerLost
            The scheduler does not answer.
        """
        with self._lock:  # before the question: the answer lacks those that come meanwhile
            known = [*self.fit, *self._unfit]
        try:
            living = self.client.nthreads()
        except Exception as error:
            raise SchedulerLost from error
        with self._lock:
            for address in known:
                if address not in living:
                    self.fit.pop(address, None)
                    self._unfit.pop(address, None)
            self._note_silent(living)
        if self._cluster is not None:
            with suppress(Exception):  # Dask does not restart a process that was killed as it began
                self._cluster.scale(len(self._places))
        if self.fit:
            self._warn_of_unfit()
        return set(living)

    def _join(self) -> None:
        """Connect, and have all workers prepared; raises as the class does."""
        self.client = connect(self._cluster or self._address, self.name)
        self.client.subscribe_topic(self.job, self._hear)
        if self._cluster is None:
            self._check_scheduler()
        self._wait_for_workers()
        self._prepare()

    def _check_scheduler(self) -> None:
        try:
            self.client.run_on_scheduler(pkgutil.resolve_name, _PROBE)
        except Exception as error:
            raise RuntimeEnvironmentError(
                f"The scheduler at {self.name} has no RoadSeg ({in_words(error)}).",
                "Start it with the runtime's Python from RoadSeg's folder, as its workers.",
            ) from error

    def _wait_for_workers(self) -> None:
        until_s = time.monotonic() + WORKERS_S
        while not self.client.nthreads():
            self.reporter.check_cancelled()
            if time.monotonic() > until_s:
                raise WorkerError(
                    f"{self.name} has had no workers for {WORKERS_S:.0f} s.",
                    "Start workers with: dask worker and its address.",
                )
            time.sleep(0.2)

    def _prepare(self) -> None:
        """Have the workers check and prepare themselves, and wait for their reports."""
        from .dask_worker import WorkerSetup, state_of

        probed = self.client.run(pkgutil.resolve_name, _PROBE, on_error="return")
        for address, answer in probed.items():
            if answer != _PROBE:
                self._unfit[address] = [f"it has no RoadSeg ({in_words(answer)})"]
        handlers = {
            "perform": _import_name(self._handlers.perform),
            "prepare": _import_name(self._handlers.prepare),
            "document": self._handlers.document,
        }
        with suppress(Exception):  # of workers without RoadSeg; the plugin still reaches the others
            setup = WorkerSetup(self.job, self._leader.document, handlers, self._places)
            self.client.register_plugin(setup, name=self.job)
        began_s = seen_s = time.monotonic()
        while time.monotonic() - began_s < PREPARE_S and time.monotonic() - seen_s < WORKERS_S:
            self.reporter.check_cancelled()
            living = self.client.nthreads()
            unknown = [address for address in living if address not in self.fit and address not in self._unfit]
            if living and not unknown:
                break
            seen_s = time.monotonic() if living else seen_s  # where one died, another is started
            for address, state in self.client.run(state_of, self.job, workers=unknown, on_error="ignore").items():
                if state is not None:
                    self._note(address, state["name"], state["complaints"])
            time.sleep(0.05)
        self._check_answers()
        self._warn_of_unfit()

    def _check_answers(self) -> None:
        """Find the workers that write into another folder of the same name."""
        for address, worker in self.client.run(_id_of_worker, workers=list(self.fit), on_error="ignore").items():
            if not self._leader.has_answer(worker):
                folder = self._leader.document["folder"]
                self._note(address, self.fit[address], [f"what it writes into {folder} is not seen here"])

    def _note(self, address: str, name: str, complaints: list[str]) -> None:
        with self._lock:
            if complaints:
                self._unfit[address] = [f"{name}: {complaint}" for complaint in complaints]
                self.fit.pop(address, None)
            else:
                self._unfit.pop(address, None)
                self.fit[address] = name

    def _note_silent(self, living: Iterable[str]) -> None:
        """Take workers that are silent for long for some without RoadSeg; of these, some never answer a question."""
        now_s = time.monotonic()
        silent = {*living} - {*self.fit, *self._unfit}
        self._silent_since_s = {address: self._silent_since_s.get(address, now_s) for address in silent}
        for address, since_s in self._silent_since_s.items():
            if now_s - since_s > SILENT_S:
                self._unfit[address] = [f"it has been silent for {SILENT_S:.0f} s, as one without RoadSeg"]

    def _warn_of_unfit(self) -> None:
        """Warn of the workers that do not fit, or raise if none does."""
        lines = [f"{address}, {'; '.join(why)}" for address, why in self._unfit.items()]
        shown = ". ".join(lines[:MAX_SHOWN]) + (f". And {len(lines) - MAX_SHOWN} more" * (len(lines) > MAX_SHOWN))
        if not self.fit:
            raise RuntimeEnvironmentError(
                f"No worker of {self.name} fits this job: {shown or 'none could be prepared'}.",
                "All workers need the same versions, model file and paths as this machine.",
            )
        new = self._unfit.keys() - self._warned_of
        if new:
            self._warned_of |= new
            self.reporter.warning(f"{len(self._unfit)} workers of {self.name} do not fit and get no work: {shown}.")

    def _hear(self, event: tuple[float, Any]) -> None:
        """Take a worker's message, in Dask's own thread."""
        message = event[1]
        if "begun" in message:
            self._begun(message["begun"])
        elif "complaints" in message:
            self._note(message["worker"], message["name"], list(message["complaints"]))

    def _close_client(self) -> None:
        client, self.client = self.client, None
        if client is None:
            return
        if self._cluster is None and client.status == "running":
            with suppress(Exception):  # some workers without RoadSeg never answer
                client.sync(client.scheduler.unregister_worker_plugin, name=self.job, callback_timeout=CLOSE_S)
        with suppress(Exception):
            client.close(timeout=CLOSE_S)

    def _close_cluster(self) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is None:
            return
        for nanny in cluster.workers.values():
            nanny.close_gracefully()  # so that it starts no other process
        # Their current tasks need not end: results that are whole are in the store.
        for process in own_processes():
            process.kill()
        with suppress(Exception):
            cluster.close(timeout=CLOSE_S)
        for process in own_processes():  # those that were started meanwhile
            process.kill()
            process.join(CLOSE_S)


def _id_of_worker(dask_worker: Any) -> str:
    return dask_worker.id


def _import_name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__qualname__}"


def start_processes(own_places: list[Place], stack: ExitStack) -> Any:
    """Start a worker at each place, and return their cluster, which only this machine reaches.

    The stack removes the processes' temporary folder.

    Raises
    ------
    WorkerError
        They do not start.
    """
    import dask
    from distributed import LocalCluster, Security

    _silence()
    scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="roadseg_", ignore_cleanup_errors=True))
    threads = str(own_places[0].threads)
    variables = {name: threads for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    settings = {
        "distributed.scheduler.allowed-failures": MAX_KILLS - 1,
        "distributed.nanny.pre-spawn-environ": variables,
    }
    with dask.config.set(settings):
        for attempt in range(MAX_KILLS):
            try:
                return LocalCluster(
                    n_workers=len(own_places), threads_per_worker=1, host=_LOOPBACK, local_directory=scratch,
                    memory_limit=0, dashboard_address=f"{_LOOPBACK}:0", silence_logs=logging.CRITICAL,
                    security=Security.temporary() if has_module("cryptography") else Security(require_encryption=False),
                )  # fmt: skip
            except Exception as error:  # one was killed as it began
                for process in own_processes():
                    process.kill()
                if attempt == MAX_KILLS - 1:
                    raise WorkerError(
                        f"The processes of this machine do not start ({in_words(error)}).",
                        "Use one (workers), or make room in its memory.",
                    ) from error
    raise AssertionError


def own_processes() -> list[multiprocessing.process.BaseProcess]:
    """Return the worker processes that this process has started."""
    return [child for child in multiprocessing.active_children() if child.name.startswith(_NAME_OF_PROCESSES)]


def connect(target: Any, name: str) -> Any:
    """Return a client of a scheduler, by its address, or of a `distributed.LocalCluster`.

    Raises
    ------
    JobError
        It cannot be reached, or does not accept the certificates.
    """
    from distributed import Client

    _silence()
    try:
        if isinstance(target, str):  # fails at once, where Dask would try until its timeout
            host, _, port = target.partition("://")[2].rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
        # Dask's own configuration says which certificates to use.
        return Client(target, timeout=CONNECT_S, set_as_default=False)
    except Exception as error:
        # A client that failed closes itself when it is collected. If that happens while the next one starts, both wait
        # for each other.
        traceback.clear_frames(error.__traceback__)
        gc.collect()
        raise JobError(
            f"The Dask scheduler at {name} (scheduler) cannot be reached: {in_words(error)}.",
            "Start it, or correct its address; for tls://, name the certificates in Dask's configuration "
            "(distributed.comm.tls).",
        ) from error


def _silence() -> None:
    """Keep Dask's log from the terminal; RoadSeg reports what matters."""
    import distributed  # sets up its loggers

    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == distributed.__name__:
            logging.getLogger(name).setLevel(logging.CRITICAL)


def in_words(error: BaseException) -> str:
    """Return the reason of an error, with those of its causes, in one line."""
    texts: list[str] = []
    cause: Optional[BaseException] = error
    while cause is not None and len(texts) < 4:
        text = " ".join(str(cause).split())
        if text and text not in texts:
            texts.append(text)
        cause = cause.__cause__ or cause.__context__
    return "; ".join(texts)[:500] or type(error).__name__
