"""Client of the worker process: starts it with a job, reads its events, cancels it, detects its death.

Scope: the QGIS side of the contract. Independent of jobs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union

from qgis.core import QgsProcessingFeedback

from ...training_core import events
from ...training_core.errors import Cancelled, RoadSegError
from ...training_core.jobs import Job
from ..paths import ROOT
from .feedback import EventFeedback
from .locks import in_use, working_folder
from .process import LAST_LINES, ChildProcess
from .supervision import RunningClock, outcome, silence_error, silence_notice

# Heartbeats come every 2 s; missing ones are reported early, but a machine that swaps is given time.
SILENCE_S, NOTICE_S = 300.0, 20.0
# What takes longer between two polls is time in which this process stood still: suspended, or without a processor.
MAX_POLL_S = 1.0
# A canceled job that keeps its best model so far ends its step, which may be long, and writes some 100 MB.
GRACE_S, FINISH_S = 15.0, 600.0

# No user site-packages, no buffering, no bytecode in the plugin's folder, UTF-8 in any locale. -m puts the working
# directory, the plugin's folder, on the module path.
WORKER = ("-s", "-u", "-B", "-X", "utf8", "-m", "training_core", "run")

# Variables of the temporary folder of the worker and its libraries, so that leftovers of a killed worker are removed.
TEMPORARY = ("TMPDIR", "TEMP", "TMP")


@dataclass(frozen=True)
class WorkerClient:
    """Runs jobs, each in a worker process of its own.

    Parameters
    ----------
    silence_s : float
        Seconds without any event, heartbeats included, after which a worker counts as dead. Time in which this process
        itself stood still, as in a machine that was suspended, is not counted, here and below.
    notice_s : float
        Seconds without any event after which a notice is shown.
    grace_s : float
        Seconds for a worker to exit by itself, after its cancellation or its last event.
    finish_s : float
        Seconds for it after its cancellation, if the job keeps the best model so far.
    variables : mapping of str to str
        Environment variables for the worker, added to QGIS' or replacing them.
    named : callable
        Puts the names of layers in place of those of their temporary files in a message of the job that is shown.
    """

    python: Union[str, Path]
    feedback: QgsProcessingFeedback
    folder: Path = ROOT
    silence_s: float = SILENCE_S
    notice_s: float = NOTICE_S
    grace_s: float = GRACE_S
    finish_s: float = FINISH_S
    variables: Mapping[str, str] = field(default_factory=dict)
    named: Callable[[str], str] = str

    def run(self, job: Job) -> dict[str, Any]:
        """Run the job and return its result: paths and numbers by name.

        A canceled job may still have a result, if it keeps the best model so far. Raises Cancelled if the user stopped
        the job, and there is no result. Raises WorkerError if the worker died, hung, or ended without a result. Raises
        RoadSegError if the job failed; the class is by the error's code.
        """
        if self.feedback.isCanceled():
            raise Cancelled()
        with working_folder() as folder, in_use(Path(self.python)):
            job_file = folder / "job.json"
            job_file.write_text(job.to_json(), encoding="utf-8")
            variables = {**self.variables, **dict.fromkeys(TEMPORARY, str(folder))}
            with ChildProcess(self.python, [*WORKER, str(job_file)], self.folder, variables) as process:
                session = _WorkerSession(process, EventFeedback(self.feedback, named=self.named), self.notice_s)
                self._supervise(session, keeps_best=getattr(job, "keep_best", False))
                ending = process.ending
        end = outcome(session.last, ending, session.last_lines, self.feedback.isCanceled())
        if isinstance(end, RoadSegError):
            raise end
        return end

    def _supervise(self, session: "_WorkerSession", keeps_best: bool) -> None:
        """Read the worker's events until it has exited or is killed."""
        patience_s = self.finish_s if keeps_best else self.grace_s
        closed_s: Optional[float] = None  # when its input was closed, which asks it to exit
        while session.poll():
            now = session.clock.now_s
            is_silent = session.silent_s > self.silence_s
            if closed_s is None and (self.feedback.isCanceled() or session.last is not None):
                closed_s = now
                session.process.resume()  # one that is suspended could not react
                session.process.close_input()
                if keeps_best and session.last is None:
                    self.feedback.pushInfo("Stopping: finishing the current step and writing the best model so far.")
            if closed_s is not None:
                has_ended = session.last is not None
                deadline_s = session.last_event_s + self.grace_s if has_ended else closed_s + patience_s
                if now > deadline_s or is_silent:
                    session.process.kill()
            elif is_silent:
                raise silence_error(session.process, self.silence_s)


class _WorkerSession:
    """The output of one worker so far, and a clock that stands still while this process does."""

    def __init__(self, process: ChildProcess, feedback: EventFeedback, notice_s: float) -> None:
        self.process = process
        self.last_event_s = 0.0
        self.last: Union[events.Result, events.Error, None] = None
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self._feedback = feedback
        self._notice_s = notice_s
        self._has_noted = False
        self.clock = RunningClock(MAX_POLL_S)

    @property
    def silent_s(self) -> float:
        """Seconds since the last event."""
        return self.clock.now_s - self.last_event_s

    def poll(self) -> bool:
        """Read what there is to read; return whether the worker was still running before."""
        was_running = self.process.is_running
        lines = self.process.poll()
        self.clock.advance()
        for line in lines.out:
            self._decode(line)
        for line in lines.err:
            self.last_lines.append(line)
            self._feedback.report_output(line)
        if self.silent_s > self._notice_s and not self._has_noted and self.last is None:
            self._has_noted = True
            self._feedback.report(events.Warning(silence_notice(self.process, self._notice_s)))
        return was_running

    def _decode(self, line: str) -> None:
        event = events.decode(line)
        if event is None or self.last is not None:  # the last event is followed by none
            self._feedback.report_output(line)
            return
        self.last_event_s = self.clock.now_s
        if self._has_noted:
            self._has_noted = False
            self._feedback.report(events.Log("The worker responds again."))
        if isinstance(event, (events.Result, events.Error)):
            self.last = event
        else:
            self._feedback.report(event)
