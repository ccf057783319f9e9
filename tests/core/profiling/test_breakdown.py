"""Breakdowns of traces that are put together by hand."""

import pandas as pd
import pytest

from training_core.profiling.breakdown import break_down
from training_core.profiling.operation_costs import OperationCost
from training_core.profiling.profile import Limits, Rate
from training_core.profiling.step_trace import COLUMNS, PYTHON

# A convolution that the machine needs 2 ms for, and an addition that it needs 1 ms for.
CONVOLUTION = OperationCost("aten::convolution", 2_000_000, 1000, "1x3x8x8", "channels last", "fp32", "brg:avx512_core")
COSTS = (CONVOLUTION, OperationCost("aten::add", 0, 100_000, "1x3x8x8", "contiguous", "fp32"))
LIMITS = Limits({"fp32": (Rate(1, 1e9),)}, {}, {"triad": (Rate(1, 1e8),)}, 1e9, 100_000, 0.0)
# Milliseconds of convolution, addition and Python in a step. The middle half are the second and third, of 14 ms each.
STEPS = [(3, 2, 1), (4, 4, 3), (6, 2, 3), (50, 4, 3)]


def test_rows_of_typical_steps_add_up_and_have_mean_times_and_shares_of_the_roof():
    """Steps of a convolution in the forward phase, an addition in the backward one, and Python code in both."""
    rows = []
    for step, (convolution_ms, addition_ms, python_ms) in enumerate(STEPS):
        pieces = [("forward", 0, convolution_ms), ("forward", PYTHON, python_ms), ("backward", 1, addition_ms)]
        pieces.append(("backward", PYTHON, python_ms))
        rows += [(step, phase, "a" if number != PYTHON else "", number, ms / 1e3, 0.0) for phase, number, ms in pieces]
    found = break_down(pd.DataFrame(rows, columns=COLUMNS), COSTS, LIMITS)
    for rows in (found["phases"], found["kinds"], found["layers"]):
        assert sum(row.time_s for row in rows) == pytest.approx(0.014)
        assert sum(row.share for row in rows) == pytest.approx(1)
        assert rows[-1].name == "unaccounted" and rows[-1].time_s == pytest.approx(0)
        assert not any(row.implementation or row.shape for row in rows)  # primitives alone have them
    by_kind = {row.name: row for row in found["kinds"]}
    assert by_kind["convolution"].time_s == pytest.approx(0.005)  # of 4 and 6 ms
    assert by_kind["convolution"].roof_share == pytest.approx(2 / 5)
    assert (by_kind["convolution"].bound, by_kind["convolution"].calls) == ("compute", 1)
    assert by_kind["addition"].roof_share == pytest.approx(1 / 3)
    assert by_kind["addition"].bound == "memory"
    assert by_kind["Python"].time_s == pytest.approx(0.006)
    assert by_kind["Python"].roof_share is None
    (layer,) = [row for row in found["layers"] if row.name == "a"]
    assert (layer.flop, layer.bytes) == (2_000_000, 101_000)
    assert [row.name for row in found["phases"]] == ["forward", "backward", "unaccounted"]
    longest, _ = found["primitives"]
    assert (longest.name, longest.implementation) == ("convolution", "brg:avx512_core")
    assert (longest.kind, longest.phase, longest.shape, longest.dtype) == ("convolution", "forward", "1x3x8x8", "fp32")


def test_an_operation_is_bounded_by_the_best_peak_the_memory_or_for_small_tensors_the_cache():
    assert LIMITS.least_s(0, 40_000, "fp32") == (pytest.approx(40e-6), "cache")
    assert LIMITS.least_s(0, 60_000, "fp32") == (pytest.approx(600e-6), "memory")
    assert LIMITS.least_s(1_000_000, 60_000, "fp32") == (pytest.approx(1e-3), "compute")
    assert LIMITS.least_s(1_000_000, 0, "int8") == (0, "")
    rates = {"fp32": (Rate(1, 1e9), Rate(2, 2e9))}
    assert Limits(rates, {"fp32": (Rate(1, 3e9),)}, {}, 0.0, 0, 0.0).peak("fp32") == 3e9


def test_operations_have_kinds():
    names = {
        "convolution_backward": "convolution", "native_batch_norm_backward": "batch normalization",
        "threshold_backward": "activation", "max_pool2d_with_indices": "pooling", "upsample_nearest2d": "upsampling",
        "_to_copy": "copy and reorder", "add_": "addition", "where": "other",
    }  # fmt: skip
    costs = [OperationCost(f"aten::{name}", 0, 8, "1", "", "fp32") for name in names]
    rows = [(0, "forward", "a", number, 0.001, 0.0) for number in range(len(costs))]
    rows += [(0, "optimizer", "optimizer", 6, 0.001, 0.0), (0, "forward", "loss", 6, 0.001, 0.0)]
    found = break_down(pd.DataFrame(rows, columns=COLUMNS), costs, LIMITS)["primitives"]
    expected = {*names.items(), ("add_", "optimizer"), ("add_", "loss")}
    assert {(row.name, row.kind) for row in found} == expected and len(found) == len(expected)
