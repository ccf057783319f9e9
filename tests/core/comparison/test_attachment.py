"""Attachment of new roads to those before: which ends are snapped, where, and what becomes a shared vertex."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import LineString

from tests.core.support.road_graphs import town
from training_core.comparison.attachment import attach
from training_core.networks.lines import make_lines

STREET = LineString([(0, 0), (100, 0), (200, 0)])


def lines(*shapes, bridge=None):
    return make_lines(np.array(shapes, dtype=object), bridge)


def attached(*new, before=(STREET,), matched=(), within_m=15.0):
    shapes, roads = attach(lines(*new), np.array(matched, dtype=object), lines(*before), within_m, 0.5)
    return [list(shape.coords) for shape in shapes], [list(shape.coords) for shape in roads]


def test_a_dead_end_ahead_of_a_road_is_snapped_onto_it_and_the_road_has_a_vertex_there():
    (new,), (road,) = attached(LineString([(30, 80), (30, 40), (30, 12)]))
    assert new == [(30, 80), (30, 40), (30, 0)] and road == [(0, 0), (30, 0), (100, 0), (200, 0)]


def test_a_dead_end_stays_where_the_road_is_beside_or_behind_it_or_too_far_ahead():
    beside, behind = LineString([(20, 10), (80, 10)]), LineString([(30, 0), (30, 12)])
    far = LineString([(120, 80), (120, 16)])
    new, (road,) = attached(beside, behind, far)
    assert new == [list(shape.coords) for shape in (beside, behind, far)]
    assert road == [(0, 0), (30, 0), (100, 0), (200, 0)]


def test_where_the_network_after_goes_on_as_a_matched_road_the_direction_does_not_matter():
    # The matched road runs 8 m beside the one before, and ends in the junction.
    (new,), (road,) = attached(LineString([(100.0, 8), (160, 8), (160, 60)]), matched=[LineString([(0, 8), (100, 8)])])
    assert new == [(100, 0), (160, 8), (160, 60)] and road == list(STREET.coords)
    # Beyond the road: neither hook nor stub is left.
    (new,), _ = attached(
        LineString([(50, 60), (50, 4), (50, -3), (50, -6)]), matched=[LineString([(50, -6), (150, -6)])]
    )
    assert new == [(50, 60), (50, 4), (50, 0)]


def test_a_corner_of_new_roads_near_a_road_stays():
    one, other = LineString([(40, 60), (40, 10)]), LineString([(40, 10), (90, 10), (90, 60)])
    new, (road,) = attached(one, other)
    assert new == [list(one.coords), list(other.coords)] and road == list(STREET.coords)


def test_crossings_are_vertices_of_both_except_with_bridges():
    across = LineString([(70, -40), (70, 40)])
    (new,), (road,) = attached(across)
    assert new == [(70, -40), (70, 0), (70, 40)] and road == [(0, 0), (70, 0), (100, 0), (200, 0)]
    none = np.array([], dtype=object)
    for new_bridge, before_bridge in (([True], None), (None, [True])):
        shapes, roads = attach(lines(across, bridge=new_bridge), none, lines(STREET, bridge=before_bridge), 15.0, 0.5)
        assert shapes[0] == across and roads[0] == STREET


@pytest.mark.parametrize("length_m", [0.5, 12])
def test_a_short_line_beside_a_road_that_would_fall_onto_it_stays(length_m):
    short = LineString([(100, 7), (100 + length_m, 7)])
    matched = [LineString([(0, 7), (100, 7)]), LineString([(100 + length_m, 7), (200, 7)])]
    (new,), (road,) = attached(short, matched=matched)
    assert new == list(short.coords) and road == list(STREET.coords)


def test_a_line_of_less_than_a_millimeter_keeps_both_ends():
    crumb = LineString([(70, -0.0002), (70, 0.0003)])
    (new,), (road,) = attached(crumb)
    assert new == [(70, -0.0002), (70, 0), (70, 0.0003)] and (70, 0) in road


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 12))
def test_in_any_town_lines_that_share_a_place_share_a_vertex_and_nothing_else_has_moved(seed, shift_m):
    before, new = (town(seed).lines, town(seed + 1, kept=0.5, shift_m=shift_m).lines)
    shapes, roads = attach(new, np.array([], dtype=object), before, 15.0, 0.5)
    assert shapely.hausdorff_distance(roads, before.shapes).max() < 1e-6
    vertices = shapely.multipoints(shapely.get_coordinates(roads))
    ends = shapely.get_point(shapes, 0)
    touching = shapely.distance(ends, shapely.multilinestrings(list(roads))) < 1e-6
    assert (shapely.distance(ends[touching], vertices) == 0).all()


def test_without_new_roads_or_roads_before_nothing_is_attached():
    assert attached(before=[STREET]) == ([], [list(STREET.coords)])
    assert attached(STREET, before=[]) == ([list(STREET.coords)], [])
