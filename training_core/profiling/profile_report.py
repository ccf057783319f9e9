"""The reports of profile and of compareprofiles, each as one HTML page.

Scope: the content of both. Independent of how profiles are measured and compared; `reports` has the parts of all pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..jobs import CompareProfiles
from ..jobs import Profile as ProfileJob
from ..reports.charts import drawing
from ..reports.colors import AXIS, BLUE, BROWN, GRAY, GREEN, INK, ORANGE, PALE, PURPLE, SKY, VERMILION, WHITE, YELLOW
from ..reports.page import ReportRecord, write_page
from ..reports.quantities import NONE, calls, number, percent, quantity, seconds
from .profile import BREAKDOWNS, Kind, Limits, Profile, Rate, Run, frame_of
from .profile_comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Longer tables are cut; the JSON document has all rows.
MAX_ROWS, MAX_DIFFERENCES = 20, 25
_TITLES = dict(zip(BREAKDOWNS, ("Phases", "Kinds of operations", "Layers", "Primitives")))
KIND_COLORS = {
    Kind.CONVOLUTION: BLUE,
    Kind.NORMALIZATION: ORANGE,
    Kind.ACTIVATION: GREEN,
    Kind.POOLING: SKY,
    Kind.UPSAMPLING: PURPLE,
    Kind.ADDITION: YELLOW,
    Kind.LOSS: VERMILION,
    Kind.OPTIMIZER: BROWN,
    Kind.COPY: INK,
    Kind.PYTHON: GRAY,
    Kind.OTHER: PALE,
}
# How numbers are written, for templates.
WRITERS: dict[str, Any] = {"seconds": seconds, "quantity": quantity, "percent": percent, "number": number}
WRITERS |= {"calls": calls, "kind_colors": KIND_COLORS}
_NAMED_LOSSES = 3
# Options of a step that are not shown: off, or shown as images per step.
_OFF, _SHOWN_ELSEWHERE = ("no", "live", 0, -1, 1), ("batch_size", "chip_px", "tile_px")
# Facts of `machine_facts` and `limits`.
_CAPTIONS = {
    "cpus": "Logical processors",
    "cores": "Physical cores",
    "numa_nodes": "NUMA nodes",
    "governor": "Frequency governor",
    "keeps_freed_memory": "Freed memory stays in the process",
    "container_cores": "Container limit, cores",
    "frequency_idle_mhz": "Frequency, idle",
    "frequency_load_mhz": "Frequency, under load",
}
_NONE_IS_NO_LIMIT = ("container_cores", "instruction_sets_limited_by")
# The roofline plot: how many primitives it shows, how many have a number, and the area of the longest one.
_SHOWN, _NUMBERED, _AREA = 120, 6, 260
_MARGIN = 1.6


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
    rows = frame_of(run.primitives).dropna(subset="roof_share")
    ideal_s = rows["roof_share"].clip(upper=1.0) * rows["time_s"]
    lost_s = (rows["time_s"] - ideal_s).groupby(rows["kind"]).sum().sort_values(ascending=False)
    return Headroom(float(ideal_s.sum()), lost_s.to_dict(), max(run.step_s - float(rows["time_s"].sum()), 0.0))


def write_profile_report(profile: Profile, path: Path) -> None:
    """Write the report of a profile as one self-contained HTML file without scripts."""
    record = ReportRecord(options=profile.options, warnings=profile.warnings, versions=profile.versions)
    write_page(
        "profile.html.j2",
        path,
        ProfileJob,
        record,
        summary=list(_summary(profile)),
        limits=_limits_table(profile.limits),
        facts=dict(_facts(profile)),
        runs=[_view(run, profile.limits, f"{run.name} ({index})") for index, run in enumerate(profile.runs, 1)],
        advice=profile.advice,
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


def _view(run: Run, limits: Limits, name: str) -> dict[str, Any]:
    """Return the values of a run for the page; `name` is unique on it, as names of charts must be."""
    tables = {title: getattr(run, breakdown) for breakdown, title in _TITLES.items()}
    kinds = {Kind.PYTHON, *(row.kind for row in run.primitives)}
    return {
        "run": run,
        "headroom": headroom_of(run),
        "facts": dict(_run_facts(run)),
        "tables": {title: (rows[:MAX_ROWS], len(rows)) for title, rows in tables.items()},
        "kinds": [(kind, color) for kind, color in KIND_COLORS.items() if kind in kinds],
        "phases": phase_chart(f"Time by phase and kind of operation: {name}", run),
        "roofline": roofline(f"Roofline of {name}", run, limits),
    }


def phase_chart(name: str, run: Run) -> str:
    """Return a chart of the time of each phase by kind of operation as SVG; empty without primitives."""
    phase_s = pd.Series({row.name: row.time_s for row in run.phases if row.time_s > 0}, dtype=float)
    if not run.primitives or phase_s.empty:
        return ""
    # Seconds of each phase (rows) in each kind of operation (columns); Python takes the rest.
    times_s = frame_of(run.primitives).pivot_table(index="phase", columns="kind", values="time_s", aggfunc="sum")
    times_s = times_s.reindex(index=phase_s.index, columns=list(KIND_COLORS)).fillna(0.0)
    times_s[Kind.PYTHON] += (phase_s - times_s.sum(axis=1)).clip(lower=0.0)
    left_s = times_s.cumsum(axis=1) - times_s

    def draw(axes: Axes) -> None:
        for kind, color in KIND_COLORS.items():
            axes.barh(range(len(phase_s)), times_s[kind], left=left_s[kind], color=color, height=0.7, edgecolor=WHITE,
                      lw=0.4)  # fmt: skip
        axes.set_yticks(range(len(phase_s)), phase_s.index)
        axes.invert_yaxis()
        axes.xaxis.set_major_formatter(lambda value, _: seconds(value))

    return drawing(name, draw, (8.6, 0.8 + 0.34 * len(phase_s)))


def roofline(name: str, run: Run, limits: Limits) -> str:
    """Return the roofline plot of a run as SVG, after Williams et al. (2009); empty if no primitive has FLOP and bytes.

    It shows the FLOP/s that each primitive achieves, by its arithmetic intensity, under the measured roofs. Areas are
    times; the longest primitives have their numbers in the table of primitives.
    """
    rows = frame_of(run.primitives[:_SHOWN])
    rows = rows[(rows["flop"] >= 1) & (rows["bytes"] >= 1) & (rows["time_s"] > 1e-12)]
    if rows.empty:
        return ""
    x, y = rows["flop"] / rows["bytes"], rows["flop"] / rows["time_s"]
    peaks = {dtype: limits.peak(dtype) for dtype in ("fp32", "bf16", "int8") if limits.peak(dtype) > 0}
    slopes = {"memory": limits.memory_per_s, "cache": limits.cache_per_s}
    slopes = {where: per_s for where, per_s in slopes.items() if per_s > 0}
    # All primitives, and where the roofs meet, are on the plot.
    ridges = [peak / per_s for peak in peaks.values() for per_s in slopes.values()]
    left, right = min([*x, *ridges]) / _MARGIN, max([*x, *ridges]) * _MARGIN
    bottom, top = min(y) / _MARGIN, max([*y, *peaks.values()])

    def draw(axes: Axes) -> None:
        areas = (_AREA * rows["time_s"] / rows["time_s"].max()).clip(lower=12.0)
        colors = [KIND_COLORS.get(kind, PALE) for kind in rows["kind"]]
        axes.scatter(x, y, s=areas, c=colors, alpha=0.75, edgecolors=WHITE, linewidths=0.8, zorder=3)
        for place in rows.index[:_NUMBERED]:
            axes.annotate(str(place + 1), (x[place], y[place]), (7, 7), textcoords="offset points", color=INK, zorder=4)
        for (where, per_s), style in zip(slopes.items(), ("-", "--")):
            begin, highest = max(left, bottom / per_s), max(peaks.values(), default=top)
            axes.plot([begin, highest / per_s], [begin * per_s, highest], style, color=INK, lw=1.2)
            axes.annotate(f"{where} {quantity(per_s, 'B/s')}", (begin, begin * per_s), (8, 2),
                          textcoords="offset points", color=AXIS)  # fmt: skip
        for (dtype, peak), style in zip(peaks.items(), ("-", "--", ":")):
            begin = peak / max(slopes.values()) if slopes else left
            axes.plot([begin, right], [peak, peak], style, color=INK, lw=1.2)
            unit = "OP/s" if dtype == "int8" else "FLOP/s"
            axes.annotate(f"{dtype.upper()} peak {quantity(peak, unit)}", (right, peak), (-4, 3), ha="right",
                          textcoords="offset points", color=AXIS)  # fmt: skip
        axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(bottom, top * _MARGIN))
        axes.set_xlabel("arithmetic intensity in FLOP a byte", color=AXIS)
        axes.yaxis.set_major_formatter(lambda value, _: quantity(value, "FLOP/s"))

    return drawing(name, draw, (8.6, 4.4))


def _run_facts(run: Run) -> Iterator[tuple[str, str]]:
    yield "Measured", f"{run.steps:,} steps, interquartile range {seconds(run.spread_s)}"
    if run.plain_s:
        yield "Without the profiler", seconds(run.plain_s)
    yield "Images a step", f"{run.batch_size} of {run.size_px} px"
    yield "Threads", f"{run.threads}"
    counters = run.counters
    yield "Page faults a step", number(counters.page_faults)
    yield "Processor time of the system", percent(counters.system_share)
    yield "Stolen by others", percent(counters.stolen_share)
    labels = {field.name: field.option.label for field in ProfileJob.option_fields()}
    for name, value in run.options.items():
        if value not in _OFF and name not in _SHOWN_ELSEWHERE:
            yield labels.get(name, str(name)), str(value)


def _limits_table(limits: Limits) -> tuple[list[int], list[tuple[str, list[tuple[str, str]]]]]:
    """Return the numbers of threads, and a row of rates with these for each limit."""
    rates_by_name: dict[str, tuple[Sequence[Rate], str]] = {}
    for title, peaks in (("convolution", limits.convolution), ("matrix product", limits.matrix)):
        for dtype, rates in peaks.items():
            rates_by_name[f"{title}, {dtype}"] = rates, "OP/s" if dtype == "int8" else "FLOP/s"
    for name, rates in limits.bandwidth.items():
        rates_by_name[f"memory, {name}"] = rates, "B/s"
    threads = sorted({rate.threads for rates, _ in rates_by_name.values() for rate in rates})
    return threads, [(name, [_cell(count, *rates) for count in threads]) for name, rates in rates_by_name.items()]


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
        yield _CAPTIONS.get(name, name.replace("_", " ").capitalize()), _fact(name, value)


def _fact(name: str, value: Any) -> str:
    """Return a fact about the machine, with its unit."""
    if value is None:
        return "none" if name in _NONE_IS_NO_LIMIT else "not readable"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.0f} MHz" if name.endswith("_mhz") else str(value)


@dataclass(frozen=True, kw_only=True)
class ComparisonRecord(ReportRecord):
    """The content of the report of a comparison, in addition to that of all reports."""

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
        change=change,
        titles=_TITLES,
        max_rows=MAX_DIFFERENCES,
        faster_color=GREEN,
        slower_color=VERMILION,
        **WRITERS,
    )


def change(ratio: float) -> str:
    """Return a ratio of times in words: 1.25 times as fast, 1.1 times as long, the same time."""
    if abs(ratio - 1) < 0.005 or not ratio:
        return "the same time"
    return f"{1 / ratio:.3g} times as fast" if ratio < 1 else f"{ratio:.3g} times as long"
