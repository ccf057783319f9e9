import itertools

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from training_core.errors import Cancelled
from training_core.events import Reporter
from training_core.profiling import limits, machine_facts
from training_core.profiling.limits import (
    array_bytes,
    convolution_makers,
    matrix_makers,
    measure_limits,
    memory_works,
    parallel_region_s,
    scaling,
)
from training_core.profiling.profile import Rate
from training_core.system import memory, processor

MIB, GIB = 1 << 20, 1 << 30
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
MAKERS = {"convolution": convolution_makers, "matrix": matrix_makers}


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    """Let the arrays be small, which saves seconds."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 48 * MIB)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ((Rate(1, 100.0), Rate(2, 190.0), Rate(8, 600.0)), 0.75),
        ((Rate(1, 100.0),), 1.0),
        ((Rate(2, 100.0),), None),
        ((), None),
    ],
)
def test_scaling_is_the_rate_of_all_threads_to_as_many_times_that_of_one(rates, expected):
    assert scaling(rates) == expected


def test_all_limits_are_measured(monkeypatch):
    readings_mhz = itertools.chain([1200.0], itertools.repeat(3000.0))
    monkeypatch.setattr(machine_facts, "frequency_mhz", lambda cpus: next(readings_mhz))
    monkeypatch.setattr(machine_facts, "last_level_cache_bytes", lambda cpus: 6 * MIB)
    before, fractions = torch.get_num_threads(), []
    found = measure_limits(2, 0.1, Reporter(lambda event: fractions.append(event.fraction)))
    formats = {"fp32", "int8"} | ({"bf16"} if processor.has_bf16_unit() else set())
    assert set(found.convolution) == set(found.matrix) == formats
    assert set(found.bandwidth) == {"triad", "read", "copy"}
    for rates in (*found.convolution.values(), *found.matrix.values(), *found.bandwidth.values()):
        assert [rate.threads for rate in rates] == [1, 2]
        assert all(rate.per_s > 0 for rate in rates)
    assert found.cache_bytes == 6 * MIB
    assert found.cache_per_s > 0
    assert found.machine["cpus"] == len(processor.usable_cpus())
    assert found.machine["frequency_idle_mhz"] == 1200
    assert found.machine["frequency_load_mhz"] == 3000
    assert found.machine["scaling"] == scaling(found.convolution["fp32"])
    assert fractions == sorted(fractions) and fractions[-1] == 1
    assert torch.get_num_threads() == before


def test_what_the_system_does_not_tell_is_left_open(monkeypatch):
    monkeypatch.setattr(machine_facts, "frequency_mhz", lambda cpus: None)
    monkeypatch.setattr(machine_facts, "last_level_cache_bytes", lambda cpus: 0)
    monkeypatch.setattr(limits, "convolution_makers", dict)
    monkeypatch.setattr(limits, "matrix_makers", dict)
    found = measure_limits(1, 0, Reporter())
    assert (found.cache_bytes, found.cache_per_s, found.parallel_region_s) == (0, 0, 0)
    assert [found.machine[f"frequency_{when}_mhz"] for when in ("idle", "load")] == [None, None]
    assert found.machine["scaling"] is None


def test_measuring_stops_where_it_is_cancelled():
    asked, before = itertools.count(), torch.get_num_threads()
    with pytest.raises(Cancelled):
        measure_limits(2, 0, Reporter(is_cancelled=lambda: next(asked) >= 2))
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("threads", [1, 9])
def test_flop_are_those_that_pytorch_counts(kind, threads):
    for work in MAKERS[kind]()["fp32"](threads)[:2]:
        with FlopCounterMode(display=False) as counter, torch.inference_mode():
            work.run()
        assert work.amount == counter.get_total_flops() > 0


@pytest.mark.parametrize("kind", MAKERS)
def test_every_format_does_the_same_work_in_itself(kind):
    works = {name: make(1) for name, make in MAKERS[kind]().items()}
    amounts = {name: [work.amount for work in made] for name, made in works.items()}
    assert all(amount == amounts["fp32"] for amount in amounts.values())
    results = {name: made[0].run() for name, made in works.items()}
    expected = {**DTYPES, "int8": {"convolution": torch.quint8, "matrix": torch.int32}[kind]}
    assert all(result.dtype == expected[name] for name, result in results.items())
    if kind == "convolution":
        assert all(result.is_contiguous(memory_format=torch.channels_last) for result in results.values())


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(("has_unit", "expected"), [(True, ["fp32", "bf16", "int8"]), (False, ["fp32", "int8"])])
def test_bf16_is_only_measured_with_a_unit_for_it(kind, has_unit, expected, monkeypatch):
    monkeypatch.setattr(processor, "has_bf16_unit", lambda: has_unit)
    assert list(MAKERS[kind]()) == expected


@pytest.mark.parametrize(
    ("cache_bytes", "available_bytes", "expected"),
    [
        (32 * MIB, 24 * GIB, 128 * MIB),  # four times the cache
        (0, 24 * GIB, 64 * MIB),
        (4 * GIB, 1024 * GIB, GIB // 3),  # all three take one GiB
        (32 * MIB, 300 * MIB, 25 * MIB),  # all three take a quarter of what is free
    ],
)
def test_arrays_are_four_times_the_cache_where_memory_allows(cache_bytes, available_bytes, expected):
    assert array_bytes(cache_bytes, available_bytes) == expected


def test_the_operations_are_a_triad_a_sum_and_a_copy_and_bytes_count_as_in_stream():
    works = memory_works(4096)  # of arrays a = 0, b = 1 and c = 2
    assert [works[name].amount for name in ("triad", "read", "copy")] == [3 * 4096, 4096, 2 * 4096]
    assert torch.equal(works["triad"].run(), torch.full((1024,), 1.0 + 3 * 2))
    assert works["read"].run() == 1024
    assert torch.equal(works["copy"].run(), torch.ones(1024))


def test_a_region_takes_what_an_addition_takes_longer_with_all_threads(monkeypatch):
    seen = []

    def timed(operations, limit_s):
        (operation,) = operations
        operation()
        seen.append((torch.get_num_threads(), operation.args[0].numel()))
        return [{3: 900e-6, 1: 200e-6}[torch.get_num_threads()]]

    monkeypatch.setattr(limits, "best_times_s", timed)
    before = torch.get_num_threads()
    assert parallel_region_s(3, 1.0) == pytest.approx(7e-6)  # 100 additions each
    assert seen[0] == (3, 3 * seen[1][1])
    assert torch.get_num_threads() == before
