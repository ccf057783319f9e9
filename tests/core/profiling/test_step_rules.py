import pytest

from tests.core.support.profiled_runs import context_of, primitive, run_of
from training_core.profiling import step_rules
from training_core.profiling.profile import (
    BACKWARD,
    COMPUTE,
    CONVERSION,
    CONVOLUTION,
    COPY,
    FORWARD,
    LOSS,
    MEMORY,
    NORMALIZATION,
    OPTIMIZER,
    OPTIMIZER_STEP,
    PYTHON,
    VALIDATION,
    WAITING,
)

BRG, REF = "brg_conv_fwd:avx512_core_bf16", "ref:any"


def advice_of(rule, run, **limits):
    return rule(run, context_of(run, **limits))


def test_copies_and_reorders_are_advised_on_from_a_twentieth_of_the_step():
    reorder = primitive(CONVOLUTION, 0.3, name="aten::convolution", reorder_s=0.02)  # a tenth of 200 ms
    rows = [primitive(COPY, 0.04, name="aten::copy_"), reorder]
    found = advice_of(step_rules.slow_reorders, run_of(kinds={COPY: 0.14}, primitives=rows))
    assert found.gain == pytest.approx(0.14)
    assert "14 %" in found.evidence and "10 %" in found.evidence and "upper bound" in found.evidence
    assert "the largest: aten::convolution" in found.evidence
    assert advice_of(step_rules.slow_reorders, run_of(kinds={COPY: 0.04}, primitives=rows[:1])) is None


def test_contiguous_convolutions_gain_what_the_others_have_over_them():
    rows = [
        primitive(CONVOLUTION, 0.2, layout="contiguous", roof_share=0.2, shape="4x64x48x48"),
        primitive(CONVOLUTION, 0.5, layout="channels last", roof_share=0.8),
    ]
    found = advice_of(step_rules.not_channels_last, run_of(primitives=rows))
    assert found.gain == pytest.approx(0.15)  # a fifth of the step becomes four times as fast
    assert "4x64x48x48" in found.evidence
    assert advice_of(step_rules.not_channels_last, run_of(primitives=rows[1:])) is None


def test_contiguous_convolutions_as_fast_as_the_others_are_no_matter():
    rows = [primitive(CONVOLUTION, 0.3, layout=layout, roof_share=0.7) for layout in ("contiguous", "channels last")]
    assert advice_of(step_rules.not_channels_last, run_of(primitives=rows)) is None


def test_a_gain_is_unknown_where_roofs_are():
    found = advice_of(
        step_rules.not_channels_last, run_of(primitives=[primitive(CONVOLUTION, 0.2, layout="contiguous")])
    )
    assert found.gain == 0 and "unknown" in found.evidence


def test_fp32_within_bf16_gains_half_its_bytes_or_the_ratio_of_peaks():
    rows = [
        primitive(NORMALIZATION, 0.1, dtype="fp32", roof_share=0.3, bound=MEMORY),
        primitive(CONVOLUTION, 0.2, dtype="fp32", roof_share=0.4, bound=COMPUTE),
    ]
    found = advice_of(step_rules.fp32_within_bf16, run_of(primitives=rows), fp32=1e12, bf16=4e12)
    assert found.gain == pytest.approx(0.1 / 2 + 0.2 * 3 / 4)


@pytest.mark.parametrize(
    "run",
    [
        run_of(precision="fp32", primitives=[primitive(CONVOLUTION, 0.2, dtype="fp32", roof_share=0.3)]),
        run_of(primitives=[primitive(CONVOLUTION, 0.2, dtype="bf16", roof_share=0.3)]),
        run_of(primitives=[primitive(CONVOLUTION, 0.2, dtype="fp32", roof_share=0.8)]),
        run_of(primitives=[primitive(LOSS, 0.2, dtype="fp32", roof_share=0.3)]),
        run_of(primitives=[primitive(OPTIMIZER, 0.2, dtype="fp32", roof_share=0.3)]),
        run_of(primitives=[primitive(CONVOLUTION, 0.2, dtype="fp32")]),
    ],
    ids=["an FP32 run", "BF16", "near its roof", "loss", "optimizer", "roof unknown"],
)
def test_what_is_no_slow_layer_in_fp32_is_no_trouble(run):
    assert advice_of(step_rules.fp32_within_bf16, run) is None


@pytest.mark.parametrize("implementation", ["ref:any", "ref", "gemm:jit", "x64:gemm:jit", "gemm:ref", "simple:any"])
def test_a_last_resort_of_onednn_gains_what_the_other_convolutions_have_over_it(implementation):
    rows = [
        primitive(CONVOLUTION, 0.1, implementation=implementation, roof_share=0.1),
        primitive(CONVOLUTION, 0.5, implementation=BRG, roof_share=0.5),
    ]
    found = advice_of(step_rules.last_resorts, run_of(primitives=rows))
    assert found.gain == pytest.approx(0.08)
    assert implementation in found.evidence


@pytest.mark.parametrize("implementation", [BRG, "jit:avx512_core", "jit_1x1:avx2", "brgconv:avx512_core_amx", ""])
def test_optimized_implementations_are_no_last_resort(implementation):
    rows = [primitive(CONVOLUTION, share, implementation=implementation, roof_share=share) for share in (0.1, 0.5)]
    assert advice_of(step_rules.last_resorts, run_of(primitives=rows)) is None


def test_a_last_resort_is_no_matter_of_layout_or_format_as_well():
    slow = primitive(CONVOLUTION, 0.2, implementation=REF, roof_share=0.1, layout="contiguous", dtype="fp32")
    run = run_of(primitives=[slow, primitive(CONVOLUTION, 0.5, roof_share=0.5)])
    assert advice_of(step_rules.not_channels_last, run) is None
    assert advice_of(step_rules.fp32_within_bf16, run) is None


def test_last_resorts_count_for_convolutions_alone():
    rows = [primitive(COPY, 0.3, implementation=REF), primitive(CONVOLUTION, 0.5, implementation=BRG, roof_share=0.5)]
    assert advice_of(step_rules.last_resorts, run_of(primitives=rows)) is None


def test_a_step_of_many_small_operations_is_advised_a_batch_twice_as_large():
    run = run_of(kinds={PYTHON: 0.08}, primitives=[primitive(CONVOLUTION, 0.5, calls=1000)])
    found = advice_of(step_rules.small_step, run, region_s=4e-6)  # 4 ms of 200
    assert found.gain == pytest.approx((0.02 + 0.08) / 2)
    assert found.options == {"batch_size": 8}
    assert "1,000 operations" in found.evidence and "4.0 us" in found.evidence
    assert advice_of(step_rules.small_step, run_of(kinds={PYTHON: 0.04}), region_s=4e-6) is None


def test_one_thread_starts_no_others():
    run = run_of(threads=1, primitives=[primitive(CONVOLUTION, 0.5, calls=10000)])
    assert advice_of(step_rules.small_step, run, region_s=4e-6) is None


def test_small_tiles_are_advised_twice_their_side():
    run = run_of(what="inference", kinds={PYTHON: 0.2}, options={"tile_px": 256})
    found = advice_of(step_rules.small_step, run)
    assert found.options == {"tile_px": 512}
    assert found.gain == pytest.approx(0.15)  # a quarter of the starts a pixel is left


@pytest.mark.parametrize(("threads", "options"), [(8, {"threads": 7}), (2, {})])
def test_a_step_that_waits_for_data_leaves_it_a_core_where_there_are_several(threads, options):
    found = advice_of(step_rules.data_starving, run_of(threads=threads, phases={WAITING: 0.1}))
    assert found.gain == pytest.approx(0.1)
    assert found.options == options
    assert "20 ms" in found.evidence
    assert advice_of(step_rules.data_starving, run_of(threads=threads, phases={WAITING: 0.02})) is None


NORMALIZING = {"kinds": {NORMALIZATION: 0.2}, "primitives": [primitive(NORMALIZATION, 0.2, bound=MEMORY)]}


def test_batch_normalization_bound_by_memory_is_advised_to_be_frozen_with_a_warning():
    found = advice_of(step_rules.normalization_bound_by_memory, run_of(**NORMALIZING))
    assert found.gain == pytest.approx(0.05)  # 2 of 8 passes over the activations
    assert found.options == {"batch_norm": "frozen"}
    assert "changes what is learned" in found.remedy


@pytest.mark.parametrize(
    "run",
    [
        run_of(**{**NORMALIZING, "kinds": {NORMALIZATION: 0.05}}),
        run_of(kinds={NORMALIZATION: 0.2}, primitives=[primitive(NORMALIZATION, 0.2, bound=COMPUTE)]),
        run_of(**NORMALIZING, options={"batch_norm": "frozen"}),
        run_of(**NORMALIZING, what="inference"),
    ],
    ids=["little", "bound by the processor", "frozen", "inference"],
)
def test_other_batch_normalization_stays(run):
    assert advice_of(step_rules.normalization_bound_by_memory, run) is None


def test_forced_recomputing_is_advised_to_be_left_to_the_memory():
    run = run_of(phases={FORWARD: 0.25, BACKWARD: 0.7}, options={"recompute": "yes"})
    found = advice_of(step_rules.recomputing, run)
    assert found.gain == pytest.approx(0.25)
    assert found.options == {"recompute": "auto"}
    assert advice_of(step_rules.recomputing, run_of(phases={FORWARD: 0.25})) is None


@pytest.mark.parametrize(
    ("batch_size", "options"), [(4, {"batch_size": 2, "accumulation": 2}), (1, {})], ids=["a batch", "one image"]
)
def test_recomputing_for_lack_of_memory_is_advised_half_the_batch(batch_size, options):
    options_of_run = {"is_recomputing": True, "batch_size": batch_size}
    found = advice_of(step_rules.recomputing, run_of(phases={FORWARD: 0.25}, options=options_of_run))
    assert found.options == options


def test_a_large_optimizer_is_advised_to_run_half_as_often():
    found = advice_of(step_rules.large_optimizer, run_of(phases={OPTIMIZER_STEP: 0.2}, options={"accumulation": 2}))
    assert found.gain == pytest.approx(0.1)
    assert found.options == {"accumulation": 4}
    assert advice_of(step_rules.large_optimizer, run_of(phases={OPTIMIZER_STEP: 0.05})) is None


def test_weight_averaging_gains_its_own_time():
    rows = [primitive(OPTIMIZER, 0.05, name="aten::_foreach_lerp_")]
    found = advice_of(step_rules.weight_averaging, run_of(primitives=rows, options={"averaging": 0.98}))
    assert found.gain == pytest.approx(0.05)
    assert found.options == {"averaging": 0.0}
    assert advice_of(step_rules.weight_averaging, run_of(primitives=rows)) is None


def test_validations_gain_what_they_take_beyond_a_tenth():
    assert advice_of(step_rules.large_validation, run_of(phases={VALIDATION: 0.3})).gain == pytest.approx(0.2)
    assert advice_of(step_rules.large_validation, run_of(phases={VALIDATION: 0.12})) is None


def test_a_conversion_gains_what_all_threads_have_over_one():
    found = advice_of(step_rules.large_conversion, run_of(what="inference", phases={CONVERSION: 0.2}))
    assert found.gain == pytest.approx(0.15)  # four threads
    assert advice_of(step_rules.large_conversion, run_of(what="inference", phases={CONVERSION: 0.05})) is None
