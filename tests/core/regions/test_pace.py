"""The pace of a region."""

import pytest

from training_core.regions.pace import RegionPace


def test_the_rest_takes_as_long_as_the_mean_pace_so_far_says():
    now = [100.0]
    pace = RegionPace(50, lambda: now[0])
    assert pace.eta_s() is None and pace.share == 0
    now[0] = 110.0
    pace.add("a", 6, 9.0)
    pace.add("b", 4, 8.0)
    assert pace.eta_s() == pytest.approx(40) and pace.share == pytest.approx(0.2)
    assert pace.by_worker() == {"a": pytest.approx(6 / 9), "b": pytest.approx(0.5)}


def test_without_work_all_is_done():
    pace = RegionPace(0)
    assert pace.share == 1 and pace.eta_s() is None and pace.by_worker() == {}
