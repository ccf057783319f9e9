"""Lines and areas on a map as SVG, and a sketch of a network that comes in parts."""

from __future__ import annotations

import re

import numpy as np
import pytest
from shapely import LineString, MultiPolygon, Point, box

from tests.core.support.browser import Page
from training_core.reports.maps import MapAreas, MapLines, RoadSketch, line_map


def map_of(*lines, color="#123456"):
    return line_map("roads", {"matched": MapLines(np.array([LineString(line) for line in lines], dtype=object), color)})


def places(svg):
    """The places of the first path: where the pen is put down, or drawn to."""
    path = re.search(r' d="([^"]*)"', svg)[1]
    return [(pen, float(x), float(y)) for pen, x, y in re.findall(r"([ML])([-\d.]+) ([-\d.]+)", path)]


def test_lines_lie_north_up_and_to_scale():
    svg = map_of([(0, 0), (1000, 0), (1000, 500)], [(0, 0), (0, 250)])
    Page(svg)
    pens, x, y = zip(*places(svg))
    assert "".join(pens) == "MLLML"
    scale = (x[1] - x[0]) / 1000
    assert scale == pytest.approx(0.952)  # 1000 px less two margins of 24 px
    assert (y[0] - y[2], y[0] - y[4]) == pytest.approx((500 * scale, 250 * scale), abs=0.2)
    assert "#123456" in svg


@pytest.mark.parametrize(("span_m", "bar"), [(90, "10 m"), (300, "50 m"), (1000, "200 m"), (12000, "2 km")])
def test_the_bar_is_a_round_length_of_about_a_fifth(span_m, bar):
    assert f">{bar}<" in map_of([(0, 0), (span_m, 1)])


def test_a_map_of_one_tall_line_stays_on_the_page_and_bends_that_nobody_sees_are_left_out():
    svg = map_of([(0, 0), (0, 700)])
    width, height = map(float, re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups())
    assert all(0 <= x <= width and 0 <= y <= height for _, x, y in places(svg))
    assert height < 1.3 * width
    wiggle = [(step, 0.01 * (step % 2)) for step in range(1000)]
    assert len(places(map_of(wiggle))) == 2


def test_areas_lie_in_their_places_with_titles_escaped_or_as_one_shape_with_its_holes():
    shapes = np.array([box(0, 0, 400, 500), box(500, 0, 1000, 500)], dtype=object)
    svg = line_map("scenes", {"done": MapAreas(shapes, "#123456", ["a <b>", "c"])})
    Page(svg)
    assert re.findall(r"<title>(.*?)</title>", svg) == ["a &lt;b&gt;", "c"]
    corners = [[tuple(map(float, each.split())) for each in re.findall(r"[\d.]+ [\d.]+", way)]
               for way in re.findall(r' d="(M[^"]*Z)"', svg)]  # fmt: skip
    assert set(corners[0]) == {(24, 24), (404.8, 24), (404.8, 500), (24, 500)}
    assert min(corners[1])[0] == 500 and "#123456" in svg
    ring = Point(50, 50).buffer(50).difference(box(40, 40, 60, 60))
    shapes = np.array([MultiPolygon([ring, box(200, 0, 300, 100)]), box(400, 0, 500, 100)], dtype=object)
    svg = line_map("scenes", {"done": MapAreas(shapes, "#123456", is_filled=False)})
    assert svg.count("<title>done</title>") == 1 and svg.count("Z") == 4
    assert 'fill="none"' in svg and 'fill-rule="evenodd"' in svg


def lines(first, count):
    return np.array([LineString([(number, 0), (number, 1)]) for number in range(first, first + count)], dtype=object)


@pytest.mark.parametrize(("part", "total", "every"), [(60, 100, 1), (1, 1000, 16), (64, 1000, 16), (1000, 1000, 16)])
def test_a_small_network_is_kept_whole_and_of_a_large_one_every_nth_line_whatever_its_parts(part, total, every):
    sketch = RoadSketch(100)
    assert len(sketch.lines) == 0
    for first in range(0, total, part):
        sketch.add(lines(first, min(part, total - first)))
    assert sketch.every == every
    assert [line.coords[0][0] for line in sketch.lines] == list(range(0, total, every))
