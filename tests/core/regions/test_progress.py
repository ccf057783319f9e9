"""The throughput of a region and the time left, against runs whose end is known."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from shapely import LineString

from tests.core.support.rasters import NORTH_UP, layer, write_raster
from training_core.geodata.rasters import read_grid
from training_core.regions.progress import NetworkSummary, Throughput
from training_core.regions.region_roads import MappedScene


def play(throughput, workers, tasks, megapixels=10.0, pause_s=0.0):
    """Play tasks of some workers, each with its seconds a task; yield the time after each, and return the end."""
    ready = [(seconds, name, seconds) for name, seconds in workers.items()]
    heapq.heapify(ready)
    for _ in range(tasks):
        now, name, seconds = heapq.heappop(ready)
        throughput.add(name, megapixels, seconds, now)
        heapq.heappush(ready, (now + pause_s + seconds, name, seconds))
        yield now


def test_one_worker_is_extrapolated_and_one_that_is_gone_counts_no_longer():
    throughput = Throughput(100)
    throughput.add("a", 10, 60, now=1060)
    assert throughput.eta_s(1060) == pytest.approx(540)
    throughput.add("a", 10, 60, now=1120)
    throughput.add("b", 10, 60, now=1120)
    assert throughput.eta_s(1120) == pytest.approx(210)
    throughput.add("b", 10, 500, now=1620)
    assert throughput.eta_s(1620) == pytest.approx(60 / 20 * 560)


@pytest.mark.parametrize("pause_s", [0.0, 15.0])
@pytest.mark.parametrize("workers", [{"a": 60}, {"a": 60, "b": 60, "c": 60, "d": 60}, {"fast": 20, "slow": 90}])
def test_the_time_left_is_right_from_the_second_task_of_each_worker_on(workers, pause_s):
    tasks = 120
    end_s = list(play(Throughput(0), workers, tasks, pause_s=pause_s))[-1]
    throughput = Throughput(10.0 * tasks)
    for number, now in enumerate(play(throughput, workers, tasks, pause_s=pause_s), 1):
        if min(each.tasks for each in throughput.by_worker.values()) >= 2 and len(throughput.by_worker) == len(workers):
            assert throughput.eta_s(now) == pytest.approx(end_s - now, rel=0.25, abs=100), number
    assert throughput.eta_s(now) == 0


def test_what_is_kept_or_has_failed_leaves_the_pace_as_it_is():
    throughput = Throughput(1000)
    throughput.skip(500)
    throughput.add("a", 10, 60, now=60)
    assert throughput.eta_s(60) == pytest.approx(490 / 10 * 60)
    throughput.skip(90)
    assert throughput.eta_s(60) == pytest.approx(400 / 10 * 60)
    assert throughput.fraction == pytest.approx(0.6) and throughput.megapixels == 10
    throughput.skip(1000)
    assert throughput.eta_s(60) == 0 and throughput.fraction == 1
    assert Throughput(0).fraction == 1


def test_a_scene_has_the_length_of_the_roads_where_it_has_data(tmp_path, monkeypatch):
    """The road runs through several strips, in which data is looked for."""
    monkeypatch.setattr("training_core.regions.region_grid.CELL_PX", 64)
    whole = np.zeros((1, 200, 400), np.uint8)
    west, none = whole.copy(), np.full_like(whole, 255)
    west[:, :, 240:] = 255
    scenes = []
    for name, values in (("whole", whole), ("west", west), ("none", none)):
        path = write_raster(tmp_path / f"{name}.tif", values)
        scenes.append(MappedScene(name, "", read_grid(path), path, ""))
    beside = NORTH_UP.translation(400 * NORTH_UP.a, 0) @ NORTH_UP
    path = write_raster(tmp_path / "beside.tif", whole, transform=beside)
    scenes.append(MappedScene("beside", "", read_grid(path), path, ""))
    # From column 40 to 640, so that 200 pixels are in the west, 360 in the whole, and 240 beside.
    road = LineString([NORTH_UP @ (40, 10), NORTH_UP @ (640, 190)])
    pixel_m = NORTH_UP.a
    summary, seen = NetworkSummary(scenes[0].grid, scenes, lambda lines: None), []
    seen += summary.noted([layer(road, length_m=[600 * pixel_m], component=[1])])
    expected = {"whole": 360, "west": 200, "none": 0, "beside": 240}
    assert summary.scene_m == pytest.approx({name: px * pixel_m for name, px in expected.items()}, abs=20)
    assert len(seen) == 1 and summary.length_m == 600 * pixel_m
