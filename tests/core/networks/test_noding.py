"""Noding: lines split where they meet and snapped where they end; bridges are not split."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st

from training_core.errors import LayerError
from training_core.networks.lines import make_lines
from training_core.networks.noding import node_lines

TOLERANCE_M = 0.5
ACROSS, DOWN = [(0, 0), (100, 0)], [(50, -50), (50, 50)]
coordinate = st.integers(0, 12).map(lambda number: 10.0 * number)
near = st.integers(0, 60).map(lambda number: number / 10)
random_lines = st.lists(st.lists(st.tuples(coordinate, coordinate), min_size=2, max_size=5), min_size=1, max_size=8)


def noded(*coordinates, bridges=(), tolerance_m=TOLERANCE_M):
    shapes = [shapely.LineString(line) for line in coordinates]
    graph, _ = node_lines(make_lines(shapes, np.isin(np.arange(len(shapes)), bridges)), tolerance_m)
    return graph, graph.origin


def places(graph):
    return {tuple(node) for node in graph.nodes}


def shapes_of(graph):
    return shapely.linestrings(graph.points, indices=graph.owner)


def test_lines_that_cross_are_split_there_and_their_parts_know_their_line():
    graph, line = noded(ACROSS, DOWN)
    assert places(graph) == {(0, 0), (100, 0), (50, -50), (50, 50), (50, 0)}
    assert sorted(graph.lengths()) == [50, 50, 50, 50]
    assert sorted(line) == [0, 0, 1, 1]
    assert graph.edges.dtype == np.int64


@pytest.mark.parametrize("gap_m", [0, 0.4, -0.4])
def test_an_end_within_the_tolerance_of_another_line_is_snapped_to_it(gap_m):
    graph, _ = noded(ACROSS, [(50, gap_m), (50, 50)])
    assert len(graph.nodes) == 4
    assert len(graph.edges) == 3
    assert sorted(graph.degree) == [1, 1, 1, 3]


def test_a_bridge_is_not_split_where_it_crosses_nor_snapped_to_by_a_road_below():
    for bridges in ((0,), (1,), (0, 1)):
        graph, _ = noded(ACROSS, DOWN, bridges=bridges)
        assert len(graph.edges) == 2 and graph.component.max() == 1
    graph, _ = noded(ACROSS, [(50, 0), (50, 50)], bridges=[0])
    assert graph.component.max() == 1


def test_a_bridge_meets_others_at_its_ends_and_splits_them_there():
    graph, _ = noded([(0, 0), (0, 40)], [(40, 0), (40, 40)], [(20, 0), (20, 40)], [(0, 20), (40, 20)], bridges=[3])
    assert sorted(graph.degree[graph.component == graph.component[0]]) == [1, 1, 1, 1, 3, 3]
    assert graph.component.max() == 1  # the road below is a part of its own


def test_lines_drawn_twice_even_partly_or_the_other_way_are_kept_once():
    graph, _ = noded(ACROSS, ACROSS[::-1], [(20, 0), (60, 0)], [(80, 0), (130, 0)])
    assert graph.lengths().sum() == pytest.approx(130)
    assert sorted(graph.degree) == [1, 1, 2, 2, 2, 2]
    angle = np.linspace(0, np.pi, 400)
    curve = np.column_stack([20 * np.cos(angle), 20 * np.sin(angle)])
    graph, _ = noded(curve, curve[100:300], curve[::-1])
    assert graph.lengths().sum() == pytest.approx(20 * np.pi, rel=1e-4)
    graph, _ = noded([(0, 0), (30, 0), (20, 0), (20, 10)])
    assert sorted(graph.lengths()) == [10, 10, 20]


def test_lines_through_one_point_meet_in_one_node():
    middle, angles = np.array([100 / 3, 200 / 7]), np.array([0.1, 0.7, 1.3, 2.9])
    arms = np.column_stack([np.cos(angles), np.sin(angles)]) * 90
    graph, _ = noded(*([middle - arm, middle + arm / 3] for arm in arms), tolerance_m=1e-6)
    assert sorted(graph.degree) == [1] * 8 + [8]


def test_lines_shorter_than_the_tolerance_are_dropped():
    graph, line = noded([(0, 0), (0.2, 0)])
    assert (len(graph.nodes), len(graph.edges), len(line)) == (0, 0, 0)
    assert len(node_lines(make_lines(np.array([], dtype=object)), TOLERANCE_M)[0].edges) == 0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.tuples(near, near), min_size=2, max_size=5), min_size=1, max_size=6))
@example([[(1.2, 0.3), (0.0, 0.6), (0.8, 0.6)], [(0.0, 0.0), (2.0, 0.1)]])  # the node is farther away than the end
def test_ends_within_the_tolerance_are_snapped_and_every_step_has_a_length(coordinates):
    shapes = [shapely.remove_repeated_points(shapely.LineString(line)) for line in coordinates]
    shapes = [shape for shape in shapes if shape.length > 4 * TOLERANCE_M]
    graph, _ = node_lines(make_lines(np.array(shapes, dtype=object)), TOLERANCE_M)
    steps_m = np.hypot(*np.diff(graph.points, axis=0).T)[np.diff(graph.owner) == 0]
    assert (steps_m > 0).all()
    np.testing.assert_array_equal(graph.nodes[graph.edges[:, 0]], graph.points[graph.offsets[:-1]])
    np.testing.assert_array_equal(graph.nodes[graph.edges[:, 1]], graph.points[graph.offsets[1:] - 1])
    part = dict(zip(graph.origin, graph.edge_component))  # all parts of a line are connected
    for one, other in itertools.combinations(part, 2):
        ends = shapely.points([shapes[one].coords[0], shapes[one].coords[-1]])
        if shapely.distance(ends, shapes[other]).min() <= TOLERANCE_M - 1e-9:
            assert part[one] == part[other]


@settings(max_examples=60, deadline=None)
@given(random_lines)
def test_the_graph_covers_what_the_lines_cover_and_its_edges_meet_at_nodes_alone(coordinates):
    shapes = [shapely.LineString(line) for line in coordinates]
    shapes = [shape for shape in map(shapely.remove_repeated_points, shapes) if shape.length > 0]
    graph, _ = node_lines(make_lines(np.array(shapes, dtype=object)), 1e-6)
    union = shapely.union_all(shapes)
    assert graph.lengths().sum() == pytest.approx(union.length, abs=1e-6)
    np.testing.assert_allclose(graph.nodes[graph.edges[:, 0]], graph.points[graph.offsets[:-1]])
    np.testing.assert_allclose(graph.nodes[graph.edges[:, 1]], graph.points[graph.offsets[1:] - 1])
    edges = shapes_of(graph)
    for first, second in zip(*shapely.STRtree(edges).query(edges, predicate="intersects")):
        if first < second:
            met = shapely.get_coordinates(shapely.intersection(edges[first], edges[second]))
            ends = graph.nodes[graph.edges[[first, second]].ravel()]
            assert all(np.hypot(*(ends - place).T).min() < 1e-6 for place in met)


@settings(max_examples=40, deadline=None)
@given(random_lines, st.randoms(use_true_random=False))
def test_the_order_and_direction_of_lines_do_not_matter(coordinates, random):
    shapes = [shapely.LineString(line) for line in coordinates]
    shapes = [shape for shape in map(shapely.remove_repeated_points, shapes) if shape.length > 0]
    other = [shape.reverse() if random.random() < 0.5 else shape for shape in random.sample(shapes, len(shapes))]
    graphs = [node_lines(make_lines(np.array(each, dtype=object)), 1e-6)[0] for each in (shapes, other)]
    assert np.sort(graphs[0].lengths()) == pytest.approx(np.sort(graphs[1].lengths()), abs=1e-6)
    assert sorted(graphs[0].degree) == sorted(graphs[1].degree)


def lattice(count):
    """As many lines east as north, each of which crosses all of the others."""
    at = 5.0 * np.arange(count)
    east = np.stack([np.column_stack([0 * at, at]), np.column_stack([0 * at + 5.0 * count, at])], axis=1)
    return shapely.linestrings(np.concatenate([east, east[..., ::-1]]))


def star(count):
    """Lines from one point."""
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    ends = 1000 * np.column_stack([np.cos(angles), np.sin(angles)])
    return shapely.linestrings(np.stack([np.zeros_like(ends), ends], axis=1))


def stack(count):
    """The same line, again and again."""
    return np.repeat(shapely.LineString(ACROSS), count)


def heap(count):
    """Short lines that all lie within the tolerance of each other."""
    return shapely.linestrings(np.random.default_rng(0).uniform(0, 0.3, (count, 2, 2)))


@pytest.mark.parametrize(("make", "count"), [(lattice, 3000), (star, 5000), (stack, 5000), (heap, 9_000)])
def test_lines_that_meet_far_more_often_than_roads_are_refused_by_name(make, count):
    with pytest.raises(LayerError, match=r"The tracks .* in more than 200,000 places") as refused:
        node_lines(make_lines(make(count)), TOLERANCE_M, "tracks")
    assert "remove duplicates" in refused.value.remedy


@pytest.mark.parametrize(("make", "nodes", "edges"), [(lattice, 8_280, 16_200), (star, 301, 300), (stack, 2, 1)])
def test_fewer_such_lines_are_split(make, nodes, edges):
    graph, _ = node_lines(make_lines(make({lattice: 90, star: 300, stack: 300}[make])), TOLERANCE_M)
    assert (len(graph.nodes), len(graph.edges)) == (nodes, edges)
