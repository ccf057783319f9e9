"""Alignment: networks and images of roads that were displaced by known fields."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyproj
import pytest
import shapely
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.crs import CRS
from rasterio.features import rasterize

from tests.core.support.rasters import UTM
from tests.core.support.road_graphs import town
from training_core.comparison.alignment import along, field_between, field_in_view
from training_core.comparison.network_pair import move_closer
from training_core.comparison.road_state import View
from training_core.geodata.grid import Grid
from training_core.networks.lines import make_lines
from training_core.networks.road_graph import as_drawn

SIDE_M, PLANE = 500, pyproj.CRS(UTM)


def lines_of(seed, **details):
    return as_drawn(make_lines(town(seed, **details).graph.shapes()))


def moved(roads, by_m):
    """Return roads moved by meters, which may depend on the place."""
    shapes = shapely.segmentize(roads.lines.shapes, 5.0)
    return as_drawn(replace(roads.lines, shapes=shapely.transform(shapes, lambda points: points + by_m(points))))


def steady(*by_m):
    return lambda points: np.broadcast_to(by_m, points.shape)


def turning(points):
    """A displacement of 8 m whose direction turns over the area."""
    angle = points[:, 0] / 300 - points[:, 1] / 400
    return 8 * np.column_stack([np.cos(angle), np.sin(angle)])


def view_of(roads):
    """What a sure model sees of roads that are 6 m wide."""
    grid = Grid(CRS.from_user_input(UTM), Affine.identity(), SIDE_M, SIDE_M)
    road = rasterize(shapely.buffer(roads.lines.shapes, 3.0), out_shape=(SIDE_M, SIDE_M), fill=0, default_value=1)
    return View(np.where(road, 230, 15).astype(np.uint8), grid, 0.5)


@pytest.mark.parametrize("shift", [(0, 0), (6, 0), (-4, 9), (12, -14)])
def test_a_town_that_was_moved_is_found_where_it_is(shift):
    # Streets are missing in both, and drawn up to a meter aside.
    before, after = lines_of(1, kept=0.9), moved(lines_of(2, kept=0.7), steady(*shift))
    field = field_between(before, after, 30, 30)
    assert along(field, before).mean(axis=0) == pytest.approx(shift, abs=0.5)
    closer = move_closer(before, after, field, 5, 30)
    left = along(field_between(closer or before, after, 30, 30), before)
    assert left.mean(axis=0) == pytest.approx((0, 0) if closer else shift, abs=0.5)


def test_offsets_that_turn_over_a_town_are_found_and_lines_come_back():
    before = lines_of(1)
    field = field_between(before, moved(before, turning), 30, 30)
    points = shapely.get_coordinates(before.lines.shapes)
    assert np.median(np.hypot(*(field.at(points) - turning(points)).T)) < 1
    there_and_back = field.moved_back(field.moved(before.lines.shapes))
    assert shapely.hausdorff_distance(there_and_back, before.lines.shapes).max() < 1e-6


def test_one_road_that_has_moved_does_not_move_the_others():
    before = lines_of(1)
    shapes = before.lines.shapes.copy()
    longest = shapely.length(shapes).argmax()
    shapes[longest] = shapely.affinity.translate(shapes[longest], 10, 10)
    field = field_between(before, as_drawn(make_lines(shapes)), 30, 30)
    assert np.hypot(*along(field, before).T).max() < 1


def test_roads_of_one_direction_show_their_offset_across_it_alone():
    streets = [shapely.LineString([(0, y), (300, y)]) for y in (0, 100, 200)]
    before = as_drawn(make_lines(streets))
    field = field_between(before, moved(before, steady(5, 6)), 30, 30)
    assert along(field, before) == pytest.approx(np.broadcast_to((0, 6), (90, 2)), abs=0.1)


def test_a_network_far_away_shows_no_offset():
    assert field_between(lines_of(1), moved(lines_of(1), steady(5000, 0)), 30, 30) is None


@settings(deadline=None, max_examples=10)
@given(st.floats(0, 15), st.floats(0, 6.28))
def test_any_steady_offset_is_found_in_an_image_and_junctions_stay_joined(by_m, angle):
    shift = by_m * np.array([np.cos(angle), np.sin(angle)])
    roads = moved(lines_of(1), steady(80, 80))
    drawn = moved(roads, steady(*shift))
    field = field_in_view(view_of(roads), drawn, PLANE)
    assert np.median(np.hypot(*(along(field, drawn) + shift).T)) < 1
    ends = shapely.get_coordinates(shapely.boundary(np.append(drawn.lines.shapes, field.moved(drawn.lines.shapes))))
    assert len(np.unique(ends.round(6), axis=0)) == 2 * len(np.unique(ends[: len(ends) // 2].round(6), axis=0))


def test_nothing_moves_without_evidence():
    roads = moved(lines_of(1), steady(80, 80))
    for byte in (15, 255):
        view = replace(view_of(roads), probability=np.full((SIDE_M, SIDE_M), byte, dtype=np.uint8))
        assert np.abs(along(field_in_view(view, roads, PLANE), roads)).max() < 0.001
