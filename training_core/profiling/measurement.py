"""Measurement of a run: steps with and without a profiler in turns, one with its costs, a few with oneDNN's log.

Scope: a subject's steps, the time to spend, and the trace that is written of the last ones. Independent of the work of
the subject, and of conclusions.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.profiler import profile

from ..errors import ResourceError
from ..events import Reporter
from .breakdown import break_down, step_times_s, typical
from .kernels import Node, implementations, onednn_log, parse_log, with_nodes
from .machine_facts import counters, read_counters
from .operation_costs import CostRecorder, OperationCost
from .profile import Counters, Limits, Row, Run
from .step_trace import profiled, trace_of
from .workload import Subject, timed_steps

# The first steps prepare weights and kernels. For some steps after them, the process still gets memory from the system.
_MIN_WARM_UP, _MAX_WARM_UP, _WARM_UP_SHARE = 2, 12, 0.15
_MIN_ROUNDS, _MAX_ROUNDS = 2, 20
# Steps that are made in a row, and the fewest where time is short.
_IN_A_ROW, _SHORTEST = 3, 1


@dataclass(frozen=True)
class Measured:
    """A run, with PyTorch's profiler of its last steps."""

    run: Run
    profiler: profile


def measure(
    subject: Subject, limits: Limits, limit_s: float, options: Mapping[str, Any], reporter: Reporter
) -> Measured:
    """Measure and break down a subject's steps in about `limit_s`; the fewest that show something are done in any case.

    Raises Cancelled if the user stopped the job.
    """
    began_s = time.perf_counter()
    end_s = began_s + limit_s
    title = f"{subject.what}, {subject.engine.name} {subject.engine.precision}"
    in_a_row = _warm_up(subject, title, began_s, limit_s, reporter)
    with CostRecorder() as recorder:
        subject.step()
    costs = recorder.costs
    nodes = subject.nodes()
    implementation_of = _implementations(subject, costs, in_a_row, reporter)
    _traced(subject, costs, nodes, in_a_row, reporter)  # prepares the profiler
    plain_s: list[float] = []
    traces: list[pd.DataFrame] = []
    counted: list[Counters] = []
    while len(traces) < _MIN_ROUNDS or (
        len(traces) < _MAX_ROUNDS and time.perf_counter() + 2 * in_a_row * np.median(plain_s) < end_s
    ):
        done = 1 - max(0.0, end_s - time.perf_counter()) / limit_s
        reporter.progress(done, f"{title}: {len(traces) * in_a_row} steps")
        before = read_counters()
        plain_s += timed_steps(subject, in_a_row, reporter)
        counted.append(counters(before, read_counters(), in_a_row))
        trace, profiler = _traced(subject, costs, nodes, in_a_row, reporter)
        traces.append(trace.assign(step=trace["step"] + len(traces) * in_a_row))
    known = [replace(cost, implementation=implementation_of.get(number, "")) for number, cost in enumerate(costs)]
    trace = pd.concat(traces, ignore_index=True)
    rows = break_down(trace, [*known, *(node.cost for node in nodes)], limits)
    return Measured(_run(subject, step_times_s(trace), rows, float(np.median(plain_s)), counted, options), profiler)


def _warm_up(subject: Subject, title: str, began_s: float, limit_s: float, reporter: Reporter) -> int:
    """Make the first steps, which are not measured; return how many steps to make in a row, by the time of one."""
    for number in range(_MAX_WARM_UP):
        if number < _MIN_WARM_UP or time.perf_counter() < began_s + _WARM_UP_SHARE * limit_s:
            step_s = timed_steps(subject, 1, reporter)[0]
    left_s = began_s + limit_s - time.perf_counter()
    in_a_row = _IN_A_ROW if _steps(_IN_A_ROW) * step_s < left_s else _SHORTEST
    if _steps(in_a_row) * step_s > left_s:
        reporter.warning(
            f"{title}: a step takes {step_s:.1f} s, so the time is too short for several steps. "
            f"{_steps(in_a_row)} steps are measured anyway, but they show little of the spread."
        )
    return in_a_row


def _implementations(
    subject: Subject, costs: Sequence[OperationCost], steps: int, reporter: Reporter
) -> dict[int, str]:
    """Return the implementations that oneDNN's log names, by the number of the operation in `costs`."""
    with onednn_log() as log, profiled(None) as profiler:
        timed_steps(subject, steps, reporter)
    return implementations(trace_of(profiler, costs), parse_log("".join(log)))


def _traced(
    subject: Subject, costs: Sequence[OperationCost], nodes: Sequence[Node], steps: int, reporter: Reporter
) -> tuple[pd.DataFrame, profile]:
    """Make steps under the profiler; return its trace, by the nodes of a compiled model if there are any."""
    with profiled(subject.model) as profiler:
        timed_steps(subject, steps, reporter)
    trace = trace_of(profiler, costs)
    return (with_nodes(trace, nodes, len(costs)) if nodes else trace), profiler


def _run(
    subject: Subject,
    times_s: np.ndarray,
    rows: dict[str, tuple[Row, ...]],
    plain_s: float,
    counted: Sequence[Counters],
    options: Mapping[str, Any],
) -> Run:
    """Return the run of steps whose times are (steps,), float64, with the median time without the profiler."""
    step_s = float(times_s[typical(times_s)].mean())
    medians = pd.DataFrame(map(vars, counted)).astype(float).median()
    return Run(
        what=subject.what,
        engine=subject.engine.name,
        precision=subject.engine.precision,
        threads=torch.get_num_threads(),
        batch_size=subject.batch_size,
        size_px=subject.size_px,
        step_s=step_s,
        spread_s=float(np.subtract(*np.percentile(times_s, (75, 25)))),
        steps=len(times_s),
        **rows,
        unaccounted_share=rows["phases"][-1].share,
        overhead_share=step_s / plain_s - 1,
        counters=Counters(**{name: None if np.isnan(each) else float(each) for name, each in medians.items()}),
        options=options,
        plain_s=plain_s,
    )


def _steps(in_a_row: int) -> int:
    """Return how many steps are made at least.

    One is recorded with its costs, which takes twice as long. In a row run those with oneDNN's log, those that prepare
    the profiler, and in each round as many without the profiler as with it.
    """
    return 2 + (2 + 2 * _MIN_ROUNDS) * in_a_row


def write_trace(path: Path, runs: Sequence[Measured]) -> None:
    """Write the last steps of all runs as one trace, each run as a process of its own.

    It has Chrome's event format, which Perfetto and chrome://tracing show. Raises ResourceError if the temporary folder
    has no room for a trace.
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
