"""The QGIS side of the contract: gives a job to a worker process and returns its result.

Knows how the worker is started, heard, stopped, and found dead; knows nothing of what a job does.
"""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from qgis.core import QgsProcessingFeedback

from ...training_core import events
from ...training_core.errors import Cancelled, RoadSegError, RuntimeEnvironmentError, WorkerError
from ...training_core.jobs import Job
from ..paths import ROOT
from .feedback import Narrator
from .process import LAST_WORDS, POSIX, ChildProcess, Ending
from .temporary import working_folder

SILENCE_S = 300.0
# A stopped job that keeps its best model so far has to end a step, which may be long, and to write some 100 MB.
GRACE_S, FINISH_S = 15.0, 600.0

# Nothing of the person's own packages, no waiting in buffers, nothing written into the plugin's folder, UTF-8 whatever
# the locale. -m puts the working directory, the plugin's folder, on the module path.
WORKER = ("-s", "-u", "-B", "-X", "utf8", "-m", "training_core", "run")

# Where the worker and its libraries put temporary files; so what one leaves that was ended goes, too.
TEMPORARY = ("TMPDIR", "TEMP", "TMP")

_ERRORS = {error_type.code: error_type for error_type in RoadSegError.__subclasses__()}


class WorkerClient:
    """Runs jobs, each in a worker process of its own.

    Parameters
    ----------
    python : str or Path
        The runtime's Python.
    feedback : QgsProcessingFeedback
        Hears of progress, and says whether the person stopped the job.
    folder : Path
        The folder that holds the package `training_core`.
    silence_s : float
        Seconds without any event, heartbeats too, after which a worker counts as dead.
    grace_s : float
        Seconds that a worker has to end by itself, after it was asked to or has sent its last event.
    finish_s : float
        Seconds that it has after it was asked to, where the job keeps the best of what it has done.
    variables : mapping of str to str, optional
        Environment variables for the worker, beside QGIS' own or in their place.
    """

    def __init__(
        self,
        python: Union[str, Path],
        feedback: QgsProcessingFeedback,
        folder: Path = ROOT,
        silence_s: float = SILENCE_S,
        grace_s: float = GRACE_S,
        finish_s: float = FINISH_S,
        variables: Optional[Mapping[str, str]] = None,
    ) -> None:
        self._python = python
        self._feedback = feedback
        self._folder = folder
        self._silence_s = silence_s
        self._grace_s = grace_s
        self._finish_s = finish_s
        self._variables = dict(variables or {})

    def run(self, job: Job) -> dict[str, Any]:
        """Do the job and return its result: paths and numbers under plain names.

        A job that the person stopped may still have a result, where it keeps the best of what it has done.

        Raises
        ------
        Cancelled
            The person stopped the job, and there is no result.
        WorkerError
            The worker died, hung, or ended without a result.
        RoadSegError
            Whatever the job itself found wrong.
        """
        with working_folder() as folder:
            job_file = folder / "job.json"
            job_file.write_text(job.to_json(), encoding="utf-8")
            variables = {**self._variables, **dict.fromkeys(TEMPORARY, str(folder))}
            with ChildProcess(self._python, [*WORKER, str(job_file)], self._folder, variables) as process:
                conversation = _Conversation(process, Narrator(self._feedback))
                self._attend(conversation, keeps_best=getattr(job, "keep_best", False))
                ending = process.ending
        last = conversation.last
        if isinstance(last, events.Result):
            return last.result
        if isinstance(last, events.Error):
            raise _error_of(last)
        if self._feedback.isCanceled():
            raise Cancelled()
        raise _why_it_died(ending, conversation.last_words)

    def _attend(self, conversation: "_Conversation", keeps_best: bool) -> None:
        """Listen until the worker has ended, or has to be ended."""
        patience_s = self._finish_s if keeps_best else self._grace_s
        asked_s: Optional[float] = None  # when its input was closed, which asks it to end
        while conversation.goes_on():
            now = time.monotonic()
            is_silent = now - conversation.heard_s > self._silence_s
            if asked_s is None and (self._feedback.isCanceled() or conversation.last is not None):
                asked_s = now
                conversation.process.close_input()
                if keeps_best and conversation.last is None:
                    self._feedback.pushInfo("Stopping: the step under way is finished, and the best so far written.")
            if asked_s is not None:
                has_ended = conversation.last is not None
                deadline_s = conversation.heard_s + self._grace_s if has_ended else asked_s + patience_s
                if now > deadline_s or is_silent:
                    conversation.process.kill()
            elif is_silent:
                raise WorkerError(
                    f"The worker has given no sign of life for {self._silence_s:g} s and was ended.",
                    "Run it again; if it stops again, lower the tile size, chip size or batch size, "
                    "and close other programs.",
                )


class _Conversation:
    """What one worker has said so far."""

    def __init__(self, process: ChildProcess, narrator: Narrator) -> None:
        self.process = process
        self.heard_s = time.monotonic()
        self.last: Union[events.Result, events.Error, None] = None
        self.last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._narrator = narrator

    def goes_on(self) -> bool:
        """Listen for a moment; say whether the worker was still there before it."""
        was_running = self.process.is_running
        lines = self.process.poll()
        for line in lines.out:
            self._hear(line)
        for line in lines.err:
            self.last_words.append(line)
            self._narrator.tell_foreign(line)
        return was_running

    def _hear(self, line: str) -> None:
        event = events.decode(line)
        if event is None or self.last is not None:  # the last event is followed by none
            self._narrator.tell_foreign(line)
            return
        self.heard_s = time.monotonic()
        if isinstance(event, (events.Result, events.Error)):
            self.last = event
        else:
            self._narrator.tell(event)


def _error_of(event: events.Error) -> RoadSegError:
    if event.code == Cancelled.code:
        return Cancelled(event.message)
    error = _ERRORS.get(event.code, RoadSegError)(event.message, event.remedy)
    error.code = event.code
    return error


def _why_it_died(ending: Ending, last_words: Sequence[str]) -> RoadSegError:
    if POSIX and ending == Ending(signal.SIGKILL, by_signal=True):
        return WorkerError(
            "The system ended the worker, most likely because it ran out of memory.",
            "Lower the tile size, chip size or batch size, or close other programs.",
        )
    if any(line.startswith("ModuleNotFoundError") for line in last_words):
        return RuntimeEnvironmentError(f"The runtime is incomplete ({last_words[-1]}).", "Run Set up runtime.")
    how = f"crashed (signal {ending.code})" if ending.by_signal else f"ended without a result (status {ending.code})"
    return WorkerError("\n".join([f"The worker {how}.", *last_words]))
