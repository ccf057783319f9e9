"""Corrections by a click: a false road becomes a place without a road, and a gap gets its link."""

import numpy as np
import pytest
import shapely
from rasterio.crs import CRS

from tests.core.support.rasters import NORTH_UP
from training_core.geodata.grid import Grid
from training_core.geodata.pixel_codes import NO_DATA
from training_core.live.corrections import correct

GRID = Grid(CRS.from_epsg(32633), NORTH_UP, 300, 300)


def on_map(column, row):
    return NORTH_UP @ (column, row)


def scene(*boxes, sure=230, ground=8):
    """Return a probability with roads in boxes of (left, top, right, bottom)."""
    values = np.full((300, 300), ground, dtype=np.uint8)
    for left, top, right, bottom in boxes:
        values[top:bottom, left:right] = sure
    return values


ACROSS, DOWN = (0, 100, 300, 108), (150, 108, 158, 260)
NOTHING = np.zeros((300, 300), dtype=bool)


def drawn(*boxes):
    return scene(*boxes) > 100


def covered(shape, column, row):
    return shapely.contains_xy(shape, *on_map(column + 0.5, row + 0.5))


def test_a_click_on_a_false_road_takes_its_piece_away():
    found = correct(on_map(154, 200), scene(ACROSS, DOWN), NOTHING, GRID, 0.5)
    assert found.layer == "no_road" and found.geometry.geom_type in ("Polygon", "MultiPolygon")
    assert covered(found.geometry, 154, 200) and covered(found.geometry, 151, 250)
    assert not covered(found.geometry, 20, 104) and not covered(found.geometry, 280, 104)  # up to the junction
    assert found.geometry.area < 2.0 * 8 * 160


def test_a_drawn_road_is_never_taken_away():
    found = correct(on_map(154, 200), scene(ACROSS, DOWN), drawn(ACROSS), GRID, 0.5)
    assert found.layer == "no_road" and covered(found.geometry, 154, 112)
    assert not any(covered(found.geometry, column, 104) for column in range(0, 300, 3))
    on_drawn = correct(on_map(20, 104), scene(ACROSS, DOWN), drawn(ACROSS), GRID, 0.5)
    assert on_drawn.layer == "" and "drawn" in on_drawn.message


def test_a_click_just_beside_means_the_road():
    assert correct(on_map(148, 200), scene(DOWN), NOTHING, GRID, 0.5).layer == "no_road"
    assert correct(on_map(100, 200), scene(DOWN), NOTHING, GRID, 0.5).layer == ""


def test_a_click_in_a_gap_gets_the_road_that_is_likely_there():
    values = scene((0, 100, 140, 108), (162, 100, 300, 108))
    values[100:108, 140:162] = 90  # below the threshold, but more than elsewhere
    found = correct(on_map(151, 112), values, NOTHING, GRID, 0.5)
    assert found.layer == "roads" and found.geometry.geom_type == "LineString"
    left, bottom, right, top = found.geometry.bounds
    assert left <= on_map(141, 0)[0] and right >= on_map(161, 0)[0]
    assert on_map(0, 109)[1] <= bottom <= top <= on_map(0, 99)[1]


def test_what_is_far_from_a_click_is_not_looked_at():
    wide = Grid(CRS.from_epsg(32633), NORTH_UP, 3000, 300)
    values = np.full((300, 3000), 8, dtype=np.uint8)
    values[100:108] = 230
    found = correct(on_map(1500, 104), values, np.zeros(values.shape, dtype=bool), wide, 0.5)
    left, _, right, _ = found.geometry.bounds
    assert (left, right) == pytest.approx((on_map(1250, 0)[0], on_map(1750, 0)[0]), abs=3)  # 250 m, of pixels of 1 m
    assert correct(on_map(1500, 180), values, values > 100, wide, 0.5).message  # beyond the drawn road's surroundings


@pytest.mark.parametrize("place", [(150, 30), (-5, 10), (10, 305)])
def test_where_there_is_nothing_nothing_is_corrected(place):
    found = correct(on_map(*place), scene(ACROSS), NOTHING, GRID, 0.5)
    assert found.layer == "" and found.geometry is None and found.message.endswith(".")
    unpredicted = np.full((300, 300), NO_DATA, dtype=np.uint8)
    assert correct(on_map(100, 100), unpredicted, NOTHING, GRID, 0.5).layer == ""
