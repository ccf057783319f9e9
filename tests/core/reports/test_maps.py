"""Lines on a map, as SVG."""

from __future__ import annotations

import re

import numpy as np
import pytest
from shapely import LineString

from support.browser import Page
from training_core.reports.maps import MapLines, line_map


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


def test_a_map_of_one_tall_line_stays_on_the_page():
    svg = map_of([(0, 0), (0, 700)])
    width, height = map(float, re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups())
    assert all(0 <= x <= width and 0 <= y <= height for _, x, y in places(svg))
    assert height < 1.3 * width


def test_bends_that_nobody_sees_are_left_out():
    wiggle = [(step, 0.01 * (step % 2)) for step in range(1000)]
    assert len(places(map_of(wiggle))) == 2
