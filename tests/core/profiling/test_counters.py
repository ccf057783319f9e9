"""Counters of the system, by hand."""

import pytest

from training_core.profiling import counters
from training_core.profiling.counters import Reading


def test_page_faults_are_those_of_a_step_shares_those_of_the_time_and_unknown_ones_none():
    before = Reading(wall_s=10, page_faults=100, user_s=1.0, system_s=0.5, busy_s=20.0)
    after = Reading(wall_s=14, page_faults=500, user_s=6.0, system_s=1.5, busy_s=30.0)
    found = counters.counters(before, after, steps=4, cores=4)
    assert found.page_faults == 100
    assert found.system_share == pytest.approx(1 / 6)
    assert found.stolen_share == pytest.approx(4 / 16)  # others took 4 s of four cores for 4 s
    found = counters.counters(Reading(0, None, 0, 0, 0), Reading(1, None, 0, 0, 0), 1, 1)
    assert (found.page_faults, found.system_share) == (None, None)


def test_readings_grow():
    first = counters.read()
    sum(range(1_000_000))
    second = counters.read()
    assert second.wall_s > first.wall_s
    assert second.user_s + second.system_s >= first.user_s + first.system_s
    assert second.busy_s >= first.busy_s
