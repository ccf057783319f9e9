"""Events of a running job as JSON lines: progress, metrics, warnings, news of a live session, a result or an error.

Scope: the event types, their encoding, the reporter that sends them, and exceptions and partial results in words.
Independent of jobs; standard library only.
"""

from __future__ import annotations

import json
import math
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Optional, Protocol, Union, get_args

from .errors import NO_ROOM, PACKAGE_SETS, Cancelled, MissingPackagesError, RoadSegError, without_passwords

# Failures of a partial result that are described one by one.
MAX_DESCRIBED = 5
MAX_MESSAGE = 10_000
# How PyTorch and Python put it that there is no memory.
_NO_MEMORY = ("not enough memory", "can't allocate memory", "can't start new thread")


@dataclass(frozen=True)
class Progress:
    """Progress of the job: `fraction` from 0 to 1, and the estimated seconds left, or None if unknown."""

    kind: ClassVar[str] = "progress"
    fraction: float
    message: str = ""
    eta_s: Optional[float] = None


@dataclass(frozen=True)
class Metric:
    """One value of a time series, such as the loss at a step."""

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
    """A problem that the user should know of, though the job goes on."""

    kind: ClassVar[str] = "warning"
    message: str


@dataclass(frozen=True)
class Heartbeat:
    """A sign of life, sent regularly even during long steps."""

    kind: ClassVar[str] = "heartbeat"


@dataclass(frozen=True)
class Result:
    """The job succeeded: output paths and statistics by name; in part if `partial` is true among them."""

    kind: ClassVar[str] = "result"
    result: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Error:
    """The job failed, or was stopped."""

    kind: ClassVar[str] = "error"
    code: str
    message: str
    remedy: str = ""


@dataclass(frozen=True)
class State:
    """Activity of a live session, one of STATES, and its progress, sent on every change and about once a second.

    `message` is the same for the user. `steps_per_s` is of the last steps; 0 before the first. `next` has up to two
    places (x, y) in view, those about which the model is most uncertain, the first one most.
    """

    kind: ClassVar[str] = "state"
    state: str
    message: str = ""
    step: int = 0
    roads: int = 0
    labeled_px: int = 0
    steps_per_s: float = 0.0
    next: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Learned:
    """A change of labels has entered a training step, `seconds` after it was read."""

    kind: ClassVar[str] = "learned"
    sequence: int
    seconds: float


@dataclass(frozen=True)
class Prediction:
    """A new raster of the view is complete, in a file that never changes, to `show` probability or uncertainty.

    The extent is left, bottom, right and top. The fraction of the view, from 0 to 1, has been predicted by this model
    at full resolution. `resolution_m` is that of the raster. The seconds are those since the model or the view changed.
    """

    kind: ClassVar[str] = "prediction"
    path: str
    extent: list[float]
    step: int
    fraction: float
    resolution_m: float
    show: str = "probability"
    seconds: float = 0.0


@dataclass(frozen=True)
class Correction:
    """Answer to a click on the map: a feature for a label layer, or a message that explains why not."""

    kind: ClassVar[str] = "correction"
    sequence: int
    layer: str = ""
    geometry: str = ""
    message: str = ""


@dataclass(frozen=True)
class Kept:
    """The model of a live session has been written, and report and labels if their paths are not empty.

    The validation F1 is null if too little was held out.
    """

    kind: ClassVar[str] = "kept"
    model: str
    report: str = ""
    f1: Optional[float] = None
    labels: str = ""


@dataclass(frozen=True)
class Traced:
    """The likeliest path to a place, a line as WKT; its mean road probability, and width, or null if unknown."""

    kind: ClassVar[str] = "traced"
    sequence: int
    geometry: str
    probability: Optional[float] = None
    width_m: Optional[float] = None


@dataclass(frozen=True)
class Lines:
    """The center-lines of a view as the WKT of a multi-part line; null if the view is too wide to show roads."""

    kind: ClassVar[str] = "lines"
    sequence: int
    geometry: Optional[str]


LOADING, WAITING, LEARNING, PREDICTING = "loading", "waiting", "learning", "predicting"
PAUSED, DONE_LEARNING = "paused", "done learning"
STATES = (LOADING, WAITING, LEARNING, PREDICTING, PAUSED, DONE_LEARNING)
Event = Union[
    Progress, Metric, Log, Warning, Heartbeat, State, Learned, Prediction, Correction, Kept, Traced, Lines, Result,
    Error,
]  # fmt: skip
_EVENT_TYPES = {event_type.kind: event_type for event_type in get_args(Event)}


def encode(event: Event) -> str:
    """Return the event as one line of JSON, without a line break."""
    return json.dumps({"event": event.kind, **asdict(event)}, ensure_ascii=False)


def decode(line: str) -> Optional[Event]:
    """Return the event in a line, or None if the line is something else, such as a library's output."""
    try:
        document = json.loads(line)
        event_type = _EVENT_TYPES[document.pop("event")]
        return event_type(**document)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def time_left(seconds: Optional[float]) -> str:
    """Return the time left in words; empty if it is unknown or 0."""
    if not seconds:
        return ""
    if seconds < 60:
        return "less than a minute left"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"about {minutes} min left"
    return f"about {minutes // 60} h {minutes % 60} min left"


def describe_failures(result: dict[str, Any]) -> str:
    """Return what failed in a partial result, as lines of text without passwords; empty if nothing did.

    In a partial one `partial` is true, and `failures` lists a `scene` (or none), `reason` and `remedy` each.
    """
    if not result.get("partial"):
        return ""
    failures = result.get("failures") or []
    lines = [f"Only part of the job was done: {len(failures):,} failed. Run it again to complete it."]
    for failure in failures[:MAX_DESCRIBED]:
        text = " ".join(filter(None, (failure.get("reason"), failure.get("remedy"))))
        lines.append(f"{failure['scene']}: {text}" if failure.get("scene") else text)
    if len(failures) > MAX_DESCRIBED:
        lines.append(f"The report lists the other {len(failures) - MAX_DESCRIBED:,}.")
    return without_passwords("\n".join(lines))


class LineSource(Protocol):
    """Lines that a client sends while a job runs."""

    def get(self, timeout_s: Optional[float]) -> Optional[bytes]:
        """Return the next line, or None if none comes in time, in seconds; without a limit, wait until one comes."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether the client has closed its end, and all lines have been taken."""
        ...


class Reporter:
    """Sends a job's events to a thread-safe sink, without passwords, and checks whether the job was cancelled.

    `lines` are those that the client sends while the job runs. The reporters of a job's parts share `warnings`.
    """

    def __init__(
        self,
        sink: Callable[[Event], None] = lambda event: None,
        is_cancelled: Callable[[], bool] = lambda: False,
        lines: Optional[LineSource] = None,
    ) -> None:
        self._sink = sink
        self._is_cancelled, self.lines = is_cancelled, lines
        self._began_s = time.monotonic()
        self._span = (0.0, 1.0)
        self.warnings: list[str] = []

    def part(self, start: float, end: float) -> "Reporter":
        """Return a reporter whose progress from 0 to 1 maps to this one's from `start` to `end`."""
        low, high = self._span
        part = Reporter(self._sink, self._is_cancelled, self.lines)
        part._began_s, part.warnings = self._began_s, self.warnings
        part._span = (low + start * (high - low), low + end * (high - low))
        return part

    def silent(self) -> "Reporter":
        """Return a reporter that checks for cancellation, but sends no events."""
        return Reporter(is_cancelled=self._is_cancelled)

    def progress(self, fraction: float, message: str = "", eta_s: Optional[float] = None) -> None:
        """Report progress: a fraction from 0 to 1, clipped; by default the seconds left are extrapolated."""
        low, high = self._span
        overall = low + min(max(fraction, 0.0), 1.0) * (high - low)
        if eta_s is None and overall > 0.02:
            eta_s = (time.monotonic() - self._began_s) * (1 - overall) / overall
        self._sink(Progress(round(overall, 4), without_passwords(message), None if eta_s is None else round(eta_s, 1)))

    def metric(self, name: str, value: float, step: int = 0) -> None:
        """Report one value of a time series; NaN and infinity, which JSON cannot hold, are dropped."""
        if math.isfinite(value):
            self._sink(Metric(name, value, step))

    def pass_on(self, event: Event) -> None:
        """Report an event unchanged, such as one of another process; a warning is added to `warnings`."""
        if isinstance(event, Warning):
            self.warnings.append(event.message)
        self._sink(event)

    def log(self, message: str) -> None:
        """Report a line for the log."""
        self._sink(Log(without_passwords(message)))

    def warning(self, message: str) -> None:
        """Report a problem that the user should know of, though the job goes on; also appended to `warnings`."""
        message = without_passwords(message)
        self.warnings.append(message)
        self._sink(Warning(message))

    @property
    def is_cancelled(self) -> bool:
        """Whether the user stopped the job."""
        return self._is_cancelled()

    def check_cancelled(self) -> None:
        """Raise Cancelled if the user stopped the job."""
        if self._is_cancelled():
            raise Cancelled()

    def step(self, fraction: float, message: str = "") -> None:
        """Raise Cancelled if the user stopped the job, else report progress; call it where a tile or step begins."""
        self.check_cancelled()
        self.progress(fraction, message)


def explain(error: BaseException, reporter: Reporter) -> Error:
    """Return an exception as an error event; the traceback of an unexpected one goes to the log."""
    if isinstance(error, KeyboardInterrupt):
        error = Cancelled()
    if isinstance(error, ModuleNotFoundError) and error.name in PACKAGE_SETS:
        error = MissingPackagesError(error.name)
    if isinstance(error, RoadSegError):
        return Error(error.code, _shortened(error.message), error.remedy)
    if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY):
        return Error(
            "resources",
            "There is not enough memory for this job.",
            "Run it on a part of the image or layer, or lower the tile size, chip size or batch size.",
        )
    if "Too many open files" in str(error):  # some libraries say so in errors of their own
        return Error(
            "resources", "Too many files are open.", "Raise the limit of open files (ulimit -n), or give fewer rasters."
        )
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return Error("output", "The disk is full.", "Make room, or choose another folder for the outputs.")
    reporter.log("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    return Error(
        "unexpected",
        _shortened(without_passwords(f"Unexpected error: {type(error).__name__}: {error}")),
        "The log has the details. Please report the error with the log.",
    )


def _shortened(message: str) -> str:
    """Return a message without its middle where it is too long to read: names of layers and bands may be."""
    half = MAX_MESSAGE // 2
    return message if len(message) <= MAX_MESSAGE else f"{message[:half]} ... {message[-half:]}"
