"""Several processes as one job: starts the ranks, passes on their events, and finds out which one failed, and why.

The starting process computes nothing. It hears from every rank through a pipe, and what rank 0 reports is what the job
reports. A pipe that closes is a rank that has died; one that stays silent, a rank that hangs.

Scope: processes. Independent of the job.
"""

from __future__ import annotations

import os
import platform
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Optional

import psutil
from torch import multiprocessing

from .. import events
from ..errors import ResourceError, RoadSegError, WorkerError
from ..events import Reporter
from ..system import shutdown
from ..system.memory import kills_for_memory
from ..system.placement import Place
from .group import LostRankError, RankError
from .rank_process import CANCEL, Target, log_path, run_rank

POLL_S = 0.2
# A rank that sends nothing for this long hangs; sooner, if the system reports it as stopped. Some libraries do not let
# Python's threads run for seconds.
SILENCE_S, SILENCE_STOPPED_S = 60.0, 5.0
# How long the others may take to end after one has failed: rank 0 writes a checkpoint meanwhile.
GRACE_S = 8.0
# As the system does when memory runs out.
KILLED = -getattr(signal, "SIGKILL", 9)
LAST_LINES = 30


@dataclass
class _Rank:
    """A rank as the starting process sees it."""

    number: int
    process: Any
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
        for line in _last_output(Path(folder), first.number):
            reporter.log(line)
        raise _error_of(first, len(ranks), kills_for_memory() != kills)


@contextmanager
def _started(target: Target, text: str, places: list[Place], folder: str) -> Iterator[list[_Rank]]:
    """Provide the processes of all ranks, none of which outlives this context."""
    context = multiprocessing.get_context("spawn")
    pairs = [context.Pipe() for _ in places]
    ends = [end for _, end in pairs]
    former = os.environ["OMP_NUM_THREADS"]
    os.environ["OMP_NUM_THREADS"] = str(places[0].threads)  # which PyTorch reads when it is loaded
    try:
        processes = multiprocessing.start_processes(
            run_rank, (folder, ends, places, target, text), len(places), join=False, start_method="spawn"
        ).processes
    finally:
        os.environ["OMP_NUM_THREADS"] = former
    ranks = [_Rank(number, process, pipe) for number, (process, (pipe, _)) in enumerate(zip(processes, pairs))]

    def kill() -> None:
        for rank in ranks:
            rank.process.kill()

    shutdown.add_cleanup(kill)
    try:
        for end in ends:
            end.close()
        yield ranks
    finally:
        kill()
        for rank in ranks:
            rank.process.join()
            rank.pipe.close()
        shutdown.remove_cleanup(kill)


def _watch(ranks: list[_Rank], reporter: Reporter) -> None:
    """Pass on the events of rank 0 until all ranks have ended; after a result or a failure they have little time to."""
    is_told, left_s = False, GRACE_S
    with shutdown.critical_section():  # a stopped job may write a checkpoint
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
                        rank.pipe.send_bytes(CANCEL)
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
        if rank.is_open and rank.silent_s > (SILENCE_STOPPED_S if _is_stopped(rank.process.pid) else SILENCE_S):
            rank.has_hung = True
            rank.process.kill()


def _is_stopped(process: int) -> bool:
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
    resume = "The same job with resume continues from its checkpoint."
    if rank.has_hung:
        return WorkerError(f"{name} has not answered for {rank.silent_s:.0f} s, and was killed.", resume)
    if isinstance(rank.last, events.Error) and rank.last.code != LostRankError.code:
        message = rank.last.message if rank.number == 0 else f"{name}: {rank.last.message}"
        return RankError(rank.last.code, message, rank.last.remedy)
    code = rank.process.exitcode
    if code == KILLED and is_memory_short:
        return ResourceError(
            f"{name} was killed by the system, since memory ran out.",
            f"Use fewer processes (processes), or smaller batches (batch_size) or chips (chip_px). {resume}",
        )
    if code is not None and code < 0:
        return WorkerError(f"{name} was killed by {signal.Signals(-code).name}.", resume)
    return WorkerError(f"{name} ended unexpectedly, with status {code}.", f"The log has its last words. {resume}")


def _last_output(folder: Path, rank: int) -> list[str]:
    """Return the last lines that a rank's libraries have written."""
    with suppress(OSError):
        lines = log_path(folder, rank).read_text("utf-8", "replace").splitlines()
        return [f"Rank {rank}: {line}" for line in lines[-LAST_LINES:] if line.strip()]
    return []
