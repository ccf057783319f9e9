"""Overpass: boxes in degrees, and the query for them."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_core.jobs.overpass import Box, area_km2, boxes_between, query

TURNS = st.integers(-2, 2)


@given(st.floats(-180, 179), st.floats(0.001, 300), TURNS)
def test_boxes_lie_between_the_ends_of_the_map_and_cover_the_same_ground_in_any_turn(west, width, turn):
    boxes = boxes_between(west + 360 * turn, -10.0, west + 360 * turn + width, 20.0)
    assert all(-180 <= box.west <= box.east <= 180 and (box.south, box.north) == (-10, 20) for box in boxes)
    assert sum(box.east - box.west for box in boxes) == pytest.approx(width, abs=1e-9)
    assert len(boxes) == (1 if west + width <= 180 else 2) or abs(west + width - 180) < 1e-9


def test_areas_are_those_of_a_sphere():
    assert area_km2([Box(-90.0, -180.0, 90.0, 180.0)]) == pytest.approx(4 * math.pi * 6371**2)
    assert area_km2([Box(60.0, 10.0, 60.1, 10.1)]) == pytest.approx(11.12 * 11.12 / 2, rel=0.01)


def test_a_query_has_each_kind_in_each_box_and_asks_for_nodes_and_versions():
    boxes = [Box(27.6, 85.5, 27.7, 85.6), Box(-16.6, -180.0, -16.5, -179.9)]
    text = query(boxes, 25)
    assert text.startswith("[out:xml][timeout:25];") and text.endswith("(._;>;);\nout meta;\n")
    for key in ("highway", "natural", "landuse", "waterway", "railway", "aeroway", "barrier"):
        assert len(re.findall(rf'(?:way|wr)\["{key}"[^;]*\([-\d.,]+\);', text)) == 2
    assert text.count("(-16.6000000,-180.0000000,-16.5000000,-179.9000000);") == 7
