"""The pace of a region and the time that is left, against runs whose end is known."""

from __future__ import annotations

import heapq

import pytest

from training_core.regions.pace import RegionPace, TaskTime


def course(pace, workers, tasks, megapixels=10.0, pause_s=0.0):
    """Play tasks of some workers, each with its seconds a task; yield the time after each, and return the end."""
    ready = [(seconds, name, seconds) for name, seconds in workers.items()]
    heapq.heapify(ready)
    for _ in range(tasks):
        now, name, seconds = heapq.heappop(ready)
        pace.add(name, megapixels, seconds, now)
        heapq.heappush(ready, (now + pause_s + seconds, name, seconds))
        yield now


def test_nothing_is_known_before_the_first_task():
    pace = RegionPace(100)
    assert pace.eta_s(5.0) is None and pace.megapixels_per_s(5.0) == 0 and pace.by_worker() == {}


def test_one_worker_is_extrapolated_and_the_time_left_runs_down_between_tasks():
    pace = RegionPace(100)
    pace.add("a", 10, 60, now=1060)
    assert pace.eta_s(1060) == pytest.approx(540)
    assert pace.eta_s(1090) == pytest.approx(510)
    pace.add("a", 10, 60, now=1120)
    assert pace.eta_s(1120) == pytest.approx(480)


@pytest.mark.parametrize("pause_s", [0.0, 15.0])
@pytest.mark.parametrize("workers", [{"a": 60}, {"a": 60, "b": 60, "c": 60, "d": 60}, {"fast": 20, "slow": 90}])
def test_the_time_left_is_right_from_the_second_task_of_each_worker_on(workers, pause_s):
    tasks = 120
    end_s = list(course(RegionPace(0), workers, tasks, pause_s=pause_s))[-1]
    pace = RegionPace(10.0 * tasks)
    for number, now in enumerate(course(pace, workers, tasks, pause_s=pause_s), 1):
        if min(each.tasks for each in pace.by_worker().values()) >= 2 and len(pace.by_worker()) == len(workers):
            assert pace.eta_s(now) == pytest.approx(end_s - now, rel=0.25, abs=100), number
    assert pace.eta_s(now) == 0


def test_what_is_kept_or_has_failed_leaves_the_pace_as_it_is():
    pace = RegionPace(1000)
    pace.skip(500)
    pace.add("a", 10, 60, now=60)
    assert pace.eta_s(60) == pytest.approx(490 / 10 * 60)
    pace.skip(90)
    assert pace.eta_s(60) == pytest.approx(400 / 10 * 60)
    assert pace.share == pytest.approx(0.6) and pace.megapixels == 10
    pace.skip(1000)
    assert pace.eta_s(60) == 0 and pace.share == 1
    assert RegionPace(0).share == 1


def test_workers_that_leave_are_forgotten_after_a_while():
    pace = RegionPace(1e6)
    many = {f"w{number}": 60 for number in range(8)}
    *_, now = course(pace, many, 160)
    assert pace.megapixels_per_s(now) == pytest.approx(80 / 60, rel=0.1)
    for _ in range(30):
        now += 60
        pace.add("w0", 10, 60, now)
    assert pace.megapixels_per_s(now) == pytest.approx(10 / 60, rel=0.3)


def test_the_time_left_grows_while_nothing_is_done():
    pace = RegionPace(1000)
    *_, now = course(pace, {"a": 10}, 20)
    assert pace.eta_s(now + 3600) > 3 * pace.eta_s(now)


def test_each_worker_has_the_pace_of_its_own_work():
    pace = RegionPace(1000)
    pace.add("b", 30, 10, now=10)
    pace.add("a", 10, 20, now=20)
    pace.add("a", 0, 5, now=30)
    assert list(pace.by_worker()) == ["a", "b"]
    a, b = pace.by_worker().values()
    assert (a.tasks, a.megapixels, a.busy_s, a.megapixels_per_s) == (2, 10, 25, 0.4)
    assert b.megapixels_per_s == 3
    assert pace.times[1] == TaskTime("a", 10, 20, 20)


def test_tasks_of_no_time_are_no_trouble():
    pace = RegionPace(10)
    pace.add("a", 5, 0.0, now=7.0)
    assert pace.eta_s(7.0) >= 0 and pace.by_worker()["a"].megapixels_per_s == 0
