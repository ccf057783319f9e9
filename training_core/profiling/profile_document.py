"""The files of a profile: its JSON document, written and read, and the trace of its last steps.

A document that is read is of unknown origin, and checked member by member.

The dataclasses of `profile` say what a document holds: each of their fields is a member of the same name. The members
of the first run stand at the top level, so that a script finds `step_s` or `layers` at once.

The trace has Chrome's event format, which Perfetto and chrome://tracing show.

Scope: profiles to files and back. Independent of how a profile is measured and shown.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import stat
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import JobError, ResourceError, shown, without_passwords
from ..jobs.json_fields import parse
from .profile import Profile, Run

if TYPE_CHECKING:
    from .measurement import Measured

FORMAT = "roadseg-profile-1"
# Of a trace of PyTorch; the rest describes the file, the machine and its graphics processors.
_KEPT = ("schemaVersion", "traceEvents", "displayTimeUnit", "baseTimeNanoseconds")
_DATA_THREAD = "data thread"
MAX_BYTES, LONGEST_TEXT = 50_000_000, 10_000
# The options of a run; those at the top level are the job's.
_RUN_OPTIONS = "step_options"
_TRACED = "time_line"  # only the trace holds it
# No machine has such numbers; beyond them, their products and logarithms would be infinite.
_LARGEST, _LEAST = 1e18, 1e-12
_POSITIVE = {"step_s", "threads", "batch_size", "size_px", "per_s", "before_s", "after_s"}
# Estimates, differences of two measured times, and memory that a step gives back.
_SIGNED = {"time_s", "share", "unaccounted_share", "overhead_share", "gain", "bytes"}
# What no name has, and what does harm in a terminal or a file.
_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def to_document(profile: Profile) -> dict[str, Any]:
    """Return a profile as it is written to JSON; what is unknown or empty is left out of rows."""
    first, *others = (_run_document(run) for run in profile.runs or (None,))
    return {
        "format": FORMAT,
        "hardware": _plain(profile.hardware),
        "versions": _plain(profile.versions),
        "options": _options(profile.options),
        "warnings": _plain(profile.warnings),
        "limits": _plain(profile.limits),
        **first,
        "advice": _plain(profile.advice),
        "losses": _plain(profile.losses),
        "further_runs": others,
    }


def from_document(document: Any) -> Profile:
    """Return the profile in a document; members that it does not know are passed over.

    Raises
    ------
    ValueError
        The document is not of a profile, or a member is missing, of the wrong type, or out of any range.
    """
    if not isinstance(document, dict):
        raise ValueError(f"the document is {shown(document)}, no object")
    if document.get("format") != FORMAT:
        raise ValueError(f"its format is {shown(document.get('format'))}, not {FORMAT}")
    further = document.get("further_runs", [])
    runs = [document, *further] if isinstance(further, list) else [document, further]
    if "what" not in document and not further:  # nothing but the limits could be measured
        runs = []
    return _members(Profile, {**document, "runs": runs}, "")


def read_profile(path: str) -> Profile:
    """Return the profile in a file of unknown origin.

    Raises
    ------
    JobError
        It cannot be read, is no regular file, far too large, or no profile.
    """
    remedy = "Choose a profile (JSON) that Profile this computer has written."
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):  # reading a pipe or a device might never end
            raise JobError(f"The profile {path} is no regular file.", remedy)
        if status.st_size > MAX_BYTES:
            raise JobError(f"{path} has {status.st_size / 1e6:.0f} MB, far too many for a profile.", remedy)
        return from_document(parse(Path(path).read_bytes().decode("utf-8")))
    except OSError as error:
        raise JobError(f"The profile {path} cannot be read ({error.strerror}).", remedy) from error
    except UnicodeDecodeError as error:
        raise JobError(f"{path} is no profile: it is no text.", remedy) from error
    except ValueError as error:  # also of a path with a null character
        raise JobError(f"{path} is no profile, or damaged: {str(error).rstrip('.')}.", remedy) from error


def write_trace(path: Path, runs: Sequence[Measured]) -> None:
    """Write the last steps of all runs as one trace, each run as a process of its own.

    Raises
    ------
    ResourceError
        The temporary folder has no room for a trace.
    """
    documents = [_trace_document(measured) for measured in runs]
    base_ns = min(int(document.get("baseTimeNanoseconds", 0)) for document in documents)
    events = []
    for number, (measured, document) in enumerate(zip(runs, documents), 1):
        shift_us = (int(document.get("baseTimeNanoseconds", 0)) - base_ns) / 1e3
        events += [{"ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": {"name": measured.run.name}}]
        events += [
            {**event, "pid": number, **({"ts": event["ts"] + shift_us} if "ts" in event else {})}
            for event in document["traceEvents"]
            if event.get("name") != "process_name" and isinstance(event.get("pid"), int)
        ]
        events += _data_events(measured, number, base_ns, document)
    path.write_text(
        json.dumps(
            {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": base_ns, "traceEvents": events}
        ),
        encoding="utf-8",
    )


def _trace_document(measured: Measured) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "trace.json")
        measured.profiler.export_chrome_trace(str(written))
        try:
            document = json.loads(written.read_text(encoding="utf-8", errors="replace"))
        except (FileNotFoundError, ValueError) as error:  # PyTorch does not report a failure to write it
            raise ResourceError(
                f"The trace cannot be written to the temporary folder {tempfile.gettempdir()}.",
                "Free some space there, let the variable TMPDIR name another folder, or leave the trace out (trace).",
            ) from error
    return {name: value for name, value in document.items() if name in _KEPT}


def _data_events(measured: Measured, process: int, base_ns: int, document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the data thread's work within the time that the trace shows."""
    base_own_ns = int(document.get("baseTimeNanoseconds", 0))
    times_us = [event["ts"] for event in document["traceEvents"] if event.get("ph") == "X"]
    begin_us, end_us = (min(times_us), max(times_us)) if times_us else (0.0, 0.0)
    events = []
    for begin_s, finish_s in measured.data_spans:
        at_us = (begin_s * 1e9 - base_own_ns) / 1e3
        if begin_us <= at_us <= end_us:
            events.append({"ph": "X", "cat": "user_annotation", "name": "data", "pid": process, "tid": _DATA_THREAD,
                          "ts": at_us + (base_own_ns - base_ns) / 1e3, "dur": (finish_s - begin_s) * 1e6})  # fmt: skip
    return events


def _run_document(run: Run | None) -> dict[str, Any]:
    if run is None:
        return {}
    names = [field.name for field in dataclasses.fields(run) if field.name not in (_TRACED, "options")]
    document = {name: _plain(getattr(run, name)) for name in names}
    document["memory"]["peaks"] = run.memory.peaks()  # for readers; it follows from the rest
    return {**document, _RUN_OPTIONS: _options(run.options)}


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it; of dataclasses, what is empty or unknown is left out."""
    if dataclasses.is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if not (_has_default(field) and _says_nothing(getattr(value, field.name), field.default))
        }
    if isinstance(value, str):
        return _NO_TEXT.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
    if isinstance(value, Mapping):
        return {_plain(name): _plain(member) for name, member in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else _number(value)


def _options(value: Any) -> Any:
    """Return options as JSON holds them, but for passwords: paths in them may be in any encoding."""
    if isinstance(value, str):
        return without_passwords(value)
    if isinstance(value, Mapping):
        return {str(name): _options(member) for name, member in value.items()}
    return [_options(item) for item in value] if isinstance(value, (list, tuple)) else _number(value)


def _number(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _says_nothing(value: Any, default: Any) -> bool:
    """Whether a member is unknown, or empty as it is by default."""
    if isinstance(value, str):
        return not value and not default
    return not value if isinstance(value, (tuple, list, Mapping)) else _number(value) is None


def _has_default(field: dataclasses.Field) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


@cache
def _fields_of(kind: type) -> dict[str, tuple[Any, bool]]:
    """Return the type of each field of a dataclass, and whether its member may be missing."""
    hints = get_type_hints(kind)
    return {field.name: (hints[field.name], _has_default(field)) for field in dataclasses.fields(kind)}


def _members(kind: type, value: Any, name: str) -> Any:
    """Return the dataclass of an object; `name` is that of the object, for messages."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} is {shown(value)}, no object")
    values = {}
    for field, (hint, may_miss) in _fields_of(kind).items():
        key = _RUN_OPTIONS if kind is Run and field == "options" else field
        if key in value and key != _TRACED:
            values[field] = _typed(hint, value[key], f"{name} {key}".strip())
        elif not may_miss:
            raise ValueError(f"{name} {key} is missing".strip())
    return kind(**values)


def _typed(kind: Any, value: Any, name: str) -> Any:
    """Return a member as a value of a type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return _tuples(value)
    if origin is Union:
        return None if value is None else _typed(arguments[0], value, name)
    if origin is Mapping:
        if not isinstance(value, dict):
            raise ValueError(f"{name} is {shown(value)}, no object")
        is_free = arguments[1] is Any and name.endswith("options")
        return {
            key if is_free else _text(key, name): _typed(arguments[1], each, f"{name} {shown(key)}")
            for key, each in value.items()
        }
    if origin is tuple:
        return _tuple(arguments, value, name)
    if dataclasses.is_dataclass(kind):
        return _members(kind, value, name)
    return _text(value, name) if kind is str else _checked_number(kind, value, name)


def _tuple(kinds: tuple[Any, ...], value: Any, name: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is {shown(value)}, no list")
    if kinds[-1] is Ellipsis:
        return tuple(_typed(kinds[0], each, name) for each in value)
    if len(value) != len(kinds):
        raise ValueError(f"an item of {name} is {shown(value)}, no list of {len(kinds)}")
    return tuple(_typed(kind, each, name) for kind, each in zip(kinds, value))


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or _NO_TEXT.search(value):
        raise ValueError(f"{name} is {shown(value)}, no text of at most {LONGEST_TEXT} characters")
    return value


def _checked_number(kind: type, value: Any, name: str) -> Union[int, float]:
    field = name.rpartition(" ")[2]
    low = -_LARGEST if field in _SIGNED else (_LEAST if field in _POSITIVE else 0)
    if type(value) not in (int, kind) or not low <= value <= _LARGEST:
        word = "whole number" if kind is int else "number"
        raise ValueError(f"{name} is {shown(value)}, no {word} from {low:g} to {_LARGEST:g}")
    return kind(value)


def _tuples(value: Any) -> Any:
    """Return a JSON value with tuples for lists, as jobs have them."""
    if isinstance(value, dict):
        return {key: _tuples(member) for key, member in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
