"""Several processes as one job: starts the ranks, passes on their events, and finds out which one failed, and why.

The starting process computes nothing. It hears from every rank through a pipe, and what rank 0 reports is what the job
reports. A pipe that closes is a rank that has died; one that stays silent, a rank that hangs. A rank sends events as
JSON, one a message, and takes any message for the command to stop.

Scope: processes. Independent of the job.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Optional

import psutil

from .. import events
from ..errors import LostRankError, RankError, ResourceError, RoadSegError, WorkerError
from ..events import Reporter
from ..system import work
from ..system.machine import Place, listen, start_process
from ..system.memory import kills_for_memory

# Does a rank's part of a job. Takes the job's text, the sink of its events, whether it is cancelled, and what joins the
# group; sends a result or an error as its last event.
Target = Callable[[str, Callable[[events.Event], None], Callable[[], bool], Any], None]
POLL_S, HEARTBEAT_S = 0.2, 1.0
# A rank that sends nothing for this long hangs; sooner, if the system reports it as stopped. Some libraries do not let
# Python's threads run for seconds.
SILENCE_S, SILENCE_STOPPED_S = 60.0, 5.0
# How long the others may take to end after one has failed: rank 0 writes a checkpoint meanwhile.
GRACE_S = 8.0
# As the system does when memory runs out.
KILLED = -getattr(signal, "SIGKILL", 9)
LAST_LINES = 30
RESUME = "The same job with resume continues from its checkpoint."


@dataclass
class _Rank:
    """A rank as the starting process sees it."""

    number: int
    process: BaseProcess
    pipe: Connection
    silent_s: float = 0.0
    is_open: bool = True
    has_hung: bool = False
    last: Optional[events.Event] = None
    logs: list[events.Log] = field(default_factory=list)

    @property
    def has_failed(self) -> bool:
        """Whether it sent an error, died without a word, or was killed since it hung."""
        return self.has_hung or isinstance(self.last, events.Error) or (not self.is_open and self.last is None)


def launch(target: Target, text: str, places: list[Place], reporter: Reporter) -> dict[str, Any]:
    """Run a function of a module with several processes, and return its result.

    Raises RankError if a rank raised an error; the message has its number unless it is rank 0. Raises WorkerError if a
    rank was killed, died or hung.
    """
    kills = kills_for_memory()
    scratch = tempfile.TemporaryDirectory(prefix="roadseg_", ignore_cleanup_errors=True)
    with scratch as folder, _started(target, text, places, folder) as ranks:
        _watch(ranks, reporter)
        if isinstance(ranks[0].last, events.Result):
            return ranks[0].last.result
        first = _first_failure(ranks)
        for event in first.logs:
            reporter.pass_on(event)
        with suppress(OSError):  # the last lines that its libraries have written
            for line in _log_path(folder, first.number).read_text("utf-8", "replace").splitlines()[-LAST_LINES:]:
                if line.strip():
                    reporter.log(f"Rank {first.number}: {line}")
        raise _error_of(first, len(ranks), kills_for_memory() != kills)


@contextmanager
def _started(target: Target, text: str, places: list[Place], folder: str) -> Iterator[list[_Rank]]:
    """Provide the processes of all ranks, none of which outlives this context."""
    ranks: list[_Rank] = []

    def kill() -> None:
        for rank in ranks:
            rank.process.kill()

    work.add_cleanup(kill)
    try:
        for number, place in enumerate(places):
            ranks.append(_Rank(number, *start_process(place, _do_part, number, len(places), folder, target, text)))
        yield ranks
    finally:
        kill()
        for rank in ranks:
            rank.process.join()
            rank.pipe.close()
        work.remove_cleanup(kill)


def _watch(ranks: list[_Rank], reporter: Reporter) -> None:
    """Pass on the events of rank 0 until all ranks have ended; after a result or a failure they have little time to."""
    is_told, left_s = False, GRACE_S
    with work.critical_section():  # a stopped job may write a checkpoint
        while any(rank.is_open for rank in ranks) and left_s > 0:
            began_s = time.monotonic()
            _hear(ranks, reporter)
            # The clock jumps while the machine sleeps: that is no rank's silence.
            elapsed_s = min(time.monotonic() - began_s, 2 * POLL_S)
            _kill_hung(ranks, elapsed_s)
            if reporter.is_cancelled and not is_told:
                is_told = True
                for rank in ranks:
                    with suppress(OSError):
                        rank.pipe.send_bytes(b"cancel")
            if ranks[0].last is not None or any(rank.has_failed for rank in ranks):
                left_s -= elapsed_s
    for rank in ranks:
        if not rank.is_open:
            rank.process.join(GRACE_S)  # so that its exit status is known


def _hear(ranks: list[_Rank], reporter: Reporter) -> None:
    """Take the events that the ranks have sent, waiting for them a moment."""
    ready = wait([rank.pipe for rank in ranks if rank.is_open], POLL_S)
    for rank in (rank for rank in ranks if rank.pipe in ready):
        try:
            event = events.decode(rank.pipe.recv_bytes().decode("utf-8", "surrogatepass"))
        except (EOFError, OSError):
            rank.is_open = False
            continue
        rank.silent_s = 0.0
        if isinstance(event, (events.Result, events.Error)):
            rank.last = event
        elif rank.number > 0 and isinstance(event, events.Log):
            rank.logs.append(event)
        elif rank.number == 0 and event is not None and not isinstance(event, events.Heartbeat):
            reporter.pass_on(event)


def _kill_hung(ranks: list[_Rank], elapsed_s: float) -> None:
    """Kill ranks that have been silent for long, so that the others no longer wait for them."""
    for rank in ranks:
        rank.silent_s += elapsed_s
        is_late = rank.is_open and rank.silent_s > SILENCE_STOPPED_S
        if is_late and (rank.silent_s > SILENCE_S or _is_stopped(rank.process.pid)):
            rank.has_hung = True
            rank.process.kill()


def _is_stopped(process: Optional[int]) -> bool:
    try:
        return psutil.Process(process).status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False


def _first_failure(ranks: list[_Rank]) -> _Rank:
    """Return the rank that failed by itself: the others then lose it, and fail, too."""
    failed = [rank for rank in ranks if rank.has_failed] or ranks

    def place(rank: _Rank) -> int:
        if rank.has_hung or (rank.process.exitcode or 0) < 0:
            return 0
        if isinstance(rank.last, events.Error):
            return 3 if rank.last.code == LostRankError.code else 1
        return 2

    return min(failed, key=place)


def _error_of(rank: _Rank, size: int, is_memory_short: bool) -> RoadSegError:
    """Return the error to raise for a rank that failed: which one, on which machine, and why."""
    name = f"Process {rank.process.pid} (rank {rank.number} of {size} on {platform.node()})"
    if rank.has_hung:
        return WorkerError(f"{name} has not answered for {rank.silent_s:.0f} s, and was killed.", RESUME)
    if isinstance(rank.last, events.Error) and rank.last.code != LostRankError.code:
        message = rank.last.message if rank.number == 0 else f"{name}: {rank.last.message}"
        return RankError(rank.last.code, message, rank.last.remedy)
    code = rank.process.exitcode
    if code == KILLED and is_memory_short:
        return ResourceError(
            f"{name} was killed by the system, because memory ran out.",
            f"Use fewer processes (processes), or smaller batches (batch_size) or chips (chip_px). {RESUME}",
        )
    if code is not None and code < 0:
        return WorkerError(f"{name} was killed by {signal.Signals(-code).name}.", RESUME)
    return WorkerError(f"{name} ended unexpectedly, with status {code}.", f"The log has its last output. {RESUME}")


def _log_path(folder: str, rank: int) -> Path:
    return Path(folder, f"rank_{rank}.log")


def _do_part(pipe: Connection, rank: int, size: int, folder: str, target: Target, text: str) -> None:
    """Do a rank's part of a job in this process, which ends then; the ranks meet and write logs in the folder."""
    # The output of libraries goes to a file: that of several processes would be in disorder.
    log = os.open(_log_path(folder, rank), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    cancelled, lock = threading.Event(), threading.Lock()

    def send(event: events.Event) -> None:
        with lock:
            pipe.send_bytes(events.encode(event).encode("utf-8", "surrogatepass"))

    def beat() -> None:
        with suppress(OSError):
            while True:
                time.sleep(HEARTBEAT_S)
                send(events.Heartbeat())

    def join() -> Any:
        from .group import join_here  # loads PyTorch

        return join_here(folder, rank, size)

    listen(pipe, lambda _: cancelled.set())
    threading.Thread(target=beat, daemon=True).start()
    target(text, send, cancelled.is_set, join)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # skips the libraries' teardown, which takes seconds
