"""The throughput of a region and the time left, against runs whose end is known."""

from __future__ import annotations

import numpy as np
import pytest
from shapely import LineString

from tests.core.support.rasters import NORTH_UP, layer, write_raster
from training_core.geodata.rasters import read_grid
from training_core.regions.progress import NetworkSummary, Throughput
from training_core.regions.region_roads import MappedScene


@pytest.mark.parametrize("pause_s", [0.0, 15.0])
@pytest.mark.parametrize("workers", [{"a": 60}, {"fast": 20, "slow": 90}])
def test_the_time_left_is_right_from_the_second_task_of_each_worker_on(workers, pause_s):
    ends = [(k * (seconds + pause_s) - pause_s, name) for name, seconds in workers.items() for k in range(1, 200)]
    ends = sorted(ends)[:150]
    throughput = Throughput(10.0 * len(ends))
    for now, name in ends:
        throughput.add(name, 10, workers[name], now)
        tasks = [worker.tasks for worker in throughput.by_worker.values()]
        if len(tasks) == len(workers) and min(tasks) >= 2:
            assert throughput.eta_s == pytest.approx(ends[-1][0] - now, rel=0.25, abs=100)
    assert throughput.eta_s == 0


def test_what_is_kept_or_has_failed_leaves_the_pace_as_it_is():
    throughput = Throughput(1000)
    throughput.skip(500)
    assert throughput.eta_s is None
    throughput.add("a", 10, 60, now=60)
    assert throughput.eta_s == pytest.approx(490 / 10 * 60)
    throughput.skip(90)
    assert throughput.eta_s == pytest.approx(400 / 10 * 60)
    assert throughput.fraction == pytest.approx(0.6) and throughput.megapixels == 10
    throughput.skip(1000)
    assert throughput.eta_s == 0 and throughput.fraction == 1
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
