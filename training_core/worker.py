"""Runs one job in this process and tells of it as events.

Knows signals, pipes and how failures become messages for a person; knows nothing of what a job does. The module that
does a job bears the job's name and has a function `run(job, reporter) -> dict`.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import IO, Any, NoReturn

from . import events
from .errors import Cancelled, RoadSegError
from .events import Event, Reporter
from .jobs import Job, with_model_paths
from .system import limits, shutdown
from .system.outputs import NO_ROOM

HEARTBEAT_S = 2.0
# How long a job may take to end once its client has closed the pipe: to come to its next tile or step, to finish what
# must not be cut off, or, where it keeps the best of what it has done, to write that.
PATIENCE_S, GRACE_S, FINISH_S = 2.0, 20.0, 620.0
EXIT_FAILED, EXIT_CANCELLED = 1, 130


def execute(job: Job, reporter: Reporter) -> dict[str, Any]:
    """Do the job and return its result: paths and numbers under plain names."""
    job.validate()
    job = with_model_paths(job)
    limits.check()
    from .system.processor import prepare_process

    prepare_process(getattr(job, "threads", 0))
    module = importlib.import_module(f".pipelines.{job.name}", __package__)
    return module.run(job, reporter)


def run(job: Job, sink: Callable[[Event], None], cancelled: threading.Event) -> int:
    """Do the job, tell of it to `sink`, ending in a result or an error, and return the process's exit status."""
    stopped = threading.Event()
    heart = threading.Thread(target=_beat, args=(sink, stopped), daemon=True)
    heart.start()
    reporter = Reporter(sink, cancelled.is_set)
    try:
        last: Event = events.Result(execute(job, reporter))
        status = 0
    except BaseException as error:  # whatever it is, a person must read it
        last = explain(error, reporter)
        status = EXIT_CANCELLED if last.code == Cancelled.code else EXIT_FAILED
    stopped.set()
    heart.join()  # so that nothing follows the last event
    sink(last)
    return status


def explain(error: BaseException, reporter: Reporter) -> events.Error:
    """Return the event that tells a person of an error; the traceback of an unforeseen one goes to the log."""
    if isinstance(error, KeyboardInterrupt):
        error = Cancelled()
    if isinstance(error, RoadSegError):
        return events.Error(error.code, error.message, error.remedy)
    reporter.log("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    if isinstance(error, MemoryError) or "not enough memory" in str(error) or "can't allocate memory" in str(error):
        return events.Error(
            "resources", "There is too little memory for this.", "Lower the tile size, chip size or batch size."
        )
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return events.Error("output", "The disk is full.", "Make room, or choose another folder for the outputs.")
    return events.Error(
        "unexpected",
        f"Something went wrong that RoadSeg did not foresee: {type(error).__name__}: {error}",
        "The log has the details; please report them with it.",
    )


def run_for_client(job: Job) -> NoReturn:
    """Do the job for a client: events on the standard output alone, cancelled when the standard input closes."""
    cancelled = threading.Event()
    sink = line_sink(claim_stdout())
    if hasattr(os, "setpgid") and os.getpid() != os.getsid(0):
        os.setpgid(0, 0)  # so that the client can end this process and its children together
    listen_to_signals(cancelled)
    patience_s = FINISH_S if getattr(job, "keep_best", False) else PATIENCE_S
    threading.Thread(target=_watch_stdin, args=(cancelled, sink, patience_s), daemon=True).start()
    status = run(job, sink, cancelled)
    sys.stderr.flush()
    os._exit(status)  # without the seconds in which libraries take down what goes with the process anyway


def claim_stdout() -> IO[str]:
    """Return the real standard output for events, and send every other print of this process to standard error.

    What UTF-8 does not hold, half of a file name that is in no encoding, goes as the escape that JSON has for it.
    """
    sys.stdout.flush()
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace", newline="\n")
    os.dup2(2, 1)
    return stream


def line_sink(stream: IO[str]) -> Callable[[Event], None]:
    """Return a function that writes each event as one line, from any thread; a reader that has gone is no error."""
    lock = threading.Lock()

    def write(event: Event) -> None:
        with lock:
            try:
                stream.write(events.encode(event) + "\n")
                stream.flush()
            except (BrokenPipeError, ValueError):
                os.dup2(2, stream.fileno())

    return write


def listen_to_signals(cancelled: threading.Event) -> None:
    """Let an interrupt or a polite request to end stop the job at its next tile or step."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: cancelled.set())


def _watch_stdin(cancelled: threading.Event, sink: Callable[[Event], None], patience_s: float) -> None:
    """Cancel when the client closes its end, or dies; end the process where the job does not heed that soon."""
    with contextlib.suppress(OSError):  # there is no standard input
        while os.read(0, 4096):
            pass
    cancelled.set()
    threading.Event().wait(patience_s)
    shutdown.clean_up(GRACE_S)
    sink(explain(Cancelled(), Reporter()))
    os._exit(EXIT_CANCELLED)


def _beat(sink: Callable[[Event], None], stopped: threading.Event) -> None:
    while not stopped.wait(HEARTBEAT_S):
        sink(events.Heartbeat())
