import pytest

from tests.core.support.profiled_runs import context_of, run_of
from training_core.profiling import machine_rules
from training_core.profiling.profile import Counters, Kind, Rate

PEAKS = {"bf16": (Rate(8, 2e12), Rate(16, 1.5e12))}


def advice_of(rule, run, **limits):
    return rule(run, context_of(run, **limits))


@pytest.mark.parametrize(
    ("rule", "threads", "facts", "expected"),
    [
        (machine_rules.threads_beyond_quota, 8, {"container_cores": 2.5}, 2),
        (machine_rules.threads_beyond_quota, 8, {"container_cores": 0.5}, 1),
        (machine_rules.threads_beyond_cores, 16, {"cores": 8, "cpus": 16}, 8),
        (machine_rules.threads_across_nodes, 16, {"cores": 16, "numa_nodes": 2}, 8),
    ],
)
def test_threads_beyond_what_serves_them_are_advised_to_be_fewer(rule, threads, facts, expected):
    found = advice_of(rule, run_of(threads=threads), **facts)
    assert found.options == {"threads": expected}
    assert found.gain == 0 and "unknown" in found.evidence


@pytest.mark.parametrize(
    ("rule", "threads", "facts"),
    [
        (machine_rules.threads_beyond_quota, 2, {"container_cores": 2.5}),
        (machine_rules.threads_beyond_quota, 1, {"container_cores": 0.5}),
        (machine_rules.threads_beyond_quota, 8, {"container_cores": None}),
        (machine_rules.threads_beyond_cores, 8, {"cores": 8, "cpus": 16}),
        (machine_rules.threads_beyond_cores, 8, {}),
        (machine_rules.threads_across_nodes, 8, {"cores": 16, "numa_nodes": 2}),
        (machine_rules.threads_across_nodes, 16, {"cores": 16, "numa_nodes": 1}),
        (machine_rules.threads_across_nodes, 16, {"numa_nodes": 2}),
    ],
)
def test_threads_that_are_served_stay(rule, threads, facts):
    assert advice_of(rule, run_of(threads=threads), **facts) is None


def test_fewer_threads_gain_what_the_peak_gains_with_them():
    run = run_of(threads=16, kinds={Kind.CONVOLUTION: 0.8})
    found = advice_of(machine_rules.threads_across_nodes, run, convolution=PEAKS, cores=16, numa_nodes=2)
    assert found.gain == pytest.approx(0.2)  # 0.8 of the step takes three quarters of its time
    assert "2,000 GFLOP/s with 8" in found.evidence


def test_page_faults_take_no_more_than_the_system_does_and_without_its_share_count_as_cheap():
    many = Counters(page_faults=100_000, system_share=0.1)  # 0.18 s on one thread, 0.045 of 0.2 s on four
    assert advice_of(machine_rules.page_faults, run_of(counters=many)).gain == pytest.approx(0.1)
    few = Counters(page_faults=20_000, system_share=0.1)
    assert advice_of(machine_rules.page_faults, run_of(counters=few)).gain == pytest.approx(0.045)
    found = advice_of(machine_rules.page_faults, run_of(counters=Counters(page_faults=100_000)))
    assert found.gain == pytest.approx(100_000 * 0.25e-6 / 4 / 0.2)


@pytest.mark.parametrize(
    "counters", [Counters(), Counters(page_faults=2_000, system_share=0.1), Counters(page_faults=1e6, system_share=0.0)]
)
def test_few_page_faults_are_no_storm(counters):
    assert advice_of(machine_rules.page_faults, run_of(counters=counters)) is None


def test_page_faults_name_the_setting_that_is_not_in_effect():
    run = run_of(counters=Counters(page_faults=100_000, system_share=0.1))
    without = advice_of(machine_rules.page_faults, run, allocator="jemalloc", keeps_freed_memory=False)
    assert "jemalloc, which gives freed memory back" in without.evidence
    assert "not in effect" in without.remedy and "MALLOC_MMAP_MAX_=0" in without.remedy
    with_it = advice_of(machine_rules.page_faults, run, allocator="glibc", keeps_freed_memory=True)
    assert "(recompute)" in with_it.remedy and "MALLOC" not in with_it.remedy


@pytest.mark.parametrize(
    ("stolen", "cpus", "gain"), [(0.2, 4, 0.2), (0.7, 8, 0.2), (0.4, 8, None), (0.02, 4, None), (None, 4, None)]
)
def test_a_neighbor_takes_what_the_cores_left_idle_cannot_give_it(stolen, cpus, gain):
    found = advice_of(machine_rules.busy_neighbor, run_of(counters=Counters(stolen_share=stolen)), cpus=cpus)
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
    found = advice_of(machine_rules.low_clock, run_of(), **facts)
    assert (found is not None) == is_told
    assert not is_told or (found.gain == 0 and ("cpupower" in found.remedy) == (governor == "powersave"))


def test_instruction_sets_that_a_variable_takes_away_are_told():
    found = advice_of(
        machine_rules.limited_instructions, run_of(), instruction_sets_limited_by="ONEDNN_MAX_CPU_ISA=avx2"
    )
    assert "ONEDNN_MAX_CPU_ISA=avx2" in found.evidence
    assert advice_of(machine_rules.limited_instructions, run_of(), instruction_sets_limited_by=None) is None
