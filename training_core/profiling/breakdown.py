"""Breakdown of traced steps: rows by phase, kind of operation, layer and primitive, each with its fraction of the roof.

Scope: tables of traced steps. Independent of how they were traced and shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .operation_costs import OperationCost
from .profile import UNACCOUNTED, Kind, Limits, Phase, Row
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
_PYTHON = OperationCost("", 0, 0, "", "", "")
_PRIMITIVE = ["name", "phase", "kind", "shape", "layout", "dtype"]


def typical(times_s: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return which steps are typical: the middle half by their time, (steps,), bool.

    Means over these add up to the step, as medians of single rows do not.
    """
    low, high = np.percentile(times_s, (25, 75), method="nearest")
    return (np.asarray(times_s) >= low) & (np.asarray(times_s) <= high)


def step_times_s(trace: pd.DataFrame) -> np.ndarray:
    """Return the wall-clock time of each step of a trace, (steps,), float64."""
    return trace.groupby("step")["time_s"].sum().to_numpy()


def break_down(trace: pd.DataFrame, costs: Sequence[OperationCost], limits: Limits) -> dict[str, tuple[Row, ...]]:
    """Return the rows of a typical step by the name of their breakdown, as `Run` has them.

    The trace is as from `step_trace.trace_of`, and the costs are those of its operations.
    """
    table, times_s = _with_costs(trace, costs, limits), step_times_s(trace)
    rows = {}
    for breakdown, column in (("phases", "phase"), ("kinds", "kind"), ("layers", "layer")):
        named = table.drop(columns="name").rename(columns={column: "name"}).assign(implementation="")
        found = _rows(named, ["name"], times_s)
        left_s = times_s[typical(times_s)].mean() - sum(row.time_s for row in found)
        found = found if breakdown == "phases" else _longest_first(found)
        rows[breakdown] = (*found, Row(UNACCOUNTED, 0, left_s, left_s / times_s[typical(times_s)].mean()))
    rows["primitives"] = tuple(_longest_first(_rows(table[table["name"] != ""], _PRIMITIVE, times_s)))
    return rows


def _with_costs(trace: pd.DataFrame, costs: Sequence[OperationCost], limits: Limits) -> pd.DataFrame:
    """Return a trace with the cost of each piece, its kind, and the least time for it with what bounds that."""
    costs = [_PYTHON, *costs]
    roofs = [limits.least_s(each.flop, each.bytes, each.dtype) for each in costs]
    table = pd.DataFrame(map(vars, costs), index=range(PYTHON, PYTHON + len(costs)))
    table["name"] = table["name"].str.removeprefix("aten::")
    table["calls"] = (table["name"] != "").astype(int)
    table["least_s"], table["bound"] = zip(*roofs)
    table = trace.merge(table, left_on="operation", right_index=True)
    return table.assign(kind=[_kind_of(*each) for each in zip(table["name"], table["phase"], table["layer"])])


def _kind_of(name: str, phase: str, layer: str) -> str:
    if not name:
        return Kind.PYTHON
    if phase == Phase.OPTIMIZER:
        return Kind.OPTIMIZER
    if layer == Kind.LOSS:
        return Kind.LOSS
    return next((kind for kind, parts in _KINDS.items() if any(part in name.lower() for part in parts)), Kind.OTHER)


def _rows(table: pd.DataFrame, keys: list[str], times_s: np.ndarray) -> list[Row]:
    """Return a row for each group of pieces, in the order of their first appearance.

    `times_s` are those of whole steps, (steps,), float64.
    """
    is_typical = typical(times_s)
    # Seconds of each group (rows) in each step (columns).
    group_s = table.groupby([*keys, "step"], sort=False)["time_s"].sum().unstack(fill_value=0.0)
    group_s = group_s.reindex(columns=range(len(times_s)), fill_value=0.0)
    groups = table.groupby(keys, sort=False)
    figures = groups[["calls", "flop", "bytes", "least_s"]].sum() / len(times_s)
    figures["time_s"] = group_s.loc[:, is_typical].mean(axis=1)
    figures["spread_s"] = group_s.quantile(0.75, axis=1) - group_s.quantile(0.25, axis=1)
    figures["implementation"] = groups["implementation"].max()  # any but none
    # The bound of the most time counts for a group.
    bounds = table[table["bound"] != ""].groupby([*keys, "bound"], as_index=False)["time_s"].sum()
    figures["bound"] = bounds.sort_values("time_s").groupby(keys)["bound"].last()
    return [_row(record, times_s[is_typical].mean()) for record in figures.reset_index().to_dict("records")]


def _row(record: Mapping[str, Any], step_s: float) -> Row:
    """Return the row of a group, in which 0 operations or bytes are unknown."""
    time_s, least_s = record["time_s"], record["least_s"]
    has_roof = least_s > 0 and time_s > 0
    figures = {
        "share": time_s / step_s,
        "flop": record["flop"] or None,
        "bytes": record["bytes"] or None,
        "roof_share": least_s / time_s if has_roof else None,
        "bound": record["bound"] if has_roof else "",
    }
    return Row(**{name: value for name, value in {**record, **figures}.items() if name != "least_s"})


def _longest_first(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -row.time_s)
