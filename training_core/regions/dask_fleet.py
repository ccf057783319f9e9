"""Dask workers as a fleet: processes of this machine, or those of a scheduler.

Tasks are submitted a few ahead of the workers, so that the scheduler never has many, and those that join later get
their part. A task whose worker was killed goes to another one; one that has lost three workers has failed. Where the
scheduler goes away, the fleet waits for it to come back, then submits again what was not done.

Dask carries pickles: whoever reaches a scheduler can run code on its workers. So processes of this machine listen on
the loopback interface only, with certificates of their own where the package cryptography is there; a scheduler for
many machines should be one with TLS (`tls://`), or in a network of its own.

Scope: the process that leads the job. Dask is imported when a fleet is made. Independent of what the work is.
"""

from __future__ import annotations

import json
import pkgutil
import queue
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Optional

from .. import events
from ..errors import OutputError, RoadSegError, RuntimeEnvironmentError, WorkerError
from ..events import Reporter
from ..system.placement import places
from .dask_cluster import connect, in_words, own_processes, start_processes
from .fitness import Leader, Needs
from .fleet import Crew, failed, has_module
from .tasks import Outcome, Task

# Tasks submitted for each worker beside the one it is doing.
AHEAD = 4
WORKERS_S, PREPARE_S = 30.0, 300.0
# How long to wait for a scheduler that has gone away, and for workers when all are lost.
LOST_S = 120.0
POLL_S, CENSUS_S, CLOSE_S = 0.2, 2.0, 5.0
# A worker that has RoadSeg loads a model in that time, and says that it fits, or why not.
SILENT_S = 60.0
# A task that was being done each time when so many workers died is what kills them.
MAX_KILLS = 3
# A task that fails for want of room or rights on a worker is tried on another one.
RETRIED_CODES = (OutputError.code,)
MAX_SHOWN = 5
_PROBE = f"{__package__}.dask_worker:PROBE"


class _SchedulerLost(Exception):
    """The connection to the scheduler is gone."""


@dataclass
class _Job:
    """A task on its way.

    Parameters
    ----------
    number : int
        By which workers say that they have begun it.
    kills, unfit, retries : int
        How often a worker died, did not fit, or failed for itself.
    attempts : int
        How often it was submitted.
    avoided : str
        Address of a worker that is not to do it.
    allowed : list of str, optional
        Addresses of those that may; None for all.
    """

    task: Task
    number: int
    kills: int = 0
    unfit: int = 0
    retries: int = 0
    attempts: int = 0
    avoided: str = ""
    allowed: Optional[list[str]] = None


@dataclass
class _Progress:
    """Of one run: what is left, and what is under way."""

    source: Iterator[Task]
    numbers: Iterator[int]
    again: deque[_Job] = field(default_factory=deque)
    under_way: dict[Any, _Job] = field(default_factory=dict)
    is_at_end: bool = False

    def next(self) -> Optional[_Job]:
        """Return what to submit next; None where nothing is left."""
        if self.again:
            return self.again.popleft()
        if self.is_at_end:
            return None
        task = next(self.source, None)
        if task is None:
            self.is_at_end = True
            return None
        return _Job(task, next(self.numbers))


class DaskFleet:
    """Dask workers: processes of this machine, or those of a scheduler.

    Parameters
    ----------
    needs : Needs
        What is checked on each worker before it gets work.
    reporter : Reporter
        Is warned of workers that do not fit.
    scheduler : str
        Address of a scheduler; empty for processes of this machine.
    workers : int
        Number of processes of this machine.
    threads : int
        Of all processes of this machine together; 0 for as many as there are cores.

    Raises
    ------
    JobError
        The scheduler cannot be reached, or does not accept the certificates.
    WorkerError
        There are no workers.
    RuntimeEnvironmentError
        No worker fits, or the scheduler has no RoadSeg.
    RoadSegError
        See `Leader`.
    """

    def __init__(
        self, crew: Crew, needs: Needs, reporter: Reporter, scheduler: str = "", workers: int = 0, threads: int = 0
    ) -> None:
        self.name = scheduler or f"{workers} processes of this machine"
        self.workers = 0
        self.dashboard = ""
        self._crew, self._address, self._reporter = crew, scheduler, reporter
        self._job = f"roadseg-{secrets.token_hex(6)}"
        self._places = [] if scheduler else places(workers, threads)
        self._finished: queue.SimpleQueue = queue.SimpleQueue()
        self._numbers = count(1)
        self._begun: Counter = Counter()
        self._fit: dict[str, str] = {}
        self._unfit: dict[str, list[str]] = {}
        self._told: set[str] = set()
        self._silent_since_s: dict[str, float] = {}
        self._lock = threading.Lock()
        self._alarm = threading.Event()
        self._client: Any = None
        self._cluster: Any = None
        with ExitStack() as stack:
            stack.callback(self._close_cluster)
            self._leader = Leader(needs)
            stack.callback(self._leader.close)
            stack.callback(self._close_client)
            if not scheduler:
                self._cluster = start_processes(self._places, MAX_KILLS, stack)
            self._join()
            self._stack = stack.pop_all()

    def run(self, tasks: Iterable[Task], reporter: Reporter) -> Iterator[Outcome]:
        """See `Fleet.run`."""
        self._reporter = reporter
        progress = _Progress(iter(tasks), self._numbers)
        try:
            while True:
                try:
                    yield from self._run(progress)
                    return
                except _SchedulerLost:
                    reporter.warning(f"The connection to {self.name} is lost; waiting for it for {LOST_S:.0f} s.")
                    self._take_back(progress)
                    if not self._rejoin():
                        break
            yield from _given_up(progress, f"{self.name} is gone.")
        finally:
            self._cancel(progress)
            self._begun.clear()

    def close(self) -> None:
        """See `Fleet.close`."""
        self._stack.close()

    # Joining

    def _join(self) -> None:
        """Connect, and have all workers prepared.

        Raises
        ------
        RoadSegError
            See the class.
        """
        self._client = connect(self._cluster or self._address, self.name)
        self.dashboard = self._client.dashboard_link if self._has_dashboard() else ""
        self._client.subscribe_topic(self._job, self._hear)
        self._check_scheduler()
        self._wait_for_workers()
        self._prepare()

    def _has_dashboard(self) -> bool:
        if self._cluster is not None:
            return has_module("bokeh")
        with suppress(Exception):
            return "dashboard" in self._client.scheduler_info().get("services", {})
        return False

    def _check_scheduler(self) -> None:
        if self._cluster is not None:
            return
        try:
            self._client.run_on_scheduler(pkgutil.resolve_name, _PROBE)
        except Exception as error:
            raise RuntimeEnvironmentError(
                f"The scheduler at {self.name} has no RoadSeg ({in_words(error)}).",
                "Start it with the runtime's Python from RoadSeg's folder, as its workers.",
            ) from error

    def _wait_for_workers(self) -> None:
        until_s = time.monotonic() + WORKERS_S
        while not self._client.nthreads():
            self._reporter.check_cancelled()
            if time.monotonic() > until_s:
                raise WorkerError(
                    f"{self.name} has had no workers for {WORKERS_S:.0f} s.",
                    "Start workers with: dask worker and its address.",
                )
            time.sleep(POLL_S)

    def _prepare(self) -> None:
        """Have the workers check and prepare themselves, and hear what they say."""
        from .dask_worker import FleetPlugin, state_of

        probed = self._client.run(pkgutil.resolve_name, _PROBE, on_error="return")
        for address, found in probed.items():
            if found != _PROBE:
                self._unfit[address] = [f"it has no RoadSeg ({in_words(found)})"]
        with suppress(Exception):  # of workers without RoadSeg; the others have been told all the same
            self._client.register_plugin(
                FleetPlugin(self._job, self._leader.document, _by_name(self._crew), self._places), name=self._job
            )
        began_s = seen_s = time.monotonic()
        while time.monotonic() - began_s < PREPARE_S and time.monotonic() - seen_s < WORKERS_S:
            self._reporter.check_cancelled()
            living = self._client.nthreads()
            unknown = [each for each in living if each not in self._fit and each not in self._unfit]
            if living and not unknown:
                break
            seen_s = time.monotonic() if living else seen_s  # where one died, another is started
            for address, state in self._client.run(state_of, self._job, workers=unknown, on_error="ignore").items():
                if state is not None:
                    self._note(address, state["name"], state["complaints"])
            time.sleep(0.05)
        self._check_answers()
        self._tell()

    def _check_answers(self) -> None:
        """Find out which workers write into another folder of the same name."""
        for address, worker in self._client.run(_id_of_worker, workers=list(self._fit), on_error="ignore").items():
            if not self._leader.has_answer(worker):
                folder = self._leader.document["folder"]
                self._note(address, self._fit[address], [f"what it writes into {folder} is not seen here"])

    def _note(self, address: str, name: str, complaints: list[str]) -> None:
        with self._lock:
            if complaints:
                self._unfit[address] = [f"{name}: {each}" for each in complaints]
                self._fit.pop(address, None)
            else:
                self._unfit.pop(address, None)
                self._fit[address] = name
            self.workers = len(self._fit)

    def _tell(self) -> None:
        """Warn of the workers that do not fit, or raise if none does."""
        lines = [f"{address}, {'; '.join(why)}" for address, why in self._unfit.items()]
        shown = ". ".join(lines[:MAX_SHOWN]) + (f". And {len(lines) - MAX_SHOWN} more" * (len(lines) > MAX_SHOWN))
        if not self._fit:
            raise RuntimeEnvironmentError(
                f"No worker of {self.name} fits this job: {shown or 'none could be prepared'}.",
                "All workers need the same versions, model file and paths as this machine.",
            )
        new = self._unfit.keys() - self._told
        if new:
            self._told |= new
            self._reporter.warning(f"{len(self._unfit)} workers of {self.name} do not fit and get no work: {shown}.")

    def _hear(self, event: tuple[float, Any]) -> None:
        """Take what a worker says, in Dask's own thread."""
        message = event[1]
        if "begun" in message:
            self._begun[message["begun"]] += 1
            if self._begun[message["begun"]] > MAX_KILLS:
                self._alarm.set()
        elif "complaints" in message:
            self._note(message["worker"], message["name"], list(message["complaints"]))

    def _rejoin(self) -> bool:
        """Wait for the scheduler to come back; return whether it did."""
        until_s = time.monotonic() + LOST_S
        while time.monotonic() < until_s:
            self._reporter.check_cancelled()
            self._close_client()
            self._fit.clear()
            self._unfit.clear()
            try:
                self._join()
                return True
            except RoadSegError as error:
                self._reporter.log(str(error))
                time.sleep(1)
        return False

    # Working

    def _run(self, progress: _Progress) -> Iterator[Outcome]:
        seen_s = census_s = time.monotonic()
        while True:
            self._reporter.check_cancelled()
            self._submit(progress)
            if not progress.under_way and self._fit:
                return
            yield from self._outcomes(progress, self._wait())
            now_s = time.monotonic()
            if now_s - census_s > CENSUS_S or self._alarm.is_set():
                self._alarm.clear()
                yield from self._review(progress, self._count_workers())
                census_s = now_s
            if self._fit:
                seen_s = now_s
            elif now_s - seen_s > LOST_S:
                self._take_back(progress)
                yield from _given_up(progress, f"{self.name} has had no worker that fits for {LOST_S:.0f} s.")
                return

    def _submit(self, progress: _Progress) -> None:
        """Submit as many tasks as the workers are to have."""
        jobs: list[_Job] = []
        while len(progress.under_way) + len(jobs) < self.workers * (1 + AHEAD):
            job = progress.next()
            if job is None:
                break
            jobs.append(job)
        plain = [job for job in jobs if not job.avoided]
        self._send(progress, plain, self._allowed(""))
        for job in jobs:
            if job.avoided:
                self._send(progress, [job], self._allowed(job.avoided))

    def _allowed(self, avoided: str) -> Optional[list[str]]:
        """Return the workers to choose from; None for all of them.

        Of a scheduler, workers without RoadSeg may come at any time. They take tasks and never do them.
        """
        with self._lock:
            if self._cluster is not None and not avoided and not self._unfit:
                return None
            return [address for address in self._fit if address != avoided] or list(self._fit) or None

    def _send(self, progress: _Progress, jobs: list[_Job], allowed: Optional[list[str]]) -> None:
        if not jobs:
            return
        from .dask_worker import do_task

        keys = []
        for job in jobs:
            job.attempts += 1
            job.allowed = allowed
            keys.append((f"roadseg-{job.task.work}", f"{self._job}-{job.number}-{job.attempts}"))
        try:
            futures = self._client.map(
                do_task, [self._job] * len(jobs), [_as_json(job) for job in jobs], key=keys, pure=False,
                workers=allowed,
            )  # fmt: skip
        except Exception as error:
            progress.again.extendleft(reversed(jobs))
            raise _SchedulerLost from error
        for job, future in zip(jobs, futures):
            progress.under_way[future] = job
            future.add_done_callback(self._finished.put)

    def _wait(self) -> list[Any]:
        """Return the futures that are done, after waiting for the first of them a moment."""
        futures = []
        with suppress(queue.Empty):
            futures.append(self._finished.get(timeout=POLL_S))
            while True:
                futures.append(self._finished.get_nowait())
        if self._client.status != "running":
            raise _SchedulerLost
        return futures

    def _outcomes(self, progress: _Progress, futures: list[Any]) -> Iterator[Outcome]:
        futures = [future for future in futures if future in progress.under_way]
        done = [future for future in futures if future.status == "finished"]
        try:
            texts = dict(zip(done, self._client.gather(done, errors="raise"))) if done else {}
        except Exception:  # a worker died with its results
            texts = {}
        for future in futures:
            job = progress.under_way.pop(future)
            if future in texts:
                outcome = self._read(job, json.loads(texts[future]))
            elif future.status == "error":
                outcome = self._killed(job, future.exception())
            else:
                outcome = None
            if outcome is None:
                progress.again.appendleft(job)
            else:
                yield outcome

    def _read(self, job: _Job, found: dict[str, Any]) -> Optional[Outcome]:
        """Return what a worker says of a task; None if it is to be tried again."""
        if "unfit" in found:
            job.unfit += 1
            job.avoided = found["unfit"]
            if job.unfit <= MAX_KILLS:
                return None
            return failed(job.task, _worker_error("It came to workers that do not fit, again and again."))
        address, logs = found.pop("address"), found.pop("logs")
        if found["code"] in RETRIED_CODES and not job.retries and len(self._fit) > 1:
            job.retries += 1
            job.avoided = address
            self._reporter.log(f"{found['worker']}: {found['reason']} It is tried on another worker.")
            return None
        for line in logs:
            self._reporter.log(f"{found['worker']}: {line}")
        return Outcome(job.task, **found)

    def _killed(self, job: _Job, error: BaseException) -> Optional[Outcome]:
        """Return the outcome of a task whose worker died; None if it is to be tried again."""
        if type(error).__name__ != "KilledWorker":
            return failed(job.task, _worker_error(f"Dask could not have it done ({in_words(error)})."))
        job.kills += 1
        kills = self._begun[job.number] - job.retries
        if kills < MAX_KILLS and job.kills < MAX_KILLS:
            return None  # it only waited behind another one
        return _killer(job, max(kills, job.kills))

    def _review(self, progress: _Progress, living: set[str]) -> Iterator[Outcome]:
        """Take back tasks that Dask would leave where they are: their workers are gone, or keep dying at them."""
        for future, job in list(progress.under_way.items()):
            is_stuck = job.allowed is not None and living.isdisjoint(job.allowed)
            kills = self._begun[job.number] - 1
            if is_stuck or kills - job.retries >= MAX_KILLS:
                del progress.under_way[future]
                with suppress(Exception):
                    self._client.cancel([future], force=True)
                if is_stuck:
                    progress.again.append(job)
                else:
                    yield _killer(job, kills - job.retries)

    def _count_workers(self) -> set[str]:
        """Forget the workers that are gone, warn of those that have come and do not fit; return the addresses."""
        with self._lock:  # before it is asked: whoever comes meanwhile is not in the answer
            known = [*self._fit, *self._unfit]
        try:
            living = self._client.nthreads()
        except Exception as error:
            raise _SchedulerLost from error
        with self._lock:
            for address in known:
                if address not in living:
                    self._fit.pop(address, None)
                    self._unfit.pop(address, None)
            self.workers = len(self._fit)
            self._note_silent(living)
        if self._cluster is not None:
            with suppress(Exception):  # one that was killed as it began is not started again by Dask itself
                self._cluster.scale(len(self._places))
        if self._fit:
            self._tell()
        return set(living)

    def _note_silent(self, living: Iterable[str]) -> None:
        """Take those that say nothing for long for workers without RoadSeg; asked, some of these never answer."""
        now_s = time.monotonic()
        silent = {*living} - {*self._fit, *self._unfit}
        self._silent_since_s = {address: self._silent_since_s.get(address, now_s) for address in silent}
        for address, since_s in self._silent_since_s.items():
            if now_s - since_s > SILENT_S:
                self._unfit[address] = [f"it has said nothing for {SILENT_S:.0f} s, as one without RoadSeg"]

    def _take_back(self, progress: _Progress) -> None:
        progress.again.extend(progress.under_way.values())
        progress.under_way.clear()

    def _cancel(self, progress: _Progress) -> None:
        if progress.under_way:
            with suppress(Exception):
                self._client.cancel(list(progress.under_way), force=True)
            progress.under_way.clear()

    # The end

    def _close_client(self) -> None:
        client, self._client = self._client, None
        if client is None:
            return
        if self._cluster is None and client.status == "running":
            with suppress(Exception):  # some workers without RoadSeg never answer
                client.sync(client.scheduler.unregister_worker_plugin, name=self._job, callback_timeout=CLOSE_S)
        with suppress(Exception):
            client.close(timeout=CLOSE_S)

    def _close_cluster(self) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is None:
            return
        for nanny in cluster.workers.values():
            nanny.close_gracefully()  # and no other process instead of it
        # What they are at is not waited for: what is whole is in the store.
        for process in own_processes():
            process.kill()
        with suppress(Exception):
            cluster.close(timeout=CLOSE_S)
        for process in own_processes():  # such as were being started meanwhile
            process.kill()
            process.join(CLOSE_S)


def _id_of_worker(dask_worker: Any) -> str:
    return dask_worker.id


def _by_name(crew: Crew) -> dict[str, Any]:
    names = {
        name: f"{function.__module__}:{function.__qualname__}" if function else ""
        for name, function in (("perform", crew.perform), ("prepare", crew.prepare))
    }
    return {**names, "document": crew.document}


def _as_json(job: _Job) -> str:
    task = job.task
    return json.dumps({"key": task.key, "number": job.number, "work": task.work, "document": task.document})


def _given_up(progress: _Progress, why: str) -> Iterator[Outcome]:
    """Yield a failure for each task that is left."""
    while (job := progress.next()) is not None:
        yield failed(job.task, _worker_error(why))


def _killer(job: _Job, kills: int) -> Outcome:
    return failed(job.task, _worker_error(f"{kills} workers have died at it."))


def _worker_error(why: str) -> events.Error:
    return events.Error(WorkerError.code, why, "The same job run again does what is missing.")
