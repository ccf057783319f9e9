"""The reports of profile and of compareprofiles, each as one HTML page.

Scope: the content of both. Independent of how profiles are measured and compared, and of what all reports share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..jobs import CompareProfiles
from ..jobs import Profile as ProfileJob
from ..profiling.profile import Limits, Profile, Rate, Run
from ..profiling.profile_comparison import Comparison, RunComparison
from .colors import GREEN, KIND_COLORS, PHASE_COLORS, VERMILION, kind_color, phase_color
from .page import ReportRecord, write_page
from .profile_charts import flame_graph, memory_curve, time_line
from .quantities import NONE, calls, number, percent, quantity, seconds
from .roofline import roofline

# Longer tables are cut; the JSON document has all rows.
MAX_ROWS, MAX_ADVICE, MAX_DIFFERENCES = 20, 50, 25
_BREAKDOWNS = {"Phases": "phases", "Kinds of operations": "kinds", "Layers": "layers", "Primitives": "primitives"}
# How numbers are written, for templates.
WRITERS = {
    "seconds": seconds,
    "quantity": quantity,
    "percent": percent,
    "number": number,
    "calls": calls,
    "kind_color": kind_color,
}
_NAMED_LOSSES = 3
# Options of a step that are not shown: off, or shown as images per step.
_OFF, _SHOWN_ELSEWHERE = ("no", "live", 0, -1, 1), ("batch_size", "chip_px", "tile_px")
# Facts of `system.machine`.
_CAPTIONS = {
    "cpus": "Logical processors",
    "cores": "Physical cores",
    "threads_a_core": "Threads a core (SMT)",
    "numa_nodes": "NUMA nodes",
    "governor": "Frequency governor",
    "huge_pages": "Transparent huge pages",
    "allocator": "Memory allocator",
    "keeps_freed_memory": "Freed memory stays in the process",
    "container_cores": "Container limit, cores",
    "container_memory_left_bytes": "Container limit, memory left",
    "instruction_sets": "Instruction sets",
    "instruction_sets_limited_by": "Instruction sets limited by",
    "frequency_idle_mhz": "Frequency, idle",
    "frequency_load_mhz": "Frequency, under load",
    "scaling": "Scaling from one to all threads",
}
_NONE_IS_NO_LIMIT = ("container_cores", "container_memory_left_bytes", "instruction_sets_limited_by")


@dataclass(frozen=True)
class Headroom:
    """How far a step is from the machine's limits.

    Operations with a known roof would take `ideal_s` at it and lose `lost_s` by kind, the largest first. The rest of
    the step takes `other_s`.
    """

    ideal_s: float
    lost_s: Mapping[str, float]
    other_s: float


def headroom_of(run: Run) -> Headroom:
    """Return how far a run is from the machine's limits, from its primitives."""
    ideal_s, roofed_s = 0.0, 0.0
    lost_s: dict[str, float] = {}
    for row in run.primitives:
        if row.roof_share is not None:
            reached = min(row.roof_share, 1.0)
            roofed_s += row.time_s
            ideal_s += reached * row.time_s
            lost_s[row.kind] = lost_s.get(row.kind, 0.0) + (1 - reached) * row.time_s
    largest_first = dict(sorted(lost_s.items(), key=lambda item: -item[1]))
    return Headroom(ideal_s, largest_first, max(run.step_s - roofed_s, 0.0))


def write_profile_report(profile: Profile, path: Path) -> None:
    """Write the report of a profile as one self-contained HTML file without scripts."""
    record = ReportRecord(options=profile.options, warnings=profile.warnings, versions=profile.versions)
    write_page(
        "profile.html.j2",
        path,
        ProfileJob,
        record,
        profile=profile,
        summary=list(_summary(profile)),
        limits=_limits_table(profile.limits),
        facts=dict(_facts(profile)),
        runs=[_view(run, profile.limits, index) for index, run in enumerate(profile.runs)],
        advice=profile.advice[:MAX_ADVICE],
        **WRITERS,
    )


def _summary(profile: Profile) -> Iterator[str]:
    """Yield the distance of the main run from the limit, its largest losses, and the first advice."""
    if not profile.runs:
        yield "No step could be profiled; only the limits of this computer were measured."
        return
    run = profile.runs[0]
    headroom = headroom_of(run)
    subject = "A training step" if run.what == "training" else "The segmentation of a tile"
    ideal = (
        f"at the measured limits of this computer its operations would take {seconds(headroom.ideal_s)} "
        f"({percent(headroom.ideal_s / run.step_s)})"
        if headroom.ideal_s
        else "how fast this computer could do that is not known"
    )
    yield f"{subject} with {run.engine} {run.precision} takes {seconds(run.step_s)}; {ideal}."
    lost = [f"{seconds(lost_s)} in {kind}" for kind, lost_s in list(headroom.lost_s.items())[:_NAMED_LOSSES] if lost_s]
    if lost:
        yield f"Beyond that, it loses {', '.join(lost)}, and {seconds(headroom.other_s)} outside of such operations."
    if profile.advice:
        first = profile.advice[0]
        yield f"First advice: {first.rule}."
        if first.trial:
            yield f"It saved {percent(first.trial.gain)} of the time."
        elif first.gain:
            yield f"It would save an estimated {percent(first.gain)} of the time."


def _view(run: Run, limits: Limits, index: int) -> dict[str, Any]:
    """Return the values of a run for the page."""
    name = f"{run.name} ({index + 1})"  # two runs may have the same name, charts may not
    kinds = dict.fromkeys([*(row.kind for row in run.primitives), *(span.kind for span in run.time_line.spans)])
    return {
        "run": run,
        "headroom": headroom_of(run),
        "facts": dict(_run_facts(run)),
        "tables": {title: (rows[:MAX_ROWS], len(rows)) for title, rows in _tables(run).items()},
        "kinds": [(kind, kind_color(kind)) for kind in KIND_COLORS if kind in kinds],
        "phases": [(phase, phase_color(phase)) for phase, _, _ in run.time_line.phases if phase in PHASE_COLORS],
        "roofline": roofline(f"Roofline of {name}", run, limits),
        "flame_graph": flame_graph(f"Flame graph of {name}", run.layers),
        "time_line_s": max((end_s for _, _, end_s in run.time_line.phases), default=0.0),
        "time_line": time_line(f"Time line of {name}", run.time_line),
        "memory": memory_curve(f"Memory of {name}", run.memory),
        "peaks": run.memory.peaks(),
    }


def _tables(run: Run | RunComparison) -> dict[str, Any]:
    """Return the rows of each breakdown by its title."""
    return {title: getattr(run, name) for title, name in _BREAKDOWNS.items()}


def _run_facts(run: Run) -> Iterator[tuple[str, str]]:
    yield "Measured", f"{run.steps:,} steps, interquartile range {seconds(run.spread_s)}"
    if run.plain_s:
        yield "Without the profiler", seconds(run.plain_s)
    yield "Images a step", f"{run.batch_size} of {run.size_px} px"
    yield "Threads", f"{run.threads}"
    counters = run.counters
    for name, value in (
        ("Page faults a step", number(counters.page_faults)),
        ("Processor time of the system", percent(counters.system_share)),
        ("Stolen by others", percent(counters.stolen_share)),
        ("Threads busy", percent(counters.busy_share)),
        ("Involuntary context switches a step", number(counters.waits)),
    ):
        yield name, value
    labels = {field.name: field.option.label for field in ProfileJob.option_fields()}
    for name, value in run.options.items():
        if value not in _OFF and name not in _SHOWN_ELSEWHERE:
            yield labels.get(name, str(name)), str(value)


def _limits_table(limits: Limits) -> tuple[list[int], list[tuple[str, list[tuple[str, str]]]]]:
    """Return the numbers of threads, and a row of rates with these for each limit."""
    limits_by_name: dict[str, tuple[Sequence[Rate], str]] = {}
    for title, peaks in (("convolution", limits.convolution), ("matrix product", limits.matrix)):
        for dtype, rates in peaks.items():
            limits_by_name[f"{title}, {dtype}"] = rates, "OP/s" if dtype == "int8" else "FLOP/s"
    for name, rates in limits.bandwidth.items():
        limits_by_name[f"memory, {name}"] = rates, "B/s"
    threads = sorted({rate.threads for rates, _ in limits_by_name.values() for rate in rates})
    return threads, [(name, [_cell(count, *limit) for count in threads]) for name, limit in limits_by_name.items()]


def _cell(threads: int, rates: Sequence[Rate], unit: str) -> tuple[str, str]:
    """Return a rate, and its multiple of the rate with the fewest threads."""
    measured = [rate.per_s for rate in rates if rate.threads == threads]
    if not measured:
        return NONE, ""
    first = min(rates, key=lambda rate: rate.threads)
    return quantity(measured[0], unit), f"\u00d7 {measured[0] / first.per_s:.1f}" if threads > first.threads else ""


def _facts(profile: Profile) -> Iterator[tuple[str, str]]:
    limits = profile.limits
    yield "Processor", profile.hardware
    yield "Last-level cache", f"{quantity(limits.cache_bytes or None, 'B')}, {quantity(limits.cache_per_s, 'B/s')}"
    yield "Start of an OpenMP region", seconds(limits.parallel_region_s)
    for name, value in limits.machine.items():
        yield _CAPTIONS.get(name, str(name)), _fact(name, value)


def _fact(name: str, value: Any) -> str:
    """Return a fact about the machine, with its unit."""
    if value is None:
        return "none" if name in _NONE_IS_NO_LIMIT else "not readable"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "scaling":
        return percent(value)
    if name.endswith("_bytes"):
        return quantity(value, "B")
    return f"{value:.0f} MHz" if name.endswith("_mhz") else str(value)


@dataclass(frozen=True, kw_only=True)
class ComparisonRecord(ReportRecord):
    """The content of the report of a comparison, in addition to that of all reports, with names of the profiles."""

    before: str
    after: str
    comparison: Comparison


def write_comparison_report(record: ComparisonRecord, path: Path) -> None:
    """Write the report of a comparison with at least one run as one self-contained HTML file without scripts."""
    write_page(
        "compareprofiles.html.j2",
        path,
        CompareProfiles,
        record,
        summary=[
            f"{run.name[0].upper()}{run.name[1:]}: {seconds(run.step_before_s)} before, {seconds(run.step_after_s)} "
            f"after: {change(run.ratio)}."
            for run in record.comparison.runs[:2]
        ],
        runs=[_comparison_view(run) for run in record.comparison.runs],
        faster_color=GREEN,
        slower_color=VERMILION,
        **WRITERS,
    )


def change(ratio: float) -> str:
    """Return a ratio of times in words: 1.25 times as fast, 1.1 times as long, the same time."""
    if abs(ratio - 1) < 0.005 or not ratio:
        return "the same time"
    return f"{1 / ratio:.3g} times as fast" if ratio < 1 else f"{ratio:.3g} times as long"


def _comparison_view(run: RunComparison) -> dict[str, Any]:
    """Return the values of a pair of runs for the page; the largest share of differences scales their bars."""
    tables = {}
    for title, rows in _tables(run).items():
        largest = max((abs(row.share) for row in rows), default=0.0) or 1.0
        tables[title] = rows[:MAX_DIFFERENCES], len(rows), largest
    return {"run": run, "change": change(run.ratio), "tables": tables}
