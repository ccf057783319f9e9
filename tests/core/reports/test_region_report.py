"""The report of a region."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
import shapely
from shapely.geometry import LineString, box

from support.browser import Page
from training_core.jobs import MapRegion
from training_core.regions.index_layer import DONE, FAILED, KEPT, IndexedScene
from training_core.reports.region_report import RegionRecord, longest, write_region_report

HOSTILE = "<script>alert(1)</script>"


def scene(number, status=DONE, name=None):
    outline = None if status == FAILED else box(number * 400, 0, number * 400 + 400, 400)
    return IndexedScene(name or f"scene {number}", f"/data/{number}.tif", outline, status, blocks=2, megapixels=1.7)


def page(tmp_path, scenes, failures=(), roads=(), **changed):
    numbers = {
        **{"scenes": len(scenes), "done": 1, "kept": 1, "failed": len(failures), "outside": 3, "count": len(roads)},
        **{"length_m": 12345.0, "components": 2, "seam_mismatches": 0, "megapixels_per_s": 1.25},
        **{"partial": bool(failures), "failures": list(failures)},
    }
    fields = {
        **{"options": asdict(MapRegion()), "numbers": numbers, "scenes": scenes, "fleet": "2 workers"},
        **{"roads": np.array(roads, dtype=object), "pace": {"a:1": 0.5, "b:2": 0.25}, "area_km2": 0.32},
        "course": [(0.0, 0.0), (60.0, 3.4), (120.0, 6.8)],
    }
    write_region_report(RegionRecord(**{**fields, **changed}), tmp_path / "report.html")
    return (tmp_path / "report.html").read_text()


def test_it_shows_what_was_mapped_and_what_failed(tmp_path):
    failures = [{"scene": "bad one", "reason": "It is damaged.", "remedy": "Copy it anew."}]
    html = page(
        tmp_path, [scene(0), scene(1, KEPT), scene(2, FAILED, "bad one")], failures, [LineString([(0, 9), (800, 9)])]
    )
    Page(html)
    assert "2</b> of 3 scenes" in html and "12.3 km" in html and "0.3 km²" in html
    assert "It is damaged." in html and "Copy it anew." in html
    assert "mapped in this run: 1 scenes" in html and "there already: 1 scenes" in html and "<details>" in html
    assert "2 workers" in html and "0.50" in html and "100.0%" in html and "50.0%" in html


def test_what_others_wrote_is_text(tmp_path):
    failures = [{"scene": HOSTILE, "reason": HOSTILE, "remedy": HOSTILE}]
    html = page(tmp_path, [scene(0, DONE, HOSTILE)], failures, pace={HOSTILE: 1.0}, fleet=HOSTILE)
    Page(html)
    assert "<script" not in html


@pytest.mark.parametrize("count", [0, 5000])
def test_a_region_of_any_size_has_a_page_of_bounded_size(tmp_path, count):
    roads = [LineString([(x, 0), (x + 5, 5)]) for x in range(count)]
    html = page(tmp_path, [scene(number) for number in range(count)], roads=roads, course=[], pace={})
    Page(html)
    assert len(html) < 2_000_000


def test_the_longest_lines_are_kept_in_their_order():
    lines = shapely.linestrings([[(0, 0), (length, 0)] for length in (3, 1, 5, 2)])
    assert shapely.length(longest(lines, 2)).tolist() == [3, 5] and len(longest(lines, 9)) == 4
