"""Measurement of a run: steps with and without a profiler in turns, one with its costs, one with oneDNN's log.

Scope: a subject's steps, and the time to spend. Independent of the work of the subject, and of conclusions.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from ..events import Reporter
from ..system.tensor_memory import Ledger
from .breakdown import Breakdown, Roof, kind_of, typical, unaccounted, with_outer_layers
from .counters import counters, read, sampled_loads
from .kernels import implementations, logged_primitives, with_nodes
from .operation_costs import CostRecorder, Implementation, OperationCost
from .profile import Counters, Kind, LayerRow, MemoryCurve, Phase, Row, Run, Span, TimeLine
from .step_trace import PHASE_MARK, TracedStep, events_of, mark_phase, marked_layers, traced_steps
from .subjects import Subject, timed_steps

# The first steps prepare weights and kernels. For some steps after them, the process still gets memory from the system.
_MIN_WARM_UP, _MAX_WARM_UP, _WARM_UP_SHARE = 2, 12, 0.15
_MIN_ROUNDS, _MAX_ROUNDS = 2, 20


@dataclass(frozen=True)
class _Plan:
    """How many steps are made in a row, and how many for the trace and the time line.

    In a row run those with oneDNN's log, those that prepare the profiler, and in each round as many without the
    profiler as with it.
    """

    in_a_row: int
    traced: int

    @property
    def steps(self) -> int:
        """Steps in all, at least; the one that is recorded with its costs takes twice as long."""
        return 2 + (2 + 2 * _MIN_ROUNDS) * self.in_a_row + self.traced


_USUAL, _SHORTEST = _Plan(in_a_row=3, traced=2), _Plan(in_a_row=1, traced=1)


@dataclass(frozen=True)
class Measured:
    """A run, with PyTorch's profiler of its last steps, and when the data thread worked, in seconds since 1970."""

    run: Run
    profiler: profile
    data_spans: tuple[tuple[float, float], ...]


def measure(subject: Subject, roof: Roof, limit_s: float, options: Mapping[str, Any], reporter: Reporter) -> Measured:
    """Measure and break down a subject's steps in about `limit_s`; the fewest that show something are done in any case.

    Raises
    ------
    Cancelled
        The user stopped the job.
    """
    began_s = time.perf_counter()
    end_s = began_s + limit_s
    for number in range(_MAX_WARM_UP):
        if number < _MIN_WARM_UP or time.perf_counter() < began_s + _WARM_UP_SHARE * limit_s:
            step_s = timed_steps(subject, 1, reporter)[0]
    plan = _USUAL if time.perf_counter() + _USUAL.steps * step_s < end_s else _SHORTEST
    if time.perf_counter() + plan.steps * step_s > end_s:
        reporter.warning(
            f"{_title(subject)}: a step takes {step_s:.1f} s, so the time is too short for several steps. "
            f"{plan.steps} steps are measured anyway, but they show little of the spread."
        )
    costs, memory = _recorded(subject)
    implementation_of = _implementations(subject, plan.in_a_row, costs)
    _profiled(subject, plan.in_a_row, costs, reporter)
    plain_s: list[float] = []
    traced: list[TracedStep] = []
    counted: list[Counters] = []
    while _is_round_affordable(plan, len(counted), plain_s, end_s):
        reporter.progress(
            1 - max(0.0, end_s - time.perf_counter()) / limit_s, f"{_title(subject)}: {len(traced)} steps"
        )
        before = read()
        plain_s += timed_steps(subject, plan.in_a_row, reporter)
        counted.append(counters(before, read(), plan.in_a_row, torch.get_num_threads(), os.cpu_count() or 1))
        traced += _profiled(subject, plan.in_a_row, costs, reporter)[0]
    with sampled_loads() as sampler:
        last, profiler = _profiled(subject, plan.traced, costs, reporter)
    nodes = subject.nodes()
    traced, last = ([with_nodes(step, nodes) for step in steps] for steps in (traced, last))
    implementation_of |= {node.cost: node.implementation for node in nodes}
    spans = tuple(subject.data_spans)
    run = _run(subject, roof, traced, implementation_of, statistics.median(plain_s), options)
    begin_s, until_s = last[-1].phases[0][1] / 1e9, last[-1].phases[-1][2] / 1e9
    time_line = _time_line(last[-1], spans, sampler.loads(begin_s, until_s))
    return Measured(replace(run, memory=memory, time_line=time_line, counters=_median(counted)), profiler, spans)


def _title(subject: Subject) -> str:
    return f"{subject.what}, {subject.engine.name} {subject.engine.precision}"


def _is_round_affordable(plan: _Plan, rounds: int, plain_s: Sequence[float], end_s: float) -> bool:
    """Whether another round, and the traced steps after it, end in time; the fewest rounds are done in any case."""
    if not _MIN_ROUNDS <= rounds < _MAX_ROUNDS:
        return rounds < _MIN_ROUNDS
    needed_s = (2 * plan.in_a_row + plan.traced) * statistics.median(plain_s)
    return time.perf_counter() + needed_s < end_s


def _profiled(
    subject: Subject, count: int, costs: Sequence[OperationCost], reporter: Reporter
) -> tuple[list[TracedStep], profile]:
    """Do steps with the profiler; return their traces, and the profiler."""
    layers = marked_layers(subject.model) if subject.model else nullcontext()
    with layers, profile(activities=[ProfilerActivity.CPU]) as profiler:
        mark_phase(subject.last_phase)
        timed_steps(subject, count, reporter)
    steps = traced_steps(events_of(profiler), subject.last_phase, costs)
    return [with_outer_layers(step, subject.after_model) for step in steps], profiler


def _recorded(subject: Subject) -> tuple[list[OperationCost], MemoryCurve]:
    """Do a step that records the costs of its operations and the memory of its tensors."""
    with Ledger() as ledger, CostRecorder(lambda: len(ledger.alive)) as recorder:
        subject.step()
    marks = [(name.removeprefix(PHASE_MARK), at) for name, at in recorder.marks if name.startswith(PHASE_MARK)]
    phases = tuple((name, max(0, at - 1)) for name, at in marks)
    return recorder.costs, MemoryCurve(tuple(ledger.alive), phases, subject.base_bytes())


def _implementations(
    subject: Subject, steps: int, costs: Sequence[OperationCost]
) -> dict[OperationCost, Implementation]:
    """Do steps with oneDNN's log; return the implementations of the operations."""
    with logged_primitives() as log, profile(activities=[ProfilerActivity.CPU]) as profiler:
        mark_phase(subject.last_phase)
        for _ in range(steps):
            subject.step()
    return implementations(traced_steps(events_of(profiler), subject.last_phase, costs), log)


def _run(
    subject: Subject,
    roof: Roof,
    steps: Sequence[TracedStep],
    implementation_of: Mapping[OperationCost, Implementation],
    plain_s: float,
    options: Mapping[str, Any],
) -> Run:
    """Return the breakdown of traced steps, with the time of a step without the profiler."""
    times_s = np.array([step.duration_s for step in steps])
    traced_s, validation_s = float(times_s[typical(times_s)].mean()), subject.validation_s()
    step_s = traced_s + validation_s
    breakdown = Breakdown(steps, step_s, roof, implementation_of)
    phases, kinds, layers = breakdown.phases(), breakdown.kinds(), breakdown.layers()
    if validation_s:
        row = Row(Phase.VALIDATION, 0, validation_s, validation_s / step_s)
        phases, kinds, layers = (*phases, row), (*kinds, row), (*layers, LayerRow(**vars(row)))
    rest = unaccounted(phases, step_s)
    return Run(
        what=subject.what,
        engine=subject.engine.name,
        precision=subject.engine.precision,
        threads=torch.get_num_threads(),
        batch_size=subject.batch_size,
        size_px=subject.size_px,
        step_s=step_s,
        spread_s=float(np.subtract(*np.percentile(times_s, (75, 25)))),
        steps=len(steps),
        phases=(*phases, rest),
        kinds=(*kinds, unaccounted(kinds, step_s)),
        layers=(*layers, LayerRow(**vars(unaccounted(layers, step_s)))),
        primitives=breakdown.primitives(),
        unaccounted_share=rest.share,
        overhead_share=traced_s / plain_s - 1,
        plain_s=plain_s + validation_s,
        options=options,
    )


def _time_line(step: TracedStep, data_spans: Sequence[tuple[float, float]], loads: Any) -> TimeLine:
    """Return the time line of a step, in seconds from its beginning."""
    zero_ns, end_ns = step.phases[0][1], step.phases[-1][2]
    main = [
        Span("main thread", piece.name.removeprefix("aten::") or Kind.PYTHON, kind_of(piece), piece.layer,
             (piece.begin_ns - zero_ns) / 1e9, piece.duration_s)
        for piece in step.pieces
    ]  # fmt: skip
    data = [
        Span("data thread", "data", "data", "", begin_s - zero_ns / 1e9, finish_s - begin_s)
        for begin_s, finish_s in data_spans
        if finish_s > zero_ns / 1e9 and begin_s < end_ns / 1e9
    ]
    phases = tuple((name, (begin - zero_ns) / 1e9, (end - zero_ns) / 1e9) for name, begin, end in step.phases)
    return TimeLine(phases, (*main, *data), loads)


def _median(rounds: Sequence[Counters]) -> Counters:
    """Return the median of each number over the rounds; None where the system does not provide it."""
    columns = {name: [getattr(counted, name) for counted in rounds] for name in vars(rounds[0])}
    return Counters(**{name: None if None in row else statistics.median(row) for name, row in columns.items()})
