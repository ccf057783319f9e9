import itertools

import pytest
import torch

from training_core.errors import Cancelled
from training_core.events import Reporter
from training_core.profiling import limits
from training_core.profiling.limits import measure_limits, scaling
from training_core.profiling.profile import Rate
from training_core.system import machine, memory, processor

MIB = 1 << 20


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
    monkeypatch.setattr(machine, "frequency_mhz", lambda cpus: next(readings_mhz))
    monkeypatch.setattr(machine, "last_level_cache_bytes", lambda cpus: 6 * MIB)
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
    monkeypatch.setattr(machine, "frequency_mhz", lambda cpus: None)
    monkeypatch.setattr(machine, "last_level_cache_bytes", lambda cpus: 0)
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
