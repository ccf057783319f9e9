"""The files of a profile: its JSON document, written and read, and the trace of its last steps.

Each field of the dataclasses of `profile` is a member of the same name, and its type checks documents of unknown
origin. The members of the first run stand at the top level, so that a script finds `step_s` or `layers` at once. The
trace has Chrome's event format, which Perfetto and chrome://tracing show.

Scope: profiles to files and back. Independent of how a profile is measured and shown.
"""

from __future__ import annotations

import dataclasses
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import JobError, ResourceError, shown, without_passwords
from ..jobs.json_fields import CONTROL_CHARACTERS, parse_file, read
from .profile import Profile, Run

if TYPE_CHECKING:
    from torch.profiler import profile

    from .measurement import Measured

FORMAT = "roadseg-profile-1"
MAX_BYTES = 50_000_000


def to_document(profile: Profile) -> dict[str, Any]:
    """Return a profile as it is written to JSON, without unknown and empty members of rows."""
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
        "further_runs": others,
    }


def from_document(document: Any) -> Profile:
    """Return the profile in a document; unknown members are ignored.

    Raises
    ------
    ValueError
        The document is not of a profile, or a member is missing, of the wrong type, or out of its range.
    """
    if not isinstance(document, dict):
        raise ValueError(f"the document is {shown(document)}, not an object")
    if document.get("format") != FORMAT:
        raise ValueError(f"its format is {shown(document.get('format'))}, not {FORMAT}")
    further = document.get("further_runs", [])
    runs = [document, *(further if isinstance(further, list) else [further])]
    if "what" not in document and not further:  # nothing but the limits could be measured
        runs = []
    return read(Profile, {**document, "runs": runs})


def read_profile(path: str) -> Profile:
    """Return the profile in a file of unknown origin.

    Raises
    ------
    JobError
        It cannot be read, is not a regular file, is far too large, or is not a profile.
    """
    remedy = "Choose a profile (JSON) that Profile this computer has written."
    try:
        return from_document(parse_file(path, MAX_BYTES))
    except OSError as error:
        raise JobError(f"The profile {path} cannot be read ({error.strerror}).", remedy) from error
    except ValueError as error:  # also of a path with a null character
        reason = "it is not text" if isinstance(error, UnicodeDecodeError) else str(error).rstrip(".")
        raise JobError(f"{path} is not a profile, or is damaged: {reason}.", remedy) from error


def write_trace(path: Path, runs: Sequence[Measured]) -> None:
    """Write the last steps of all runs as one trace, each run as a process of its own.

    Raises
    ------
    ResourceError
        The temporary folder has no room for a trace.
    """
    documents = [_trace_document(measured.profiler) for measured in runs]
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
    document = {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": base_ns, "traceEvents": events}
    path.write_text(json.dumps(document), encoding="utf-8")


def _trace_document(profiler: profile) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        written = Path(folder, "trace.json")
        profiler.export_chrome_trace(str(written))
        try:
            document: dict[str, Any] = json.loads(written.read_text(encoding="utf-8", errors="replace"))
        except (FileNotFoundError, ValueError) as error:  # PyTorch does not report a failure to write it
            raise ResourceError(
                f"The trace cannot be written to the temporary folder {tempfile.gettempdir()}.",
                "Free some space there, let the variable TMPDIR name another folder, or leave the trace out (trace).",
            ) from error
    return document


def _run_document(run: Run | None) -> dict[str, Any]:
    if run is None:
        return {}
    document = {field.name: _plain(getattr(run, field.name)) for field in dataclasses.fields(run)}
    del document["options"]  # those at the top level are the job's
    return {**document, "step_options": _options(run.options)}


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it; dataclasses without unknown and empty members."""
    if dataclasses.is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if not _says_nothing(getattr(value, field.name), field)
        }
    if isinstance(value, str):
        return CONTROL_CHARACTERS.sub(lambda match: match[0].encode("unicode_escape").decode(), value)
    if isinstance(value, Mapping):
        return {_plain(name): _plain(member) for name, member in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else _number(value)


def _options(value: Any) -> Any:
    """Return options as JSON holds them, without passwords; paths in them may be in any encoding."""
    if isinstance(value, str):
        return without_passwords(value)
    if isinstance(value, Mapping):
        return {str(name): _options(member) for name, member in value.items()}
    return [_options(item) for item in value] if isinstance(value, (list, tuple)) else _number(value)


def _number(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _says_nothing(value: Any, field: dataclasses.Field) -> bool:
    """Whether a member is unknown, or empty as it is by default; one without a default is always written."""
    if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
        return False
    if isinstance(value, str):
        return not value and not field.default
    return not value if isinstance(value, (tuple, list, Mapping)) else _number(value) is None
