"""Rules of advice, each on a run that has its trouble, and on such as do not."""

import pytest

from tests.core.support.profiles import context_of, primitive, run_of
from training_core.profiling import rules
from training_core.profiling.profile import Bound, Counters, Kind, Phase, Rate

BRG, REF = "brg_conv_fwd:avx512_core_bf16", "ref:any"
PEAKS = {"bf16": (Rate(8, 2e12), Rate(16, 1.5e12))}


def advice_of(rule, run, **limits):
    return rule(run, context_of(run, **limits))


@pytest.mark.parametrize(
    ("threads", "facts", "expected"),
    [
        (8, {"container_cores": 2.5}, 2),
        (8, {"container_cores": 0.5}, 1),
        (16, {"cores": 8, "cpus": 16}, 8),
        (16, {"cores": 16, "numa_nodes": 2}, 8),
        (2, {"container_cores": 2.5}, None),
        (1, {"container_cores": 0.5}, None),
        (8, {"container_cores": None}, None),
        (8, {"cores": 8, "cpus": 16}, None),
        (8, {}, None),
        (8, {"cores": 16, "numa_nodes": 2}, None),
        (16, {"cores": 16, "numa_nodes": 1}, None),
    ],
)
def test_threads_beyond_those_that_cores_serve_are_advised_to_be_fewer(threads, facts, expected):
    found = advice_of(rules.too_many_threads, run_of(threads=threads), **facts)
    if expected is None:
        assert found is None
    else:
        assert found.options == {"threads": expected}
        assert found.gain == 0 and "unknown" in found.evidence


def test_fewer_threads_gain_the_gain_of_the_peak():
    run = run_of(threads=16, kinds={Kind.CONVOLUTION: 0.8})
    found = advice_of(rules.too_many_threads, run, convolution=PEAKS, cores=16, numa_nodes=2)
    assert found.gain == pytest.approx(0.2)  # 0.8 of the step takes three quarters of its time
    assert "2,000 GFLOP/s with 8" in found.evidence


@pytest.mark.parametrize(
    ("counters", "gain"),
    [
        (Counters(page_faults=100_000, system_share=0.1), 0.1),  # 0.18 s on four threads, but no more than the system
        (Counters(page_faults=20_000, system_share=0.1), 0.045),  # 0.045 of 0.2 s
        (Counters(page_faults=2_000, system_share=0.1), None),
        (Counters(page_faults=1e6, system_share=0.0), None),
        (Counters(), None),
    ],
)
def test_page_faults_take_no_more_than_the_system_does(counters, gain):
    found = advice_of(rules.page_faults, run_of(counters=counters))
    assert found is None if gain is None else found.gain == pytest.approx(gain)


@pytest.mark.parametrize(
    ("stolen", "cpus", "gain"), [(0.2, 4, 0.2), (0.7, 8, 0.2), (0.4, 8, None), (0.02, 4, None), (None, 4, None)]
)
def test_a_neighbor_takes_more_than_the_idle_cores_can_give_it(stolen, cpus, gain):
    found = advice_of(rules.busy_neighbor, run_of(counters=Counters(stolen_share=stolen)), cpus=cpus)
    assert found is None if gain is None else found.gain == pytest.approx(gain)


@pytest.mark.parametrize(
    ("idle_mhz", "load_mhz", "governor", "is_told"),
    [
        (3000, 2000, "performance", True),
        (3000, 2700, "performance", False),
        (800, 3000, "powersave", False),
        (800, 800, "powersave", True),
        (2000, 2000, "schedutil", False),
        (None, 2000, "powersave", False),
        (3000, None, None, False),
    ],
)
def test_a_clock_that_falls_or_is_not_raised_is_told_without_an_estimate(idle_mhz, load_mhz, governor, is_told):
    facts = {"frequency_idle_mhz": idle_mhz, "frequency_load_mhz": load_mhz, "governor": governor}
    found = advice_of(rules.low_clock, run_of(), **facts)
    assert (found is not None) == is_told
    assert not is_told or (found.gain == 0 and ("cpupower" in found.remedy) == (governor == "powersave"))


@pytest.mark.parametrize(
    ("implementation", "is_last_resort"),
    [
        ("ref:any", True), ("gemm:jit", True), ("x64:gemm:jit", True), ("simple:any", True),
        (BRG, False), ("jit_1x1:avx2", False), ("brgconv:avx512_core_amx", False), ("", False),
    ],
)  # fmt: skip
def test_a_last_resort_of_onednn_is_told(implementation, is_last_resort):
    rows = [
        primitive(Kind.CONVOLUTION, 0.1, implementation=implementation),
        primitive(Kind.COPY, 0.3, implementation=REF),
    ]
    found = advice_of(rules.last_resorts, run_of(primitives=rows))
    assert (found is not None) == is_last_resort
    assert not is_last_resort or (implementation in found.evidence and "10 %" in found.evidence.replace("\u00a0", " "))


def test_a_step_of_many_small_operations_is_advised_a_batch_or_tile_twice_as_large():
    run = run_of(kinds={Kind.PYTHON: 0.08}, primitives=[primitive(Kind.CONVOLUTION, 0.5, calls=1000)])
    found = advice_of(rules.small_step, run, region_s=4e-6)  # 4 ms of 200
    assert found.gain == pytest.approx((0.02 + 0.08) / 2)
    assert found.options == {"batch_size": 8}
    assert "1,000 operations" in found.evidence and "4.0 us" in found.evidence
    assert advice_of(rules.small_step, run_of(kinds={Kind.PYTHON: 0.04}), region_s=4e-6) is None
    one_thread = run_of(threads=1, primitives=[primitive(Kind.CONVOLUTION, 0.5, calls=10000)])
    assert advice_of(rules.small_step, one_thread, region_s=4e-6) is None
    run = run_of(what="inference", kinds={Kind.PYTHON: 0.2}, options={"tile_px": 256})
    found = advice_of(rules.small_step, run)
    assert found.options == {"tile_px": 512}
    assert found.gain == pytest.approx(0.15)  # a quarter of the starts a pixel is left


@pytest.mark.parametrize(("threads", "options"), [(8, {"threads": 7}), (2, {})])
def test_a_step_that_waits_for_data_leaves_it_a_core_where_there_are_several(threads, options):
    found = advice_of(rules.data_starving, run_of(threads=threads, phases={Phase.WAITING: 0.1}))
    assert found.gain == pytest.approx(0.1)
    assert found.options == options
    assert advice_of(rules.data_starving, run_of(threads=threads, phases={Phase.WAITING: 0.02})) is None


NORMALIZING = {
    "kinds": {Kind.NORMALIZATION: 0.2},
    "primitives": [primitive(Kind.NORMALIZATION, 0.2, bound=Bound.MEMORY)],
}


def test_batch_normalization_bound_by_memory_is_advised_to_be_frozen_with_a_warning():
    found = advice_of(rules.normalization_bound_by_memory, run_of(**NORMALIZING))
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
    assert advice_of(rules.normalization_bound_by_memory, run) is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"recompute": "yes"}, {"recompute": "auto"}),
        ({"recompute": "auto", "batch_size": 4}, {"batch_size": 2, "accumulation": 2}),
        ({"recompute": "auto", "batch_size": 1}, {}),
        ({"recompute": "no"}, None),
    ],
)
def test_recomputing_is_advised_to_be_left_to_the_memory_or_to_take_half_the_batch(options, expected):
    run = run_of(phases={Phase.FORWARD: 0.25, Phase.BACKWARD: 0.7}, options=options)
    found = advice_of(rules.recomputing, run)
    assert found is None if expected is None else (found.options, found.gain) == (expected, pytest.approx(0.25))


def test_an_engine_measured_faster_is_advised_with_its_gain():
    run, faster = run_of(), run_of(engine="ipex", step_s=0.15)
    found = rules.faster_choice(run, context_of(run, faster))
    assert found.gain == pytest.approx(0.25)
    assert found.options == {"engine": "ipex"}
    larger, slower = run_of(engine="ipex", step_s=0.3, batch_size=8), run_of(precision="fp32", step_s=0.1)
    assert rules.faster_choice(run, context_of(run, larger)).gain == pytest.approx(0.25)
    assert rules.faster_choice(run, context_of(run, slower)).options == {"precision": "fp32"}
    for other in (run_of(engine="ipex", step_s=0.192), run_of(what="inference", step_s=0.1)):
        assert rules.faster_choice(run, context_of(run, other)) is None  # four percent, or another task
