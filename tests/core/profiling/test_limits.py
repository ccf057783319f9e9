"""The limits of this machine, and how they are measured."""

import itertools
import time

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from training_core.errors import Cancelled
from training_core.events import Reporter
from training_core.profiling import limits, machine_facts
from training_core.profiling.limits import (
    bandwidth_works,
    best_rate,
    convolutions,
    matrix_products,
    measure_limits,
    measure_rates,
    parallel_region_s,
    thread_counts,
)
from training_core.system import memory, processor

MIB = 1 << 20


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    """Let the arrays be small, which saves seconds."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 48 * MIB)


@pytest.mark.slow
def test_all_limits_are_measured(monkeypatch):
    readings_mhz = itertools.chain([1200.0], itertools.repeat(3000.0))
    monkeypatch.setattr(machine_facts, "frequency_mhz", lambda cpus: next(readings_mhz))
    monkeypatch.setattr(machine_facts, "last_level_cache_bytes", lambda cpus: 6 * MIB)
    before, fractions = torch.get_num_threads(), []
    found = measure_limits(2, 0.1, Reporter(lambda event: fractions.append(event.fraction)))
    formats = {"fp32"} | ({"bf16"} if processor.has_bf16_unit() else set())
    assert set(found.convolution) == formats
    assert set(found.matrix) == {*formats, "int8"}
    assert set(found.bandwidth) == {"triad", "read"}
    for rates in (*found.convolution.values(), *found.matrix.values(), *found.bandwidth.values()):
        assert [rate.threads for rate in rates] == [1, 2]
        assert all(rate.per_s > 0 for rate in rates)
    assert found.cache_bytes == 6 * MIB
    assert found.cache_per_s > 0
    assert found.machine["cpus"] == len(processor.usable_cpus())
    assert found.machine["frequency_idle_mhz"] == 1200
    assert found.machine["frequency_load_mhz"] == 3000
    assert fractions == sorted(fractions) and fractions[-1] == 1
    assert torch.get_num_threads() == before


def test_facts_that_the_system_does_not_tell_are_left_open(monkeypatch):
    monkeypatch.setattr(machine_facts, "frequency_mhz", lambda cpus: None)
    monkeypatch.setattr(machine_facts, "last_level_cache_bytes", lambda cpus: 0)
    monkeypatch.setattr(limits, "formats", dict)
    found = measure_limits(1, 0, Reporter())
    assert (found.cache_bytes, found.cache_per_s, found.parallel_region_s) == (0, 0, 0)
    assert [found.machine[f"frequency_{when}_mhz"] for when in ("idle", "load")] == [None, None]


def test_measuring_stops_where_it_is_cancelled():
    asked, before = itertools.count(), torch.get_num_threads()
    with pytest.raises(Cancelled):
        measure_limits(2, 0, Reporter(is_cancelled=lambda: next(asked) >= 2))
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(("threads", "counts"), [(1, (1,)), (3, (1, 2, 3)), (64, (1, 4, 8, 16, 64))])
def test_threads_are_powers_of_two_up_to_all_of_them(threads, counts):
    assert thread_counts(threads) == counts


def test_the_best_rate_counts_and_an_operation_that_is_missing_is_left_out():
    works = [(amount, lambda: time.sleep(0.01)) for amount in (1.0, 3.0)]
    assert 150 < best_rate(works, 0.0) <= 300

    def fail():
        raise RuntimeError("no kernel")

    makers = {"good": lambda threads: [(1.0, int)], "bad": lambda threads: [(1.0, fail)]}
    assert set(measure_rates(makers, (1,), 0.01, Reporter())) == {"good"}


@pytest.mark.parametrize("make", [convolutions, matrix_products])
@pytest.mark.parametrize("threads", [1, 9])
def test_flop_are_those_that_pytorch_counts(make, threads):
    for flop, run in make(torch.float32, threads)[:2]:
        with FlopCounterMode(display=False) as counter, torch.inference_mode():
            run()
        assert flop == counter.get_total_flops() > 0


def test_memory_is_measured_by_a_triad_and_a_sum_whose_bytes_count_as_in_stream():
    works = bandwidth_works(4096)  # of arrays a = 0, b = 1 and c = 2
    assert [works[name][0] for name in ("triad", "read")] == [3 * 4096, 4096]
    assert torch.equal(works["triad"][1](), torch.full((1024,), 1.0 + 3 * 2))
    assert works["read"][1]() == 1024


def test_a_region_takes_as_long_as_an_addition_takes_longer_with_all_threads(monkeypatch):
    times_s = {3: 900e-6, 1: 200e-6}
    monkeypatch.setattr(limits, "best_s", lambda operation, limit_s: times_s[torch.get_num_threads()])
    before = torch.get_num_threads()
    assert parallel_region_s(3, 1.0) == pytest.approx(7e-6)  # 100 additions each
    assert torch.get_num_threads() == before
