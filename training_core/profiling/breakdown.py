"""Breakdown of traced steps: rows by phase, kind of operation, layer and primitive, each with its fraction of the roof.

The roof of an operation is the roofline model's (Williams et al., 2009): the machine would need at least the time for
its floating-point operations at the measured peak, and that for its bytes at the measured bandwidth; the longer one
bounds it.

Scope: numbers of traced steps. Independent of how they were traced and shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from .operation_costs import Implementation, OperationCost
from .profile import Bound, Kind, LayerRow, Limits, Phase, PrimitiveRow, Row
from .step_trace import Piece, TracedStep

# Parts of operations' names, by kind; the first that fits counts.
_KINDS = {
    Kind.NORMALIZATION: ("batch_norm",),
    Kind.CONVOLUTION: ("convolution", "conv_transpose", "mm", "linear"),
    Kind.ACTIVATION: ("relu", "threshold_backward", "sigmoid", "clamp_min"),
    Kind.POOLING: ("pool",),
    Kind.UPSAMPLING: ("upsample",),
    Kind.COPY: ("copy", "clone", "cat", "stack", "zero", "fill", "contiguous", "reorder", "empty", "slice_backward"),
    Kind.ADDITION: ("add", "sum", "mul"),
}
INPUT = "input"
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Roof:
    """The limits that bound operations: peaks by number format in FLOP a second, and bandwidths in bytes a second.

    Operations on no more than `cached_bytes` are held in the last-level cache.
    """

    peaks: Mapping[str, float]
    memory_per_s: float
    cache_per_s: float
    cached_bytes: float

    def least_s(self, flop: float, bytes_: float, dtype: str) -> tuple[float, str]:
        """Return the shortest time that the machine can need, and what bounds it: COMPUTE, MEMORY or CACHE.

        The time is 0 and the bound empty where no limit is known. `flop` counts operations in the format `dtype`, and
        `bytes_` the memory traffic.
        """
        peak = self.peaks.get(dtype, 0.0)
        is_cached = bytes_ <= self.cached_bytes and self.cache_per_s > self.memory_per_s
        per_s, where = (self.cache_per_s, Bound.CACHE) if is_cached else (self.memory_per_s, Bound.MEMORY)
        compute_s, transfer_s = flop / peak if peak else 0.0, bytes_ / per_s if per_s else 0.0
        if not compute_s and not transfer_s:
            return 0.0, ""
        return (compute_s, Bound.COMPUTE) if compute_s >= transfer_s else (transfer_s, where)


def roof_of(limits: Limits) -> Roof:
    """Return the roofs that a machine's measured limits make."""
    formats = {*limits.convolution, *limits.matrix}
    return Roof(
        {dtype: limits.peak(dtype) for dtype in formats},
        limits.memory_per_s,
        limits.cache_per_s,
        limits.cache_bytes / 2,
    )


def kind_of(piece: Piece) -> str:
    """Return the kind of a piece of a step."""
    if not piece.name:
        return Kind.PYTHON
    if piece.phase == Phase.OPTIMIZER_STEP:
        return Kind.OPTIMIZER
    if piece.layer == Kind.LOSS:
        return Kind.LOSS
    name = piece.name.rpartition("::")[2].lower()
    return next((kind for kind, parts in _KINDS.items() if any(part in name for part in parts)), Kind.OTHER)


def with_outer_layers(step: TracedStep, after_model: str) -> TracedStep:
    """Return a step in which operations outside of the model belong to a layer, too.

    Those after the model in the forward pass, and their gradients, belong to the layer `after_model`: loss or output.
    Operations before it are the input, and other phases are layers of their own names.
    """
    pieces, phase, has_begun = [], "", False
    for piece in step.pieces:
        # Of several batches in a step, each begins with its input.
        has_begun = bool(piece.layer) or (has_begun and not (piece.phase == Phase.FORWARD != phase))
        phase = piece.phase
        outer = {Phase.FORWARD: after_model if has_begun else INPUT, Phase.BACKWARD: after_model}.get(phase, phase)
        pieces.append(replace(piece, layer=piece.layer or outer))
    return replace(step, pieces=tuple(pieces))


@dataclass
class _Sums:
    """Sums of one step over the pieces that make up a row."""

    calls: int = 0
    time_s: float = 0.0
    flop: float = 0.0
    bytes: float = 0.0
    least_s: float = 0.0

    def add(self, piece: Piece, roof: Roof) -> str:
        """Add a piece; return its bound."""
        self.time_s += piece.duration_s
        if piece.cost is None:
            return ""
        cost = piece.cost
        least_s, bound = roof.least_s(cost.flop, cost.bytes, cost.dtype)
        self.calls += 1
        self.flop += cost.flop
        self.bytes += cost.bytes
        self.least_s += least_s
        return bound


class _Table(Generic[Key]):
    """Rows over several steps; `key` gives the row of a piece."""

    def __init__(self, steps: Sequence[TracedStep], key: Callable[[Piece], Key], roof: Roof) -> None:
        self._sums: list[dict[Key, _Sums]] = []
        self._bound_s: dict[Key, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for step in steps:
            sums: dict[Key, _Sums] = defaultdict(_Sums)
            for piece in step.pieces:
                bound = sums[key(piece)].add(piece, roof)
                if bound:
                    self._bound_s[key(piece)][bound] += piece.duration_s
            self._sums.append(sums)
        self.keys = list(dict.fromkeys(key for sums in self._sums for key in sums))
        self._is_typical = typical([step.duration_s for step in steps])

    def _times_s(self, key: Key) -> np.ndarray:
        """Return the time of a row in each step, (steps,), float64."""
        return np.array([sums[key].time_s if key in sums else 0.0 for sums in self._sums])

    def time_s(self, key: Key) -> float:
        """Return the time of a row in a typical step."""
        return float(np.mean(self._times_s(key)[self._is_typical]))

    def row(self, key: Key, name: str, step_s: float) -> Row:
        """Return the row of a key, for a typical step of `step_s` seconds."""
        time_s = self.time_s(key)
        first = next((sums[key] for sums in self._sums if key in sums), _Sums())
        has_roof = first.least_s > 0 and time_s > 0
        bound_s = self._bound_s[key]
        return Row(
            name,
            first.calls,
            time_s,
            time_s / step_s,
            float(np.subtract(*np.percentile(self._times_s(key), (75, 25)))),
            first.flop or None,
            first.bytes or None,
            first.least_s / time_s if has_roof else None,
            max(bound_s, key=bound_s.__getitem__) if has_roof else "",
        )


def typical(times_s: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return which steps are typical: the middle half by their time, (steps,), bool.

    Means over these add up to the step, as medians of single rows do not.
    """
    low, high = np.percentile(times_s, (25, 75), method="nearest")
    return (np.asarray(times_s) >= low) & (np.asarray(times_s) <= high)


def unaccounted(rows: Iterable[Row], step_s: float) -> Row:
    """Return the row of the time that other rows leave of a step."""
    left_s = step_s - sum(row.time_s for row in rows)
    return Row(Phase.UNACCOUNTED, 0, left_s, left_s / step_s)


@dataclass(frozen=True)
class Breakdown:
    """Traced steps, added up to rows, with the time of a typical step and the implementations of operations."""

    steps: Sequence[TracedStep]
    step_s: float
    roof: Roof
    implementation_of: Mapping[OperationCost, Implementation] = field(default_factory=dict)

    def phases(self) -> tuple[Row, ...]:
        """Return a row for each phase, in their order."""
        table = _Table(self.steps, lambda piece: piece.phase, self.roof)
        return tuple(table.row(phase, phase, self.step_s) for phase in table.keys)

    def kinds(self) -> tuple[Row, ...]:
        """Return a row for each kind, the longest first; reorders within convolutions count as reorders."""
        table = _Table(self.steps, kind_of, self.roof)
        rows = {kind: table.row(kind, kind, self.step_s) for kind in table.keys}
        costs = [piece.cost for piece in self.steps[0].pieces if piece.cost and kind_of(piece) == Kind.CONVOLUTION]
        moved_s = sum(self.implementation_of[cost].reorder_s for cost in costs if cost in self.implementation_of)
        if moved_s and Kind.CONVOLUTION in rows:
            moved_s = min(moved_s, rows[Kind.CONVOLUTION].time_s)  # in other steps they took less
            rows.setdefault(Kind.COPY, Row(Kind.COPY, 0, 0.0, 0.0))
            for kind, change_s in ((Kind.CONVOLUTION, -moved_s), (Kind.COPY, moved_s)):
                time_s = rows[kind].time_s + change_s
                rows[kind] = replace(rows[kind], time_s=time_s, share=time_s / self.step_s)
        return tuple(sorted(rows.values(), key=lambda row: -row.time_s))

    def layers(self) -> tuple[LayerRow, ...]:
        """Return a row for each layer, the longest first."""
        table = _Table(self.steps, lambda piece: piece.layer, self.roof)
        by_phase = _Table(self.steps, lambda piece: (piece.layer, piece.phase), self.roof)
        rows = [
            LayerRow(
                **vars(table.row(layer, layer, self.step_s)),
                forward_s=by_phase.time_s((layer, Phase.FORWARD)),
                backward_s=by_phase.time_s((layer, Phase.BACKWARD)),
            )
            for layer in table.keys
        ]
        return tuple(sorted(rows, key=lambda row: -row.time_s))

    def primitives(self) -> tuple[PrimitiveRow, ...]:
        """Return a row for all calls of an operation with the same shapes in a phase, the longest first."""
        operations = [piece for step in self.steps for piece in step.pieces if piece.cost]
        kinds = {(piece.cost, piece.phase): kind_of(piece) for piece in operations}
        table = _Table(self.steps, lambda piece: (piece.cost, piece.phase), self.roof)
        rows = []
        for cost, phase in table.keys:
            if cost is None:
                continue
            implementation = self.implementation_of.get(cost, Implementation("", 0.0))
            row = table.row((cost, phase), cost.name.removeprefix("aten::"), self.step_s)
            rows.append(
                PrimitiveRow(
                    **vars(row),
                    kind=kinds[cost, phase],
                    phase=phase,
                    shape=cost.shape,
                    layout=cost.layout,
                    dtype=cost.dtype,
                    implementation=implementation.name,
                    reorder_s=implementation.reorder_s * row.calls,
                )
            )
        return tuple(sorted(rows, key=lambda row: -row.time_s))
