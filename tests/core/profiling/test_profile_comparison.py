"""Two profiles compared, with numbers by hand."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tests.core.support.profiles import LIMITS, make_profile
from training_core.profiling.profile import Kind, Phase, Rate, Row, Run
from training_core.profiling.profile_comparison import compare, to_document


def primitive(name, shape, time_s, implementation="", phase=Phase.FORWARD):
    return Row(name, 1.0, time_s, 0.0, kind=Kind.CONVOLUTION, phase=phase, shape=shape, implementation=implementation)


def run(step_s, rows=(), primitives=(), **members):
    """A run whose phases, kinds and layers have the times of `rows`."""
    plain = tuple(Row(name, 1.0, time_s, 0.0) for name, time_s in rows)
    given = {"what": "training", "engine": "native", "precision": "fp32", "threads": 2, "batch_size": 4, "size_px": 100}
    given |= {"spread_s": 0.0, "steps": 9, "step_s": step_s, "primitives": tuple(primitives), **members}
    return Run(phases=plain, kinds=plain, layers=plain, **given)


def compared(before, after):
    (only,) = compare(make_profile(before), make_profile(after)).runs
    return only


def numbers(differences):
    columns = ["name", "before_s", "after_s", "difference_s", "share"]
    return [tuple(row) for row in differences[columns].itertuples(index=False)]


def approximately(*expected):
    return [(name, *(pytest.approx(value) for value in values)) for name, *values in expected]


def test_rows_are_matched_by_name_and_sorted_by_their_difference():
    before = run(2.0, [("conv", 1.0), ("bn", 0.6), ("gone", 0.2)])
    after = run(1.5, [("bn", 0.7), ("conv", 0.5), ("new", 0.3)])
    both = compared(before, after)
    expected = approximately(
        ("conv", 1.0, 0.5, -0.5, -0.25), ("new", 0, 0.3, 0.3, 0.15), ("gone", 0.2, 0, -0.2, -0.1),
        ("bn", 0.6, 0.7, 0.1, 0.05),
    )  # fmt: skip
    for name in ("phases", "kinds", "layers"):
        assert numbers(both.tables[name]) == expected
    assert (both.step_before_s, both.step_after_s, both.ratio, both.scale) == (2.0, 1.5, 0.75, 1.0)
    assert both.name == "training, native fp32"
    assert both.notes == ()


def test_primitives_are_matched_by_name_shape_and_phase():
    before = [
        primitive("conv", "4x8x9x9", 0.4, "gemm:jit"),
        primitive("conv", "4x8x5x5", 0.2, "jit"),
        primitive("conv", "4x8x9x9", 0.1, phase="backward"),
    ]
    after = [
        primitive("conv", "4x8x9x9", 0.1, "brgconv:avx512_core"),
        primitive("conv", "4x8x9x9", 0.1, "brgconv:avx512_core_bf16"),
        primitive("conv", "4x8x5x5", 0.25, "jit"),
    ]
    table = compared(run(1.0, primitives=before), run(1.0, primitives=after)).tables["primitives"]
    assert numbers(table) == approximately(
        ("conv", 0.4, 0.2, -0.2, -0.2), ("conv", 0.1, 0, -0.1, -0.1), ("conv", 0.2, 0.25, 0.05, 0.05)
    )
    first, second, _ = table.itertuples()
    assert (first.phase, first.shape, first.kind) == (Phase.FORWARD, "4x8x9x9", Kind.CONVOLUTION)
    assert first.implementation_before == "gemm:jit"
    assert first.implementation_after == "brgconv:avx512_core, brgconv:avx512_core_bf16"
    assert second.phase == "backward"


def test_other_batches_are_compared_by_the_pixels_of_a_step_before():
    before = run(1.0, [("conv", 0.8)], [primitive("conv", "4x8x9x9 8x8x3x3", 0.8)])
    after = run(3.0, [("conv", 2.0)], [primitive("conv", "2x8x9x9 8x8x3x3", 2.0)], batch_size=2, size_px=200)
    both = compared(before, after)
    assert both.scale == 0.5  # 4 x 100 x 100 of 2 x 200 x 200
    assert both.step_after_s == 1.5
    assert (
        numbers(both.tables["layers"])
        == numbers(both.tables["primitives"])
        == approximately(("conv", 0.8, 1.0, 0.2, 0.2))
    )
    assert "4 images of 100 px before and 2 images of 200 px after" in both.notes[0] and "0.5" in both.notes[0]


def test_runs_are_matched_by_task_engine_and_precision():
    before = [run(1.0), run(2.0, precision="bf16"), run(0.1, what="inference")]
    after = [run(9.0, engine="ipex"), run(1.5, precision="bf16"), run(0.2, what="inference", engine="openvino")]
    pairs = [
        (each.before, each.after, each.step_after_s)
        for each in compare(make_profile(*before), make_profile(*after)).runs
    ]
    assert pairs == [
        ("training, native bf16", "training, native bf16", 1.5),
        ("inference, native fp32", "inference, openvino fp32", 0.2),
    ]
    assert compare(make_profile(run(1.0)), make_profile(run(1.0, what="inference"))).runs == ()


def test_other_engines_are_compared_and_told():
    both = compared(run(1.0), run(0.5, engine="ipex", precision="bf16", threads=4, options={"recompute": "on"}))
    assert both.name == "training, native fp32 and training, ipex bf16"
    told = " ".join(both.notes)
    for words in ("native fp32, after ipex bf16", "2 threads, after with 4", "recompute was None before and on after"):
        assert words in told


def test_limits_and_facts_of_two_machines_are_compared():
    faster = dataclasses.replace(
        LIMITS,
        convolution={"fp32": (Rate(8, 9.2e11),)},
        matrix={},
        machine={**LIMITS.machine, "cores": 8, "governor": None},
    )
    before = make_profile(run(1.0), versions={"torch": "2.8", "numpy": "2.0"})
    after = make_profile(run(1.0), limits=faster, versions={"torch": "2.9", "numpy": "2.0"}, hardware="Another")
    comparison = compare(before, after)
    assert comparison.limits["fp32 peak"] == ("FLOP/s", 4.6e11, 9.2e11)
    assert comparison.limits["bf16 peak"][2] == 0
    expected = {"cores": ("4", "8"), "governor": ("performance", ""), "torch": ("2.8", "2.9")}
    assert comparison.facts == expected
    assert comparison.hardware[1] == "Another"


def test_the_document_has_all_numbers():
    before = run(2.0, [("conv", 1.0)], [primitive("conv", "4x8", 1.0, "jit")])
    after = run(1.0, [("conv", 0.5)], [primitive("conv", "4x8", 0.5, "brgconv")])
    document = json.loads(json.dumps(to_document(compare(make_profile(before), make_profile(after)))))
    (both,) = document["runs"]
    assert (both["ratio"], both["step_before_s"]) == (0.5, 2.0)
    assert both["kinds"] == [{"name": "conv", "before_s": 1.0, "after_s": 0.5, "share": -0.25, "difference_s": -0.5}]
    assert both["primitives"][0]["implementation_after"] == "brgconv"
    assert {limit["name"] for limit in document["limits"]} >= {"fp32 peak", "memory bandwidth"}
