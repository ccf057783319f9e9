"""Measurement of a run: steps with and without a profiler in turns, one with its costs, a few with oneDNN's log.

Scope: a subject's steps, and the time to spend. Independent of the work of the subject, and of conclusions.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.profiler import profile

from ..events import Reporter
from .breakdown import Breakdown, break_down, step_times_s, typical
from .counters import counters, read
from .kernels import implementations, logged_primitives, with_nodes
from .operation_costs import CostRecorder, OperationCost
from .profile import Counters, Limits, Run
from .step_trace import profiled, trace_of
from .subjects import Subject, timed_steps

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
    for number in range(_MAX_WARM_UP):
        if number < _MIN_WARM_UP or time.perf_counter() < began_s + _WARM_UP_SHARE * limit_s:
            step_s = timed_steps(subject, 1, reporter)[0]
    in_a_row = _IN_A_ROW if time.perf_counter() + _steps(_IN_A_ROW) * step_s < end_s else _SHORTEST
    title = f"{subject.what}, {subject.engine.name} {subject.engine.precision}"
    if time.perf_counter() + _steps(in_a_row) * step_s > end_s:
        reporter.warning(
            f"{title}: a step takes {step_s:.1f} s, so the time is too short for several steps. "
            f"{_steps(in_a_row)} steps are measured anyway, but they show little of the spread."
        )
    with CostRecorder() as recorder:
        subject.step()
    nodes = subject.nodes()
    operations = list(dict.fromkeys([*recorder.costs, *(node.cost for node in nodes)]))

    def traced() -> tuple[pd.DataFrame, profile]:
        with profiled(subject.model) as profiler:
            timed_steps(subject, in_a_row, reporter)
        trace = trace_of(profiler, recorder.costs, operations)
        return (with_nodes(trace, nodes, operations) if nodes else trace), profiler

    implementation_of = _implementations(subject, in_a_row, recorder.costs, operations)
    implementation_of |= {operations.index(node.cost): node.implementation for node in nodes}
    traced()  # prepares the profiler
    plain_s: list[float] = []
    traces: list[pd.DataFrame] = []
    counted: list[Counters] = []
    while _is_round_affordable(in_a_row, len(traces), plain_s, end_s):
        done = 1 - max(0.0, end_s - time.perf_counter()) / limit_s
        reporter.progress(done, f"{title}: {len(traces) * in_a_row} steps")
        before = read()
        plain_s += timed_steps(subject, in_a_row, reporter)
        counted.append(counters(before, read(), in_a_row))
        trace, profiler = traced()
        traces.append(trace.assign(step=trace["step"] + len(traces) * in_a_row))
    trace = pd.concat(traces, ignore_index=True)
    rows = break_down(trace, operations, limits, implementation_of)
    run = _run(subject, step_times_s(trace), rows, statistics.median(plain_s))
    return Measured(replace(run, counters=_median(counted), options=options), profiler)


def _steps(in_a_row: int) -> int:
    """Return how many steps are made at least.

    One is recorded with its costs, which takes twice as long. In a row run those with oneDNN's log, those that prepare
    the profiler, and in each round as many without the profiler as with it.
    """
    return 2 + (2 + 2 * _MIN_ROUNDS) * in_a_row


def _is_round_affordable(in_a_row: int, rounds: int, plain_s: Sequence[float], end_s: float) -> bool:
    """Whether another round ends in time; the fewest rounds are done in any case."""
    if not _MIN_ROUNDS <= rounds < _MAX_ROUNDS:
        return rounds < _MIN_ROUNDS
    return time.perf_counter() + 2 * in_a_row * statistics.median(plain_s) < end_s


def _implementations(
    subject: Subject, steps: int, costs: Sequence[OperationCost], operations: Sequence[OperationCost]
) -> dict[int, str]:
    """Do steps with oneDNN's log; return the implementations of the operations by their number."""
    with logged_primitives() as log, profiled(None) as profiler:
        for _ in range(steps):
            subject.step()
    return implementations(trace_of(profiler, costs, operations), log)


def _run(subject: Subject, times_s: np.ndarray, rows: Breakdown, plain_s: float) -> Run:
    """Return the run of steps whose times are (steps,), float64, with the median time without the profiler."""
    step_s = float(times_s[typical(times_s)].mean())
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
        **vars(rows),
        unaccounted_share=rows.phases[-1].share,
        overhead_share=step_s / plain_s - 1,
        plain_s=plain_s,
    )


def _median(rounds: Sequence[Counters]) -> Counters:
    """Return the median of each number over the rounds; None where the system does not provide it."""
    columns = {name: [getattr(counted, name) for counted in rounds] for name in vars(rounds[0])}
    return Counters(**{name: None if None in row else statistics.median(row) for name, row in columns.items()})
