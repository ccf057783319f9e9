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
from collections.abc import Callable, Mapping, Sequence
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
    """Return a profile as it is written to JSON."""
    first, *others = [_run_document(run) for run in profile.runs] or [{}]
    rest = {name: _plain(getattr(profile, name)) for name in ("hardware", "versions", "warnings", "limits", "advice")}
    options = _plain(profile.options, without_passwords)
    return {"format": FORMAT, **rest, "options": options, **first, "further_runs": others}


def from_document(document: Any) -> Profile:
    """Return the profile in a document; unknown members are ignored.

    Raises ValueError if the document is not of a profile, or a member is missing, of the wrong type, or out of its
    range.
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

    Raises JobError if it cannot be read, is not a regular file, is far too large, or is not a profile.
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

    Raises ResourceError if the temporary folder has no room for a trace.
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


def _run_document(run: Run) -> dict[str, Any]:
    document = {field.name: _plain(getattr(run, field.name)) for field in dataclasses.fields(run)}
    del document["options"]  # those at the top level are the job's
    return {**document, "step_options": _plain(run.options, without_passwords)}


def _printable(text: str) -> str:
    return CONTROL_CHARACTERS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _plain(value: Any, text: Callable[[str], str] = _printable) -> Any:
    """Return a value as JSON holds it; `text` cleans its texts. Paths in options may be in any encoding."""
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name), text) for field in dataclasses.fields(value)}
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {text(str(name)): _plain(member, text) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, text) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
