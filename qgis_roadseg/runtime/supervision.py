"""Supervision of a worker: its end or silence as errors and messages, and a clock that stops while QGIS is suspended.

Scope: the contract's last events, exit statuses, signals, time. Independent of who runs the worker.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import Any, Union

from ...training_core import events
from ...training_core.errors import Cancelled, RoadSegError, RuntimeEnvironmentError, WorkerError
from .process import POSIX, ChildProcess, Ending

_ERRORS = {error_type.code: error_type for error_type in RoadSegError.__subclasses__()}


def silence_notice(process: ChildProcess, silent_s: float) -> str:
    """Return the message about a worker that has not responded for some seconds."""
    if process.is_suspended:
        return (
            f"The worker (process {process.id}) is suspended. Continue it with kill -CONT {process.id}, or stop the "
            "run."
        )
    return f"The worker (process {process.id}) has not responded for {silent_s:g} s: the machine may be overloaded."


def silence_error(process: ChildProcess, silent_s: float) -> WorkerError:
    """Return the error of a worker that is killed, as it has not responded for some seconds."""
    if process.is_suspended:
        return WorkerError(
            f"The worker was suspended from outside for {silent_s:g} s and was killed.",
            "Run it again. To pause it for longer, suspend QGIS, too.",
        )
    return WorkerError(
        f"The worker has not responded for {silent_s:g} s and was killed.",
        "Run it again. If it stops again, lower the tile size, chip size or batch size, and close other programs.",
    )


def outcome(
    last: Union[events.Result, events.Error, None], ending: Ending, last_lines: Sequence[str], is_stopped: bool
) -> Union[dict[str, Any], RoadSegError]:
    """Return a worker's result, or the error of one that has ended without a result."""
    if isinstance(last, events.Result):
        return last.result
    if isinstance(last, events.Error):
        return _error_of(last)
    return Cancelled() if is_stopped else _death(ending, last_lines)


def _error_of(event: events.Error) -> RoadSegError:
    """Return an event's error; its class is by the event's code."""
    if event.code == Cancelled.code:
        return Cancelled(event.message)
    error = _ERRORS.get(event.code, RoadSegError)(event.message, event.remedy)
    error.code = event.code
    return error


def _death(ending: Ending, last_lines: Sequence[str]) -> RoadSegError:
    if POSIX and ending == Ending(signal.SIGKILL, by_signal=True):
        return WorkerError(
            "The system killed the worker, most likely because memory ran out.",
            "Lower the tile size, chip size or batch size, or close other programs.",
        )
    last_line = last_lines[-1].strip().rstrip(".") if last_lines else ""
    if any(line.startswith("ModuleNotFoundError") for line in last_lines):
        return RuntimeEnvironmentError(f"The runtime is incomplete ({last_line}).", "Run Set up runtime.")
    how = f"crashed (signal {ending.code})" if ending.by_signal else f"ended without a result (status {ending.code})"
    return WorkerError(
        f"The worker {how}{last_line and ': '}{last_line}.",
        "Run it again. If this happens again, run Set up runtime with Rebuild, or report the problem with the log.",
    )


class RunningClock:
    """Seconds in which this process was running: more than `longest_s` between two looks at the clock do not count."""

    def __init__(self, longest_s: float) -> None:
        self.now_s = 0.0
        self._longest_s = longest_s
        self._looked_s = time.monotonic()
        self._looked_at_s = time.time()

    def advance(self) -> float:
        """Look at the clock; return the seconds since the last look, those of a suspended machine included."""
        former_s, self._looked_s = self._looked_s, time.monotonic()
        former_at_s, self._looked_at_s = self._looked_at_s, time.time()
        self.now_s += min(self._looked_s - former_s, self._longest_s)
        return max(self._looked_s - former_s, self._looked_at_s - former_at_s)  # the first may not count sleep
