"""What a running job tells: one JSON object a line, ending in one result or one error.

Knows the events, their text form and who listens; knows nothing of jobs, and only the standard library.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Optional, Union

from .errors import Cancelled


@dataclass(frozen=True)
class Progress:
    """How far the job is: `fraction` from 0 to 1, and the seconds that are left where that can be told."""

    kind: ClassVar[str] = "progress"
    fraction: float
    message: str = ""
    eta_s: Optional[float] = None


@dataclass(frozen=True)
class Metric:
    """One number of a series, such as the loss at a step."""

    kind: ClassVar[str] = "metric"
    name: str
    value: float
    step: int = 0


@dataclass(frozen=True)
class Log:
    """A line for the log."""

    kind: ClassVar[str] = "log"
    message: str


@dataclass(frozen=True)
class Warning:  # the contract's own name for it
    """Something the person should know, though the job goes on."""

    kind: ClassVar[str] = "warning"
    message: str


@dataclass(frozen=True)
class Heartbeat:
    """A sign of life, sent however long a single step takes."""

    kind: ClassVar[str] = "heartbeat"


@dataclass(frozen=True)
class Result:
    """The job is done: paths and numbers under plain names."""

    kind: ClassVar[str] = "result"
    result: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Error:
    """The job failed, or was stopped."""

    kind: ClassVar[str] = "error"
    code: str
    message: str
    remedy: str = ""


Event = Union[Progress, Metric, Log, Warning, Heartbeat, Result, Error]
_EVENT_TYPES = {event.kind: event for event in (Progress, Metric, Log, Warning, Heartbeat, Result, Error)}


def encode(event: Event) -> str:
    """Return the event as one line of JSON, without the line's end."""
    return json.dumps({"event": event.kind, **asdict(event)}, ensure_ascii=False)


def decode(line: str) -> Optional[Event]:
    """Return the event that a line holds, or None where the line is something else, such as a library's print."""
    try:
        document = json.loads(line)
        event_type = _EVENT_TYPES[document.pop("event")]
        return event_type(**document)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def time_left(seconds: Optional[float]) -> str:
    """Return in words how long it will take; empty where nobody knows, or it is over."""
    if not seconds:
        return ""
    if seconds < 60:
        return "less than a minute left"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"about {minutes} min left"
    return f"about {minutes // 60} h {minutes % 60} min left"


class Reporter:
    """A job's voice and ear: sends events to whoever listens, and hears whether the job was stopped.

    Parameters
    ----------
    sink : callable
        Takes each event; must be safe to call from several threads.
    is_cancelled : callable
        Says whether the person stopped the job.
    """

    def __init__(
        self,
        sink: Callable[[Event], None] = lambda event: None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._sink = sink
        self._is_cancelled = is_cancelled
        self._began_s = time.monotonic()
        self._span = (0.0, 1.0)
        self.warnings: list[str] = []

    def part(self, start: float, end: float) -> "Reporter":
        """Return a reporter whose progress from 0 to 1 is this one's from `start` to `end`."""
        low, high = self._span
        return self._like(self._sink, (low + start * (high - low), low + end * (high - low)))

    def heard_by(self, listener: Callable[[Event], None]) -> "Reporter":
        """Return a reporter like this one, of whose events a listener hears too."""

        def sink(event: Event) -> None:
            self._sink(event)
            listener(event)

        return self._like(sink, self._span)

    def silent(self) -> "Reporter":
        """Return a reporter that hears when the job is stopped, and tells nothing."""
        return Reporter(is_cancelled=self._is_cancelled)

    def _like(self, sink: Callable[[Event], None], span: tuple[float, float]) -> "Reporter":
        reporter = Reporter(sink, self._is_cancelled)
        reporter._began_s, reporter.warnings, reporter._span = self._began_s, self.warnings, span
        return reporter

    def progress(self, fraction: float, message: str = "", eta_s: Optional[float] = None) -> None:
        """Tell how far the job is; where `eta_s` is not given, it follows from the time so far."""
        low, high = self._span
        overall = low + min(max(fraction, 0.0), 1.0) * (high - low)
        if eta_s is None and overall > 0.02:
            eta_s = (time.monotonic() - self._began_s) * (1 - overall) / overall
        self._sink(Progress(round(overall, 4), message, None if eta_s is None else round(eta_s, 1)))

    def metric(self, name: str, value: float, step: int = 0) -> None:
        """Tell one number of a series; what is no number, as a loss that has diverged, JSON cannot hold."""
        if math.isfinite(value):
            self._sink(Metric(name, value, step))

    def log(self, message: str) -> None:
        """Tell a line for the log."""
        self._sink(Log(message))

    def warning(self, message: str) -> None:
        """Tell what the person should know, though the job goes on; it is kept in `warnings` too."""
        self.warnings.append(message)
        self._sink(Warning(message))

    @property
    def is_cancelled(self) -> bool:
        """Whether the person stopped the job."""
        return self._is_cancelled()

    def check_cancelled(self) -> None:
        """Raise Cancelled where the person stopped the job; call it at every tile and step."""
        if self._is_cancelled():
            raise Cancelled()
