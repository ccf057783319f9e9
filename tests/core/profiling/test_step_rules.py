import pytest

from tests.core.support.profiled_runs import context_of, primitive, run_of
from training_core.profiling import step_rules
from training_core.profiling.advice import advise
from training_core.profiling.profile import Bound, Kind, Phase

BRG, REF = "brg_conv_fwd:avx512_core_bf16", "ref:any"


def advice_of(rule, run, **limits):
    return rule(run, context_of(run, **limits))


def test_copies_and_reorders_are_advised_on_from_a_twentieth_of_the_step():
    reorder = primitive(Kind.CONVOLUTION, 0.3, name="aten::convolution", reorder_s=0.02)  # a tenth of 200 ms
    rows = [primitive(Kind.COPY, 0.04, name="aten::copy_"), reorder]
    found = advice_of(step_rules.slow_reorders, run_of(kinds={Kind.COPY: 0.14}, primitives=rows))
    assert found.gain == pytest.approx(0.14)
    assert "14 %" in found.evidence and "10 %" in found.evidence and "upper bound" in found.evidence
    assert "the largest: aten::convolution" in found.evidence
    assert advice_of(step_rules.slow_reorders, run_of(kinds={Kind.COPY: 0.04}, primitives=rows[:1])) is None


@pytest.mark.parametrize("implementation", ["ref:any", "ref", "gemm:jit", "x64:gemm:jit", "gemm:ref", "simple:any"])
def test_a_last_resort_of_onednn_gains_what_the_other_convolutions_have_over_it(implementation):
    rows = [
        primitive(Kind.CONVOLUTION, 0.1, implementation=implementation, roof_share=0.1),
        primitive(Kind.CONVOLUTION, 0.5, implementation=BRG, roof_share=0.5),
    ]
    found = advice_of(step_rules.last_resorts, run_of(primitives=rows))
    assert found.gain == pytest.approx(0.08)
    assert implementation in found.evidence


@pytest.mark.parametrize("implementation", [BRG, "jit:avx512_core", "jit_1x1:avx2", "brgconv:avx512_core_amx", ""])
def test_optimized_implementations_are_no_last_resort(implementation):
    rows = [primitive(Kind.CONVOLUTION, share, implementation=implementation, roof_share=share) for share in (0.1, 0.5)]
    rows.append(primitive(Kind.COPY, 0.3, implementation=REF))  # only convolutions count
    assert advice_of(step_rules.last_resorts, run_of(primitives=rows)) is None


def test_a_step_of_many_small_operations_is_advised_a_batch_or_tile_twice_as_large():
    run = run_of(kinds={Kind.PYTHON: 0.08}, primitives=[primitive(Kind.CONVOLUTION, 0.5, calls=1000)])
    found = advice_of(step_rules.small_step, run, region_s=4e-6)  # 4 ms of 200
    assert found.gain == pytest.approx((0.02 + 0.08) / 2)
    assert found.options == {"batch_size": 8}
    assert "1,000 operations" in found.evidence and "4.0 us" in found.evidence
    assert advice_of(step_rules.small_step, run_of(kinds={Kind.PYTHON: 0.04}), region_s=4e-6) is None
    one_thread = run_of(threads=1, primitives=[primitive(Kind.CONVOLUTION, 0.5, calls=10000)])
    assert advice_of(step_rules.small_step, one_thread, region_s=4e-6) is None
    run = run_of(what="inference", kinds={Kind.PYTHON: 0.2}, options={"tile_px": 256})
    found = advice_of(step_rules.small_step, run)
    assert found.options == {"tile_px": 512}
    assert found.gain == pytest.approx(0.15)  # a quarter of the starts a pixel is left


@pytest.mark.parametrize(("threads", "options"), [(8, {"threads": 7}), (2, {})])
def test_a_step_that_waits_for_data_leaves_it_a_core_where_there_are_several(threads, options):
    found = advice_of(step_rules.data_starving, run_of(threads=threads, phases={Phase.WAITING: 0.1}))
    assert found.gain == pytest.approx(0.1)
    assert found.options == options
    assert "20 ms" in found.evidence
    assert advice_of(step_rules.data_starving, run_of(threads=threads, phases={Phase.WAITING: 0.02})) is None


NORMALIZING = {
    "kinds": {Kind.NORMALIZATION: 0.2},
    "primitives": [primitive(Kind.NORMALIZATION, 0.2, bound=Bound.MEMORY)],
}


def test_batch_normalization_bound_by_memory_is_advised_to_be_frozen_with_a_warning():
    found = advice_of(step_rules.normalization_bound_by_memory, run_of(**NORMALIZING))
    assert found.gain == pytest.approx(0.05)  # 2 of 8 passes over the activations
    assert found.options == {"batch_norm": "frozen"}
    assert "changes the training" in found.remedy


@pytest.mark.parametrize(
    "run",
    [
        run_of(**{**NORMALIZING, "kinds": {Kind.NORMALIZATION: 0.05}}),
        run_of(kinds={Kind.NORMALIZATION: 0.2}, primitives=[primitive(Kind.NORMALIZATION, 0.2, bound=Bound.COMPUTE)]),
        run_of(**NORMALIZING, options={"batch_norm": "frozen"}),
        run_of(**NORMALIZING, what="inference"),
    ],
    ids=["little", "bound by the processor", "frozen", "inference"],
)
def test_other_batch_normalization_stays(run):
    assert advice_of(step_rules.normalization_bound_by_memory, run) is None


def test_forced_recomputing_is_advised_to_be_left_to_the_memory():
    run = run_of(phases={Phase.FORWARD: 0.25, Phase.BACKWARD: 0.7}, options={"recompute": "yes"})
    found = advice_of(step_rules.recomputing, run)
    assert found.gain == pytest.approx(0.25)
    assert found.options == {"recompute": "auto"}
    assert advice_of(step_rules.recomputing, run_of(phases={Phase.FORWARD: 0.25})) is None


@pytest.mark.parametrize(
    ("batch_size", "options"), [(4, {"batch_size": 2, "accumulation": 2}), (1, {})], ids=["a batch", "one image"]
)
def test_recomputing_for_lack_of_memory_is_advised_half_the_batch(batch_size, options):
    options_of_run = {"recompute": "auto", "batch_size": batch_size}
    found = advice_of(step_rules.recomputing, run_of(phases={Phase.FORWARD: 0.25}, options=options_of_run))
    assert found.options == options


def test_large_optimizers_run_half_as_often_and_validations_gain_what_is_beyond_a_tenth():
    found = advice_of(
        step_rules.large_optimizer, run_of(phases={Phase.OPTIMIZER_STEP: 0.2}, options={"accumulation": 2})
    )
    assert found.gain == pytest.approx(0.1)
    assert found.options == {"accumulation": 4}
    assert advice_of(step_rules.large_optimizer, run_of(phases={Phase.OPTIMIZER_STEP: 0.05})) is None
    assert advice_of(step_rules.large_validation, run_of(phases={Phase.VALIDATION: 0.3})).gain == pytest.approx(0.2)
    assert advice_of(step_rules.large_validation, run_of(phases={Phase.VALIDATION: 0.12})) is None


def test_an_engine_measured_faster_is_advised_with_what_it_brought():
    run, faster = run_of(), run_of(engine="ipex", step_s=0.15)
    found = step_rules.faster_choice(run, context_of(run, faster))
    assert found.gain == pytest.approx(0.25)
    assert found.options == {"engine": "ipex"}
    assert "50 ms" in found.evidence and "38 ms" in found.evidence  # a quarter of the step, which has four images
    larger, slower = run_of(engine="ipex", step_s=0.3, batch_size=8), run_of(precision="fp32", step_s=0.1)
    assert step_rules.faster_choice(run, context_of(run, larger)).gain == pytest.approx(0.25)
    assert step_rules.faster_choice(run, context_of(run, slower)).options == {"precision": "fp32"}


@pytest.mark.parametrize("other", [run_of(engine="ipex", step_s=0.192), run_of(what="inference", step_s=0.1)])
def test_another_engine_s_four_percent_or_another_task_are_no_reason(other):
    run = run_of()
    assert step_rules.faster_choice(run, context_of(run, other)) is None


def test_a_precision_gains_what_its_peak_gives_convolutions_unless_it_was_measured():
    run = run_of(precision="fp32", kinds={Kind.CONVOLUTION: 0.8})
    found = step_rules.better_precision(run, context_of(run, fp32=1e12, bf16=4e12))
    assert found.gain == pytest.approx(0.6)
    assert found.options == {"precision": "bf16"}
    run = run_of(kinds={Kind.CONVOLUTION: 0.8})
    found = step_rules.better_precision(run, context_of(run, fp32=1e12, bf16=2.5e11))
    assert found.gain == pytest.approx(0.6)
    assert found.options == {"precision": "fp32"}
    run, other = run_of(precision="fp32", kinds={Kind.CONVOLUTION: 0.8}), run_of()
    assert step_rules.better_precision(run, context_of(run, other, fp32=1e12, bf16=4e12)) is None
    assert step_rules.better_precision(run, context_of(run, fp32=1e12, bf16=1.1e12)) is None
    assert step_rules.better_precision(run, context_of(run, fp32=1e12, bf16=0)) is None


def test_engines_at_hand_that_were_not_measured_are_to_be_tried():
    run, measured = run_of(what="inference"), run_of(what="inference", engine="ipex", step_s=0.3)
    found = advise([run, measured], context_of().limits, ("native", "ipex", "openvino"))
    assert [(piece.options, piece.gain) for piece in found] == [({"engine": "openvino"}, 0)]
    assert advise([run_of()], context_of().limits, ("native", "openvino")) == ()  # it does not train
