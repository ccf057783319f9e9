"""The report of a region: its numbers, its map, and its bounds for regions of any size."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from shapely import LineString
from shapely.geometry import box

from tests.core.support.browser import HOSTILE, Page, squeezed
from training_core.jobs import MapRegion
from training_core.regions.index_layer import DONE, FAILED, KEPT, WAITING, IndexedScene
from training_core.regions.progress import WorkerThroughput
from training_core.reports.region_report import RegionRecord, write_region_report

FAILURE = {"scene": "torn <i>", "reason": "torn.tif ends <too> early.", "remedy": "Copy it again."}


def scene(number, status, side_m=700, pitch_m=650):
    x, y = number % 6 * pitch_m, number // 6 * pitch_m
    outline = box(x, y, x + side_m, y + side_m)
    return IndexedScene(f"scene {number}", f"/data/{number}.tif", outline, status, "", 4, 1.96)


@pytest.fixture
def record():
    scenes = [scene(number, DONE if number > 7 else KEPT) for number in range(28)]
    scenes += [scene(28, FAILED), scene(29, WAITING), IndexedScene(FAILURE["scene"], HOSTILE, None, FAILED)]
    grid = np.arange(0, 3600, 300.0)
    roads = [LineString([(0, each), (3600, each + 40)]) for each in grid]
    roads += [LineString([(each, 0), (each + 60, 2900)]) for each in grid]
    job = MapRegion(
        rasters=tuple(f"/data/{number}.tif" for number in range(30)), folder="/out", roads="/out/roads.gpkg"
    )
    rng = np.random.default_rng(0)
    return RegionRecord(
        options=dataclasses.asdict(job),
        timings_s={"mapping scenes": 7000.0, "extracting roads": 900.0},
        warnings=["scene 1: the <bands> are unusual.", f"torn: {FAILURE['reason']}"],
        versions={"RoadSeg": "1.2.3"},
        numbers={
            "scenes": 31, "done": 20, "kept": 8, "failed": 2, "outside": 3, "count": 4321, "length_m": 123456.0,
            "components": 7, "megapixels": 58.8, "megapixels_per_s": 0.0084, "seam_mismatches": 0, "partial": True,
            "failures": [FAILURE, {"scene": "", "reason": "A worker ended.", "remedy": ""}],
        },
        scenes=scenes,
        scene_km={"scene 9": 4.25},
        roads=np.array(roads, dtype=object),
        roads_every=1,
        executor="4 workers on this machine",
        workers={f"worker {number}": WorkerThroughput(20, 14.7, 1500.0 + 100 * number) for number in range(4)},
        block_s=rng.normal(60, 8, 80).tolist(),
        points=[(60.0 * step, 0.7 * step) for step in range(85)],
        area_km2=12.345,
    )  # fmt: skip


def page_of(record, folder):
    path = folder / "report.html"
    write_region_report(record, path)
    return path.read_text(encoding="utf-8")


def test_the_page_is_well_formed_and_holds_the_numbers(record, tmp_path):
    page = Page(page_of(record, tmp_path))
    for words in (
        "28 of 31 scenes are mapped: 12.35 km² with 123.5 km of roads. 2 failed;", "Mapped in this run 20",
        "Mapped before 8", "Failed 2", "Outside the area 3", "Lines 4,321", "Components 7", "Seam mismatches 0",
        "Time 2.2 h", "torn <i> torn.tif ends <too> early. Copy it again.", "part of the network A worker ended.",
        "scene 1: the <bands> are unusual.", "4 workers on this machine", "worker 2 20 14.7 28.3 min 0.0086",
        "mapped before: 8 scenes", "1 scene, whose place is unknown, is not on the map.",
        "scene 9 mapped in this run 4 2.0 4.25 km /data/9.tif", "/data/4.tif, and 25 more", "mapping scenes 116.7 min",
    ):  # fmt: skip
        assert squeezed(words) in squeezed(page.text), words
    assert page.elements.count("svg") == 3 and "script" not in page.elements
    assert page.text.count("torn.tif ends") == 1


def test_the_map_shows_each_scene_in_the_color_of_its_status_under_the_roads(record, tmp_path):
    page = page_of(record, tmp_path)
    map_ = re.search(r'<svg role="img" aria-label="Scenes by status.*?</svg>', page, re.DOTALL)[0]
    colors = {color: map_.count(f'stroke="{color}"') for color in ("#009e73", "#56b4e9", "#d55e00", "#8a9099")}
    assert list(colors.values()) == [20, 8, 1, 1]
    titles = re.findall("<title>(.*?)</title>", map_)
    assert titles[-2:] == ["roads", "scene 28: failed"] and len(titles) == 31


def test_names_cannot_break_the_page(record, tmp_path):
    bad = dataclasses.replace(scene(0, DONE), name=HOSTILE, path=HOSTILE)
    page = Page(page_of(dataclasses.replace(record, scenes=[bad], scene_km={}), tmp_path))
    assert "script" not in page.elements and HOSTILE in page.text


def test_a_region_of_thousands_of_scenes_and_failures_is_a_page_that_opens(record, tmp_path):
    many = [
        dataclasses.replace(
            scene(number, DONE), outline=box(number % 200, number // 200, number % 200 + 1, number // 200 + 1)
        )
        for number in range(20_000)
    ]
    failures = [{**FAILURE, "scene": f"f{number}", "reason": f"Reason {number}."} for number in range(5000)]
    large = dataclasses.replace(
        record,
        scenes=many,
        numbers={**record.numbers, "scenes": 25_000, "failed": 5000, "failures": failures},
        warnings=[f"{each['scene']}: {each['reason']}" for each in failures] + [f"w{number}" for number in range(70)],
        workers={f"worker {number}": WorkerThroughput(1, 10.0, 10.0 + number) for number in range(500)},
        roads_every=8,
    )
    text = page_of(large, tmp_path)
    assert len(text) < 300_000
    page = Page(text)
    for words in ("4,800 more are in the index", "19,800 more are in the index", "476 workers between them",
                  "One of 8 lines", "20 more are in the log", "worker 499"):  # fmt: skip
        assert words in page.text, words


def test_a_run_of_scenes_that_are_all_mapped_has_a_report_too(record, tmp_path):
    numbers = {**record.numbers, "done": 0, "kept": 1, "scenes": 1, "failures": [], "partial": False, "failed": 0}
    kept = dataclasses.replace(
        record,
        numbers=numbers,
        scenes=[scene(0, KEPT)],
        workers={},
        block_s=[],
        points=[(0.0, 0.0)],
        roads=record.roads[:0],
    )
    page = Page(page_of(kept, tmp_path))
    assert "All scenes were mapped already." in page.text and "1 of 1 scene is mapped" in page.text
    assert "Failures" not in page.text and page.elements.count("svg") == 1
