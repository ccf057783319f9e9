"""Two profiles compared: before and after a change, of two machines, or of two engines.

Runs are matched by task, engine and precision; rows of breakdowns by name, primitives also by shape and phase. Where
the steps work on different numbers of pixels, the times after are scaled to the pixels of a step before.

Scope: differences of two profiles, and their JSON document. Independent of how profiles are measured and shown.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from .profile import Limits, PrimitiveRow, Profile, Row, Run

FORMAT = "roadseg-profile-comparison-1"
BREAKDOWNS = ("phases", "kinds", "layers", "primitives")


@dataclass(frozen=True)
class Difference:
    """A row of a breakdown in both profiles; its time is 0 where it is in one only.

    The time after is that of as many pixels. The difference as a fraction of the step before is `share`, negative where
    it became faster. Primitives also have a kind, phase, shape and implementations, separated by commas.
    """

    name: str
    before_s: float
    after_s: float
    share: float
    kind: str = ""
    phase: str = ""
    shape: str = ""
    implementation_before: str = ""
    implementation_after: str = ""

    @property
    def difference_s(self) -> float:
        """Seconds more than before; negative where it became faster."""
        return self.after_s - self.before_s


@dataclass(frozen=True)
class RunComparison:
    """A run before and the one after that it is compared with, by their names.

    The step after has as many pixels, since times after are multiplied by `scale`. Notes tell other differences of the
    runs. The largest differences come first.
    """

    before: str
    after: str
    step_before_s: float
    step_after_s: float
    scale: float
    notes: tuple[str, ...]
    phases: tuple[Difference, ...]
    kinds: tuple[Difference, ...]
    layers: tuple[Difference, ...]
    primitives: tuple[Difference, ...]

    @property
    def ratio(self) -> float:
        """Time after, as a multiple of that before."""
        return self.step_after_s / self.step_before_s

    @property
    def name(self) -> str:
        """Both names, or the one that both have."""
        return self.before if self.before == self.after else f"{self.before} and {self.after}"


@dataclass(frozen=True)
class LimitDifference:
    """A limit of the machines in FLOP/s, B/s, B or s; 0 where it was not measured."""

    name: str
    unit: str
    before: float
    after: float

    @property
    def ratio(self) -> Optional[float]:
        """The limit after, as a multiple of that before, where both were measured."""
        return self.after / self.before if self.before and self.after else None


@dataclass(frozen=True)
class Comparison:
    """Two profiles compared, without runs where they have no task in common.

    Facts of the machines and versions that differ are texts before and after, empty where a side does not have them.
    """

    hardware_before: str
    hardware_after: str
    runs: tuple[RunComparison, ...]
    limits: tuple[LimitDifference, ...]
    facts: Mapping[str, tuple[str, str]]


def compare(before: Profile, after: Profile) -> Comparison:
    """Return the differences of two profiles."""
    return Comparison(
        hardware_before=before.hardware,
        hardware_after=after.hardware,
        runs=tuple(_compare_runs(*pair) for pair in _pairs(before.runs, after.runs)),
        limits=tuple(_compare_limits(before.limits, after.limits)),
        facts=dict(_compare_facts(before, after)),
    )


def to_document(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as it is written to JSON, without empty members of rows."""
    document = dataclasses.asdict(comparison)
    for written, run in zip(document["runs"], comparison.runs):
        written["ratio"] = run.ratio
        for name in BREAKDOWNS:
            written[name] = [
                {key: value for key, value in vars(row).items() if value != ""} | {"difference_s": row.difference_s}
                for row in getattr(run, name)
            ]
    return {"format": FORMAT, **document}


def _pairs(before: Sequence[Run], after: Sequence[Run]) -> Iterator[tuple[Run, Run]]:
    """Yield which runs are compared: those alike, or the first ones that measure the same."""
    for what in dict.fromkeys(run.what for run in before):
        of_before, of_after = ([run for run in runs if run.what == what] for runs in (before, after))
        firsts = {run.name: run for run in reversed(of_after)}
        alike = [(run, firsts[run.name]) for run in of_before if run.name in firsts]
        yield from alike or zip(of_before[:1], of_after)


def _compare_runs(before: Run, after: Run) -> RunComparison:
    scale = before.batch_size * before.size_px**2 / (after.batch_size * after.size_px**2)
    is_same_batch = before.batch_size == after.batch_size

    def differences(name: str) -> tuple[Difference, ...]:
        sides = [_groups(getattr(run, name), 0 if is_same_batch else run.batch_size) for run in (before, after)]
        found = [
            _difference(sides[0].get(key, []), sides[1].get(key, []), scale, before.step_s)
            for key in {**sides[0], **sides[1]}
        ]
        return tuple(sorted(found, key=lambda difference: -abs(difference.difference_s)))

    return RunComparison(
        before=before.name,
        after=after.name,
        step_before_s=before.step_s,
        step_after_s=after.step_s * scale,
        scale=scale,
        notes=tuple(_notes(before, after, scale)),
        **{name: differences(name) for name in BREAKDOWNS},
    )


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
    options = before.options.keys() | after.options.keys()
    for name in sorted(options - {"batch_size", "chip_px", "tile_px"}):
        values = before.options.get(name), after.options.get(name)
        if values[0] != values[1]:
            yield f"The option {name} was {values[0]} before and {values[1]} after."


def _groups(rows: Sequence[Row], batch_size: int) -> dict[tuple[str, ...], list[Row]]:
    """Return rows by name, primitives also by phase and by shape, in which a batch size other than 0 does not count."""
    leading = re.compile(rf"(?<!\S){batch_size}x")
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        key: tuple[str, ...] = (row.name,)
        if isinstance(row, PrimitiveRow):
            key = (row.name, row.phase, leading.sub("Nx", row.shape) if batch_size else row.shape)
        groups.setdefault(key, []).append(row)
    return groups


def _difference(before: Sequence[Row], after: Sequence[Row], scale: float, step_s: float) -> Difference:
    """Return the difference of rows of the same key."""
    before_s, after_s = (sum(row.time_s for row in rows) for rows in (before, after))
    first = (before or after)[0]
    what: tuple[str, ...] = ()
    if isinstance(first, PrimitiveRow):
        what = (first.kind, first.phase, first.shape, _implementations(before), _implementations(after))
    return Difference(first.name, before_s, after_s * scale, (after_s * scale - before_s) / step_s, *what)


def _implementations(rows: Sequence[Row]) -> str:
    names = (row.implementation for row in rows if isinstance(row, PrimitiveRow) and row.implementation)
    return ", ".join(dict.fromkeys(names))


def _compare_limits(before: Limits, after: Limits) -> Iterator[LimitDifference]:
    for dtype in ("fp32", "bf16", "int8"):
        if before.peak(dtype) or after.peak(dtype):
            yield LimitDifference(f"{dtype} peak", "FLOP/s", before.peak(dtype), after.peak(dtype))
    yield LimitDifference("memory bandwidth", "B/s", before.memory_per_s, after.memory_per_s)
    yield LimitDifference("cache bandwidth", "B/s", before.cache_per_s, after.cache_per_s)
    yield LimitDifference("last-level cache", "B", before.cache_bytes, after.cache_bytes)
    yield LimitDifference("start of an OpenMP region", "s", before.parallel_region_s, after.parallel_region_s)


def _compare_facts(before: Profile, after: Profile) -> Iterator[tuple[str, tuple[str, str]]]:
    sides = {**before.limits.machine, **before.versions}, {**after.limits.machine, **after.versions}
    for name in {**sides[0], **sides[1]}:
        old, new = ("" if side.get(name) is None else str(side[name]) for side in sides)
        if old != new:
            yield name, (old, new)
