"""Road graphs with lengths and travel times, and places on them."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.support.road_graphs import noded
from training_core.geodata.parallel_arrays import selected
from training_core.networks.road_graph import Places, contracted, places_along

SQUARE = [(0, 0), (100, 0), (100, 100), (0, 100), (0, 0)]
coordinate = st.integers(0, 9)


def test_joined_edges_keep_the_time_of_each_of_their_pieces_and_a_ring_one_node():
    roads = contracted(noded([(0, 0), (60, 0)], [(160, 0), (60, 0)], [(160, 0), (190, 0)], speeds=[10, 20, 5]))
    assert roads.length_m == pytest.approx([190])
    assert roads.travel_time_s == pytest.approx([6 + 5 + 6])
    start = roads.graph.points[0]
    along_m = np.array([30.0, 110.0, 175.0])
    times = roads.times_at(Places(np.zeros(3, np.int64), along_m if start[0] == 0 else 190 - along_m))
    expected = np.array([3, 6 + 2.5, 11 + 3])
    assert times == pytest.approx(expected if start[0] == 0 else 17 - expected)
    roads = contracted(noded(*zip(SQUARE[:-1], SQUARE[1:])))
    assert roads.graph.edges.tolist() == [[0, 0]]
    assert roads.length_m == pytest.approx([400])
    roads = contracted(noded([(0, 0), (60, 0)], [(60, 0), (90, 0)], [(0, 9), (50, 9)], speeds=[10, np.nan, 5]))
    assert np.sort(roads.travel_time_s) == pytest.approx([10, np.nan], nan_ok=True)


def test_places_along_edges_are_in_the_middle_of_their_shares():
    roads = noded([(0, 0), (50, 0)], [(0, 90), (4, 90)])
    places = places_along(roads, 20.0)
    assert roads.points_at(places).tolist() == [[12.5, 0], [37.5, 0], [2, 90]]


def test_the_nearest_place_is_on_the_nearest_edge_as_far_as_allowed_or_nowhere():
    roads = contracted(noded([(0, 0), (100, 0), (100, 50)], [(0, 20), (40, 20)]))
    places, gap_m = roads.nearest(np.array([[30, 8.0], [30, 13.0], [104.0, 25], [500, 0]]), 10)
    assert gap_m == pytest.approx([8, 7, 4, np.inf])
    assert places.edge[3] == -1
    np.testing.assert_allclose(roads.points_at(selected(places, slice(3))), [[30, 0], [30, 20], [100, 25]])
    places, gap_m = noded([(0, 4), (100, 4)]).nearest(np.array([[10.0, 0.0]]), 4.0)
    assert places.edge.tolist() == [0]
    assert gap_m == pytest.approx([4])


@pytest.mark.parametrize(("heading", "length_m"), [((1.0, 0.0), 100), ((0.0, -1.0), 80)])
def test_at_a_bridge_the_road_with_the_same_heading_is_matched(heading, length_m):
    roads = noded([(0, 0), (100, 0)], [(50, -40), (50, 40)], bridges=[0])
    places, _ = roads.nearest(np.array([[50.0, 0.0]]), 5, np.array([heading]))
    assert roads.length_m[places.edge] == pytest.approx([length_m])


def test_a_node_under_a_bridge_is_matched_to_the_node():
    roads = noded([(0, 0), (100, 0)], [(50, 0), (50, 40)], bridges=[0])
    places, _ = roads.nearest(np.array([[50.0, 0.0]]), 5, np.full((1, 2), np.nan))
    assert roads.length_m[places.edge] == pytest.approx([40])


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=8, unique=True), st.floats(0, 1)
)
def test_places_lie_where_shapely_interpolates(vertices, share):
    roads = contracted(noded(vertices, tolerance_m=1e-6))
    for edge in range(len(roads.graph.edges)):
        shape = shapely.LineString(roads.graph.line(edge))
        place = Places(np.array([edge]), np.array([share * shape.length]))
        expected = shapely.get_coordinates(shapely.line_interpolate_point(shape, share * shape.length))
        np.testing.assert_allclose(roads.points_at(place), expected, atol=1e-9)
        assert np.hypot(*roads.headings_at(place).T) == pytest.approx([1])


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.tuples(coordinate, coordinate), min_size=2, max_size=4, unique=True), min_size=1, max_size=8)
)
def test_joining_changes_no_length_and_no_component(coordinates):
    roads = noded(*coordinates, tolerance_m=1e-6)
    joined = contracted(roads)
    assert joined.length_m.sum() == pytest.approx(roads.length_m.sum())
    assert joined.graph.component.max() == roads.graph.component.max()
    is_loop = joined.graph.edges[:, 0] == joined.graph.edges[:, 1]
    assert not (joined.graph.degree[joined.graph.edges[~is_loop]] == 2).any()
