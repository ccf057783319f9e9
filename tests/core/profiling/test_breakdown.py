"""Breakdowns of steps that are put together by hand."""

import pytest

from training_core.profiling import breakdown
from training_core.profiling.breakdown import Breakdown, Roof
from training_core.profiling.operation_costs import Implementation, OperationCost
from training_core.profiling.profile import Limits, Rate
from training_core.profiling.step_trace import Piece, TracedStep

# A convolution that the machine needs 2 ms for, and an addition that it needs 1 ms for.
CONVOLUTION = OperationCost("aten::convolution", 2_000_000, 1000, "1x3x8x8", "channels last", "fp32")
ADDITION = OperationCost("aten::add", 0, 100_000, "1x3x8x8", "contiguous", "fp32")
ROOF = Roof({"fp32": 1e9}, 1e8, 1e9, 50_000)
MS = 1_000_000


def step(convolution_ms, addition_ms, python_ms):
    """A step of a convolution in the forward phase, an addition in the backward one, and Python code in both."""
    ends = [convolution_ms, python_ms, addition_ms, python_ms]
    names = [("aten::convolution", "forward", "a", CONVOLUTION), ("", "forward", "", None)]
    names += [("aten::add", "backward", "a", ADDITION), ("", "backward", "", None)]
    pieces, at = [], 0
    for (name, phase, layer, cost), length in zip(names, ends):
        pieces.append(Piece(name, phase, layer, at * MS, (at + length) * MS, cost))
        at += length
    middle = (convolution_ms + python_ms) * MS
    return TracedStep((("forward", 0, middle), ("backward", middle, at * MS)), tuple(pieces))


# The middle half: the second and third, of 14 ms each.
STEPS = [step(3, 2, 1), step(4, 4, 3), step(6, 2, 3), step(50, 4, 3)]


def test_typical_steps_add_up_by_phases_kinds_and_layers_and_have_mean_times_and_shares_of_the_roof():
    whole = Breakdown(STEPS, 0.014, ROOF)
    for rows in (whole.phases(), whole.kinds(), whole.layers()):
        assert sum(row.time_s for row in rows) == pytest.approx(0.014)
        assert sum(row.share for row in rows) == pytest.approx(1)
        assert breakdown.unaccounted(rows, 0.014).time_s == pytest.approx(0)
    by_kind = {row.name: row for row in Breakdown(STEPS, 0.014, ROOF).kinds()}
    assert by_kind["convolution"].time_s == pytest.approx(0.005)  # of 4 and 6 ms
    assert by_kind["convolution"].roof_share == pytest.approx(2 / 5)
    assert (by_kind["convolution"].bound, by_kind["convolution"].calls) == ("compute", 1)
    assert by_kind["addition"].roof_share == pytest.approx(1 / 3)
    assert by_kind["addition"].bound == "memory"
    assert by_kind["Python"].time_s == pytest.approx(0.006)
    assert by_kind["Python"].roof_share is None
    (layer,) = [row for row in Breakdown(STEPS, 0.014, ROOF).layers() if row.name == "a"]
    assert (layer.forward_s, layer.backward_s) == (pytest.approx(0.005), pytest.approx(0.003))
    assert (layer.flop, layer.bytes) == (2_000_000, 101_000)


def test_small_tensors_are_bounded_by_the_cache_and_the_roof_is_the_best_that_was_measured():
    assert ROOF.least_s(0, 40_000, "fp32") == (pytest.approx(40e-6), "cache")
    assert ROOF.least_s(0, 60_000, "fp32") == (pytest.approx(600e-6), "memory")
    assert ROOF.least_s(1_000_000, 60_000, "fp32") == (pytest.approx(1e-3), "compute")
    assert ROOF.least_s(1_000_000, 0, "int8") == (0, "")
    rates = {"fp32": (Rate(1, 1e9), Rate(2, 2e9)), "int8": (Rate(1, 7e9),)}
    limits = Limits(
        rates, {"fp32": (Rate(1, 3e9),)}, {"triad": (Rate(1, 5.0),), "read": (Rate(2, 6.0),)}, 9.0, 100, 0.0
    )
    assert breakdown.roof_of(limits) == Roof({"fp32": 3e9, "int8": 7e9}, 6.0, 9.0, 50)


def test_reorders_within_convolutions_count_as_reorders_and_not_twice():
    running = {CONVOLUTION: Implementation("brg_conv_fwd:avx512_core", 0.001)}
    by_kind = {row.name: row for row in Breakdown(STEPS, 0.014, ROOF, running).kinds()}
    assert by_kind["copy and reorder"].time_s == pytest.approx(0.001)
    assert by_kind["convolution"].time_s == pytest.approx(0.004)
    (first, _) = Breakdown(STEPS, 0.014, ROOF, running).primitives()
    assert (first.name, first.implementation, first.reorder_s) == ("convolution", "brg_conv_fwd:avx512_core", 0.001)
    assert (first.kind, first.phase, first.shape, first.dtype) == ("convolution", "forward", "1x3x8x8", "fp32")
    running = {CONVOLUTION: Implementation("brg", 1.0)}
    by_kind = {row.name: row for row in Breakdown(STEPS, 0.014, ROOF, running).kinds()}
    assert by_kind["copy and reorder"].time_s == pytest.approx(0.005)
    assert by_kind["convolution"].time_s == pytest.approx(0)


def test_what_lies_outside_of_the_model_belongs_to_input_loss_and_the_phases():
    phases = ["waiting for data", "forward", "forward", "forward", "backward", "forward", "backward", "optimizer"]
    layers = ["", "", "a", "", "", "", "a", ""]
    pieces = tuple(Piece("", phase, layer, at, at + 1) for at, (phase, layer) in enumerate(zip(phases, layers)))
    found = breakdown.with_outer_layers(TracedStep((("forward", 0, 8),), pieces), "loss")
    expected = ["waiting for data", "input", "a", "loss", "loss", "input", "a", "optimizer"]
    assert [piece.layer for piece in found.pieces] == expected


@pytest.mark.parametrize(
    ("name", "layer", "kind"),
    [
        ("aten::convolution_backward", "a", "convolution"),
        ("aten::native_batch_norm_backward", "a", "batch normalization"),
        ("aten::threshold_backward", "a", "activation"), ("aten::max_pool2d_with_indices", "a", "pooling"),
        ("aten::upsample_nearest2d", "a", "upsampling"), ("aten::_to_copy", "a", "copy and reorder"),
        ("aten::add_", "a", "addition"), ("aten::where", "a", "other"), ("", "a", "Python"),
        ("aten::add_", "optimizer", "optimizer"), ("aten::add_", "loss", "loss"),
    ],
)  # fmt: skip
def test_operations_have_kinds(name, layer, kind):
    phase = "optimizer" if layer == "optimizer" else "forward"
    assert breakdown.kind_of(Piece(name, phase, layer, 0, 1)) == kind
