"""Counters of the system, by hand."""

import pytest

from training_core.profiling import counters
from training_core.profiling.counters import Reading


def test_counts_are_those_of_a_step_shares_those_of_the_time_and_unknown_ones_none():
    before = Reading(wall_s=10, page_faults=100, waits=5, user_s=1.0, system_s=0.5, busy_s=20.0)
    after = Reading(wall_s=14, page_faults=500, waits=9, user_s=6.0, system_s=1.5, busy_s=30.0)
    found = counters.counters(before, after, steps=4, threads=2, cores=4)
    assert found.page_faults == 100
    assert found.waits == 1
    assert found.system_share == pytest.approx(1 / 6)
    assert found.busy_share == pytest.approx(6 / 8)  # 6 s on two threads for 4 s
    assert found.stolen_share == pytest.approx(4 / 16)  # others took 4 s of four cores for 4 s
    unknown = Reading(0, None, None, 0, 0, 0)
    found = counters.counters(unknown, Reading(1, None, None, 0, 0, 0), 1, 1, 1)
    assert (found.page_faults, found.waits, found.system_share) == (None, None, None)


def test_readings_grow():
    first = counters.read()
    sum(range(1_000_000))
    second = counters.read()
    assert second.wall_s > first.wall_s
    assert second.user_s + second.system_s >= first.user_s + first.system_s
    assert second.busy_s >= first.busy_s
