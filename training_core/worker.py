"""Worker: runs one job in this process and reports it as events.

Scope: signals, pipes, heartbeats, exceptions as error messages. Independent of what a job does: `pipelines.<job name>`
has a function `run(job, reporter) -> dict`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import IO, Any, NoReturn, Optional

from . import events
from .errors import Cancelled
from .events import Event, Reporter, explain
from .jobs import FineTune, Job, ProcessOptions, with_model_paths
from .system import environment, work
from .system.input_lines import InputLines, chunks_of
from .system.packages import require

HEARTBEAT_S = 2.0
# Time limits after the client has closed the pipe: for the next tile or step, for uninterruptible sections, and, if the
# job keeps the best model so far, for writing it.
PATIENCE_S, GRACE_S, FINISH_S = 2.0, 20.0, 620.0
# The same for the first of a job that takes commands, which has its state to write.
COMMANDED_PATIENCE_S = 10.0
EXIT_FAILED, EXIT_PARTIAL, EXIT_CANCELLED = 1, 3, 130


def execute(job: Job, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result: paths and numbers by name."""
    job.validate()
    if isinstance(job, FineTune):
        job, told = job.completed()
        for change in told:
            reporter.log(change)
    job = with_model_paths(job)
    environment.check()
    require(job.packages())
    if environment.is_rank() or (isinstance(job, ProcessOptions) and job.processes != "1"):
        from .distributed.job import execute_on_ranks

        return execute_on_ranks(job, reporter)
    from .system.processor import prepare_process

    prepare_process(getattr(job, "threads", 0))
    return _load(job.name).run(job, reporter)


def _load(name: str) -> ModuleType:
    """Import a job's pipeline without garbage collection, which takes a sixth of the time and frees nothing."""
    gc.disable()
    try:
        return importlib.import_module(f".pipelines.{name}", __package__)
    finally:
        gc.freeze()
        gc.enable()


def run(job: Job, sink: Callable[[Event], None], cancelled: threading.Event, lines: Optional[InputLines] = None) -> int:
    """Run the job with heartbeats; its last event is a result or an error.

    The sink is called with each event, from two threads. Set `cancelled` to stop the job at its next tile or step.
    `lines` are commands, for a job that takes them. Return the exit status: 0, EXIT_PARTIAL if the result is `partial`,
    EXIT_FAILED or EXIT_CANCELLED.
    """
    stopped = threading.Event()
    heart = threading.Thread(target=_beat, args=(sink, stopped), daemon=True)
    heart.start()
    reporter = Reporter(sink, cancelled.is_set, lines)
    try:
        result = execute(job, reporter)
        last: Event = events.Result(result)
        status = EXIT_PARTIAL if result.get("partial") else 0
    except BaseException as error:  # any exception must reach the user as an event
        # An error during the shutdown is a consequence of stopping.
        last = explain(Cancelled() if work.is_ending() else error, reporter)
        status = EXIT_CANCELLED if last.code == Cancelled.code else EXIT_FAILED
    stopped.set()
    heart.join()  # so that nothing follows the last event
    sink(last)
    return status


def run_for_client(job: Job) -> NoReturn:
    """Run the job for a client: only events on standard output; standard input carries commands, its end cancels."""
    cancelled = threading.Event()
    sink = EventWriter(claim_stdout(), cancelled)
    if sys.platform != "win32" and os.getpid() != os.getsid(0):
        os.setpgid(0, 0)  # so that the client can end this process and its children together
    listen_to_signals(cancelled)
    lines = InputLines() if job.takes_commands else None
    threading.Thread(target=_watch_stdin, args=(job, cancelled, sink, lines), daemon=True).start()
    status = run(job, sink, cancelled, lines)
    with contextlib.suppress(OSError, AttributeError):  # it is full, or closed
        sys.stderr.flush()
    os._exit(EXIT_FAILED if sink.is_broken else status)  # skips the libraries' teardown, which takes seconds


def claim_stdout() -> IO[str]:
    """Return a stream to the real standard output for events, and redirect all other output to standard error.

    Undecodable bytes of file names (surrogates) are written as JSON escapes. If there is no standard output, the
    process exits.
    """
    if sys.stderr is None:  # closed by whoever started this process
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if sys.stdout is None:
        _say("Standard output, to which events are written, is closed.")
        sys.exit(EXIT_FAILED)
    sys.stdout.flush()
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace", newline="\n")
    os.dup2(2, 1)
    return stream


class EventWriter:
    """Writes each event as a line of JSON; thread-safe.

    If an event cannot be written, since the reader has closed the pipe or the disk is full, `is_broken` becomes true,
    an error goes to standard error, and `cancelled` is set to stop the job.
    """

    def __init__(self, stream: IO[str], cancelled: threading.Event) -> None:
        self._stream, self._cancelled, self._lock = stream, cancelled, threading.Lock()
        self.is_broken = self._is_over = False

    def __call__(self, event: Event) -> None:
        """Write an event, unless writing has failed before or the last event (result or error) has been written."""
        with self._lock:
            if self.is_broken or self._is_over:
                return
            self._is_over = isinstance(event, (events.Result, events.Error))
            try:
                self._stream.write(events.encode(event) + "\n")
                self._stream.flush()
            except (OSError, ValueError) as error:
                self.is_broken = True
                self._cancelled.set()
                _say(f"No events can be written to standard output ({error}); the job is stopped.")
                # Discard the rest of the stream's buffer, or Python would try to write it again at the end.
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def _say(text: str) -> None:
    with contextlib.suppress(OSError, AttributeError):  # standard error is full, or closed
        print(text, file=sys.stderr, flush=True)


def listen_to_signals(cancelled: threading.Event) -> None:
    """Have SIGINT, SIGTERM and, unless under nohup, SIGHUP stop the job at its next tile or step."""
    hang_up = getattr(signal, "SIGHUP", signal.SIGTERM)  # Windows has none
    is_deaf = signal.getsignal(hang_up) is signal.SIG_IGN
    for number in (signal.SIGINT, signal.SIGTERM, *(() if is_deaf else (hang_up,))):
        signal.signal(number, lambda *_: cancelled.set())


def commands_of_terminal(job: Job, cancelled: threading.Event) -> Optional[InputLines]:
    """Return the commands on standard input, whose end stops the job; None for a job that takes no commands."""
    if not job.takes_commands:
        return None
    lines = InputLines()
    threading.Thread(target=lines.read, args=(0, cancelled.set), daemon=True).start()
    return lines


def _watch_stdin(
    job: Job, cancelled: threading.Event, sink: Callable[[Event], None], lines: Optional[InputLines]
) -> None:
    """Read commands; cancel when the client closes standard input or dies; exit if the job does not stop in time.

    Input for a job that takes no commands is ignored.
    """
    if lines:
        lines.read(0, cancelled.set)
    else:
        for _ in chunks_of(0):
            pass
        cancelled.set()
    patience_s = COMMANDED_PATIENCE_S if job.takes_commands else PATIENCE_S  # how long it may take to stop by itself
    time.sleep(FINISH_S if getattr(job, "keep_best", False) else patience_s)
    work.clean_up(GRACE_S)
    # In a thread: a client that has stopped reading without closing the pipe must not keep this process alive.
    last = threading.Thread(target=sink, args=(explain(Cancelled(), Reporter()),), daemon=True)
    last.start()
    last.join(PATIENCE_S)
    os._exit(EXIT_CANCELLED)


def _beat(sink: Callable[[Event], None], stopped: threading.Event) -> None:
    while not stopped.wait(HEARTBEAT_S):
        sink(events.Heartbeat())
