"""Two profiles compared: before and after a change, of two machines, or of two engines.

Runs are matched by task, engine and precision; rows of breakdowns by name, primitives also by shape and phase. Where
the steps work on different numbers of pixels, the times after are scaled to the pixels of a step before.

Scope: differences of two profiles, and their JSON document. Independent of how profiles are measured and shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .profile import BREAKDOWNS, Profile, Run, frame_of

FORMAT = "roadseg-profile-comparison-1"
_SHOWN_ELSEWHERE = ("batch_size", "chip_px", "tile_px")


@dataclass(frozen=True)
class RunComparison:
    """A run before and the one after that it is compared with, by their names.

    The step after has as many pixels, since times after are multiplied by `scale`. Notes tell other differences of the
    runs. Each breakdown has a table of differences, the largest first. Its columns are name, before_s and after_s, 0
    where a row is in one profile only; difference_s, negative where it became faster, and share, the same as a fraction
    of the step before; and of primitives kind, phase, shape, implementation_before and implementation_after.
    """

    before: str
    after: str
    step_before_s: float
    step_after_s: float
    scale: float
    notes: tuple[str, ...]
    tables: Mapping[str, pd.DataFrame]

    @property
    def ratio(self) -> float:
        """Time after, as a multiple of that before."""
        return self.step_after_s / self.step_before_s

    @property
    def name(self) -> str:
        """Both names, or the one that both have."""
        return self.before if self.before == self.after else f"{self.before} and {self.after}"


@dataclass(frozen=True)
class Comparison:
    """Two profiles compared, without runs where they have no task in common.

    Limits are those of the machines before and after by name, each with its unit: FLOP/s, B/s, B or s; 0 where it was
    not measured. Facts of the machines and versions that differ are texts before and after, empty where a side does not
    have them.
    """

    hardware: tuple[str, str]
    runs: tuple[RunComparison, ...]
    limits: Mapping[str, tuple[str, float, float]]
    facts: Mapping[str, tuple[str, str]]


def compare(before: Profile, after: Profile) -> Comparison:
    """Return the differences of two profiles."""
    limits = [dict(_limits_of(profile)) for profile in (before, after)]
    facts = [
        {name: "" if value is None else str(value) for name, value in {**each.limits.machine, **each.versions}.items()}
        for each in (before, after)
    ]
    sides = {name: (facts[0].get(name, ""), facts[1].get(name, "")) for name in {**facts[0], **facts[1]}}
    return Comparison(
        hardware=(before.hardware, after.hardware),
        runs=tuple(_compare_runs(*pair) for pair in _pairs(before.runs, after.runs)),
        limits={
            name: (unit, limits[0][name, unit], limits[1][name, unit])
            for name, unit in limits[0]
            if limits[0][name, unit] or limits[1][name, unit]
        },
        facts={name: (old, new) for name, (old, new) in sides.items() if old != new},
    )


def to_document(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as it is written to JSON, without empty members of rows."""
    runs = []
    for run in comparison.runs:
        members = {name: value for name, value in vars(run).items() if name != "tables"}
        for name, table in run.tables.items():
            members[name] = [
                {key: value for key, value in row.items() if value != ""} for row in table.to_dict("records")
            ]
        runs.append({**members, "ratio": run.ratio})
    limits = [
        {"name": name, "unit": unit, "before": before, "after": after}
        for name, (unit, before, after) in comparison.limits.items()
    ]
    hardware = dict(zip(("hardware_before", "hardware_after"), comparison.hardware))
    return {"format": FORMAT, **hardware, "runs": runs, "limits": limits, "facts": comparison.facts}


def _pairs(before: Sequence[Run], after: Sequence[Run]) -> Iterator[tuple[Run, Run]]:
    """Yield which runs are compared: those alike, or the first ones that measure the same."""
    for what in dict.fromkeys(run.what for run in before):
        of_before, of_after = ([run for run in runs if run.what == what] for runs in (before, after))
        firsts = {run.name: run for run in reversed(of_after)}
        alike = [(run, firsts[run.name]) for run in of_before if run.name in firsts]
        yield from alike or zip(of_before[:1], of_after)


def _compare_runs(before: Run, after: Run) -> RunComparison:
    scale = before.batch_size * before.size_px**2 / (after.batch_size * after.size_px**2)
    return RunComparison(
        before=before.name,
        after=after.name,
        step_before_s=before.step_s,
        step_after_s=after.step_s * scale,
        scale=scale,
        notes=tuple(_notes(before, after, scale)),
        tables={name: _differences(before, after, name, scale) for name in BREAKDOWNS},
    )


def _differences(before: Run, after: Run, breakdown: str, scale: float) -> pd.DataFrame:
    """Return the table of differences of a breakdown; see `RunComparison`."""
    keys = ["name", "phase", "shape"]
    sides = []
    for run in (before, after):
        rows = frame_of(getattr(run, breakdown))
        rows["whole_shape"] = rows["shape"]
        if before.batch_size != after.batch_size:  # shapes begin with it
            rows["shape"] = rows["shape"].str.replace(rf"(?<!\S){run.batch_size}x", "Nx", regex=True)
        figures = {
            "time_s": ("time_s", "sum"),
            "kind": ("kind", "first"),
            "whole_shape": ("whole_shape", "first"),
            "implementation": ("implementation", lambda names: ", ".join(filter(None, names.unique()))),
        }
        sides.append(rows.groupby(keys, as_index=False, sort=False).agg(**figures))
    both = pd.concat(side[keys] for side in sides).drop_duplicates()
    both = both.merge(sides[0], "left", keys).merge(sides[1], "left", keys, suffixes=("_before", "_after"))
    before_s, after_s = both["time_s_before"].fillna(0.0), both["time_s_after"].fillna(0.0) * scale
    table = pd.DataFrame(
        {
            "name": both["name"],
            "before_s": before_s,
            "after_s": after_s,
            "difference_s": after_s - before_s,
            "share": (after_s - before_s) / before.step_s,
            "kind": both["kind_before"].fillna(both["kind_after"]),
            "phase": both["phase"],
            "shape": both["whole_shape_before"].fillna(both["whole_shape_after"]),
            "implementation_before": both["implementation_before"].fillna(""),
            "implementation_after": both["implementation_after"].fillna(""),
        }
    )
    return table.sort_values("difference_s", key=lambda column: -column.abs(), kind="stable")


def _notes(before: Run, after: Run, scale: float) -> Iterator[str]:
    if scale != 1:
        steps = [f"{run.batch_size} images of {run.size_px} px" for run in (before, after)]
        yield (
            f"A step has {steps[0]} before and {steps[1]} after. The times after are multiplied by {scale:.4g}, so "
            "that they refer to the pixels of a step before."
        )
    if before.threads != after.threads:
        yield f"Before it ran with {before.threads} threads, after with {after.threads}."
    if before.name != after.name:
        yield (
            f"Before it was {before.engine} {before.precision}, after {after.engine} {after.precision}: operations of "
            "different names are listed with 0 s on the other side."
        )
    for name in sorted((before.options.keys() | after.options.keys()) - set(_SHOWN_ELSEWHERE)):
        values = before.options.get(name), after.options.get(name)
        if values[0] != values[1]:
            yield f"The option {name} was {values[0]} before and {values[1]} after."


def _limits_of(profile: Profile) -> Iterator[tuple[tuple[str, str], float]]:
    limits = profile.limits
    for dtype in ("fp32", "bf16", "int8"):
        yield (f"{dtype} peak", "FLOP/s"), limits.peak(dtype)
    yield ("memory bandwidth", "B/s"), limits.memory_per_s
    yield ("cache bandwidth", "B/s"), limits.cache_per_s
    yield ("last-level cache", "B"), limits.cache_bytes
    yield ("start of an OpenMP region", "s"), limits.parallel_region_s
