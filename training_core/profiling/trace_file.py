"""The trace of a few steps as a file in Chrome's trace event format, which Perfetto and chrome://tracing show.

Scope: PyTorch's trace and the data thread's work. Independent of what is concluded from them.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..errors import ResourceError
from .measurement import Measured

# What PyTorch says of the file, the machine and its graphics processors.
_KEPT = ("schemaVersion", "traceEvents", "displayTimeUnit", "baseTimeNanoseconds")
_DATA_THREAD = "data thread"


def write_trace(path: Path, runs: Sequence[Measured]) -> None:
    """Write the last steps of all runs as one trace, each run as a process of its own.

    Raises
    ------
    ResourceError
        The temporary folder has no room for a trace.
    """
    documents = [_document(measured) for measured in runs]
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


def _document(measured: Measured) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "trace.json")
        measured.profiler.export_chrome_trace(str(written))
        try:
            document = json.loads(written.read_text(encoding="utf-8", errors="replace"))
        except (FileNotFoundError, ValueError) as error:  # it cannot be written, or not all of it, and nobody is told
            raise ResourceError(
                f"The trace cannot be written to the temporary folder {tempfile.gettempdir()}.",
                "Free some space there, let the variable TMPDIR name another folder, or leave the trace out (trace).",
            ) from error
    return {name: value for name, value in document.items() if name in _KEPT}


def _data_events(measured: Measured, process: int, base_ns: int, document: dict) -> list[dict]:
    """Return the data thread's work within the time that the trace shows."""
    base_own_ns = int(document.get("baseTimeNanoseconds", 0))
    times_us = [event["ts"] for event in document["traceEvents"] if event.get("ph") == "X"]
    begin_us, end_us = (min(times_us), max(times_us)) if times_us else (0.0, 0.0)
    found = []
    for begin_s, finish_s in measured.data_spans:
        at_us = (begin_s * 1e9 - base_own_ns) / 1e3
        if begin_us <= at_us <= end_us:
            found.append({"ph": "X", "cat": "user_annotation", "name": "data", "pid": process, "tid": _DATA_THREAD,
                          "ts": at_us + (base_own_ns - base_ns) / 1e3, "dur": (finish_s - begin_s) * 1e6})  # fmt: skip
    return found
