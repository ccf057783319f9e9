"""Breakdown of traced steps: rows by phase, kind of operation, layer and primitive, each with its fraction of the roof.

Scope: tables of traced steps. Independent of how they were traced and shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from .operation_costs import OperationCost
from .profile import UNACCOUNTED, Kind, LayerRow, Limits, Phase, PrimitiveRow, Row
from .step_trace import PYTHON

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


def kind_of(name: str, phase: str, layer: str) -> str:
    """Return the kind of an operation by its name, or of Python code, which has no name."""
    if not name:
        return Kind.PYTHON
    if phase == Phase.OPTIMIZER_STEP:
        return Kind.OPTIMIZER
    if layer == Kind.LOSS:
        return Kind.LOSS
    name = name.rpartition("::")[2].lower()
    return next((kind for kind, parts in _KINDS.items() if any(part in name for part in parts)), Kind.OTHER)


def typical(times_s: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return which steps are typical: the middle half by their time, (steps,), bool.

    Means over these add up to the step, as medians of single rows do not.
    """
    low, high = np.percentile(times_s, (25, 75), method="nearest")
    return (np.asarray(times_s) >= low) & (np.asarray(times_s) <= high)


def step_times_s(trace: pd.DataFrame) -> np.ndarray:
    """Return the wall-clock time of each step of a trace, (steps,), float64."""
    return trace.groupby("step")["time_s"].sum().to_numpy()


@dataclass(frozen=True)
class Breakdown:
    """The rows of each breakdown; see `Run`."""

    phases: tuple[Row, ...]
    kinds: tuple[Row, ...]
    layers: tuple[LayerRow, ...]
    primitives: tuple[PrimitiveRow, ...]


def break_down(
    trace: pd.DataFrame,
    operations: Sequence[OperationCost],
    limits: Limits,
    implementation_of: Mapping[int, str],
) -> Breakdown:
    """Return the breakdown of a trace, from `step_trace.trace_of`, into rows of a typical step.

    Implementations are by number of their operation, its place in `operations`.
    """
    table, times_s = _with_costs(trace, operations, limits), step_times_s(trace)
    step_s = float(times_s[typical(times_s)].mean())
    phases = _rows(table, ["phase"], times_s)
    kinds = _rows(table, ["kind"], times_s)
    layers = _rows(table, ["layer"], times_s)
    by_direction = {key: row.time_s for key, row in _rows(table, ["layer", "phase"], times_s).items()}
    primitives = _rows(table[table["operation"] != PYTHON], ["operation", "phase", "kind"], times_s)
    return Breakdown(
        phases=(*phases.values(), unaccounted(phases.values(), step_s)),
        kinds=(*_longest_first(kinds.values()), unaccounted(kinds.values(), step_s)),
        layers=(
            *_longest_first(
                LayerRow(
                    **asdict(row),
                    forward_s=by_direction.get((layer, Phase.FORWARD), 0.0),
                    backward_s=by_direction.get((layer, Phase.BACKWARD), 0.0),
                )
                for (layer,), row in layers.items()
            ),
            LayerRow(**asdict(unaccounted(layers.values(), step_s))),
        ),
        primitives=_longest_first(
            _primitive(row, operations[number], phase, kind, implementation_of.get(number, ""))
            for (number, phase, kind), row in primitives.items()
        ),
    )


def unaccounted(rows: Iterable[Row], step_s: float) -> Row:
    """Return the row of the time that other rows leave of a step."""
    left_s = step_s - sum(row.time_s for row in rows)
    return Row(UNACCOUNTED, 0, left_s, left_s / step_s)


def _with_costs(trace: pd.DataFrame, operations: Sequence[OperationCost], limits: Limits) -> pd.DataFrame:
    """Return a trace with the kind of each piece, its cost, and the least time for it with what bounds that."""
    roofs = [limits.least_s(each.flop, each.bytes, each.dtype) for each in operations]
    costs = pd.DataFrame(
        {
            "operation": [PYTHON, *range(len(operations))],
            "name": ["", *(each.name for each in operations)],
            "calls": [0, *(1 for _ in operations)],
            "flop": [0, *(each.flop for each in operations)],
            "bytes": [0, *(each.bytes for each in operations)],
            "least_s": [0.0, *(least_s for least_s, _ in roofs)],
            "bound": ["", *(bound for _, bound in roofs)],
        }
    )
    table = trace.merge(costs, on="operation", how="left")
    return table.assign(kind=[kind_of(*each) for each in zip(table["name"], table["phase"], table["layer"])])


def _rows(table: pd.DataFrame, keys: list[str], times_s: np.ndarray) -> dict[tuple[Any, ...], Row]:
    """Return a row for each group of pieces, in the order of their first appearance, by its values of `keys`.

    `times_s` are those of whole steps, (steps,), float64.
    """
    is_typical = typical(times_s)
    step_s = float(times_s[is_typical].mean())
    # Seconds of each group (rows) in each step (columns).
    group_s = table.groupby([*keys, "step"], sort=False)["time_s"].sum().unstack(fill_value=0.0)
    group_s = group_s.reindex(columns=range(len(times_s)), fill_value=0.0)
    mean_s = group_s.loc[:, is_typical].mean(axis=1)
    spread_s = group_s.quantile(0.75, axis=1) - group_s.quantile(0.25, axis=1)
    costs = table.groupby(keys, sort=False)[["calls", "flop", "bytes", "least_s"]].sum() / len(times_s)
    # The bound of the most time counts for a group.
    bounds = table[table["bound"] != ""].groupby([*keys, "bound"])["time_s"].sum().reset_index("bound")
    bound_of = bounds.sort_values("time_s").groupby(level=keys)["bound"].last()
    rows = {}
    for key, cost in costs.iterrows():
        time_s = float(mean_s[key])
        has_roof = cost["least_s"] > 0 and time_s > 0
        values = key if isinstance(key, tuple) else (key,)
        rows[values] = Row(
            name=str(values[0]),
            calls=float(cost["calls"]),
            time_s=time_s,
            share=time_s / step_s,
            spread_s=float(spread_s[key]),
            flop=float(cost["flop"]) or None,
            bytes=float(cost["bytes"]) or None,
            roof_share=float(cost["least_s"]) / time_s if has_roof else None,
            bound=str(bound_of[key]) if has_roof else "",
        )
    return rows


def _primitive(row: Row, operation: OperationCost, phase: str, kind: str, implementation: str) -> PrimitiveRow:
    return PrimitiveRow(
        **{**asdict(row), "name": operation.name.removeprefix("aten::")},
        kind=kind,
        phase=phase,
        shape=operation.shape,
        layout=operation.layout,
        dtype=operation.dtype,
        implementation=implementation,
    )


def _longest_first(rows: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(rows, key=lambda row: -row.time_s))
