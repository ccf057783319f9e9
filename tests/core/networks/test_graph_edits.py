"""Edges split at new nodes, new edges noded where they cross others, and graphs cut to boxes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.support.graphs import lines
from training_core.networks.graph import join_chains
from training_core.networks.graph_edits import BOTTOM, LEFT, RIGHT, TOP, WITHIN, cut_to_box, link, split_edges
from training_core.networks.surroundings import straight_paths

NO_BRIDGE = np.zeros(9, dtype=bool)


def test_a_place_at_a_vertex_or_an_end_adds_no_vertex_and_two_at_one_place_are_one_node():
    graph, nodes = split_edges(
        lines([(0, 0), (10, 0), (20, 0)], [(20, 0), (20, 9)]), np.array([0, 0, 0, 0, 1]), np.array([10.0, 0, 20, 10, 0])
    )
    assert graph.nodes[nodes].tolist() == [[10, 0], [0, 0], [20, 0], [10, 0], [20, 0]]
    assert graph.sizes.tolist() == [2, 2, 2]
    assert len(graph.nodes) == 4


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1)), max_size=12))
def test_splitting_keeps_every_line_and_joining_its_parts_gives_it_back(places):
    whole = replace(
        lines([(0, 0), (9, 5), (20, 0)], [(20, 0), (20, 30)], [(0, 0), (0, -8)]), origin=np.array([4, 5, 6])
    )
    edges = np.array([edge for edge, _ in places], dtype=np.int64)
    split, nodes = split_edges(whole, edges, np.array([share for _, share in places]) * whole.lengths()[edges])
    assert split.lengths().sum() == pytest.approx(whole.lengths().sum())
    assert [split.lengths()[split.origin == origin].sum() for origin in (4, 5, 6)] == pytest.approx(whole.lengths())
    assert len(join_chains(split).edges) == 1
    again, same = split_edges(whole, edges, np.array([share for _, share in places]) * whole.lengths()[edges])
    assert (same == nodes).all() and (again.points == split.points).all()


def test_a_link_through_a_junction_meets_all_its_roads_in_one_node():
    star = lines([(0, 0), (10, 10)], [(0, 0), (-10, 10)], [(0, 0), (0, -10)], [(-20, 0), (-20, 9)], [(20, 0), (20, 9)])
    ends = [np.flatnonzero((star.nodes == place).all(axis=1))[0] for place in ([-20, 0], [20, 0])]
    straight = straight_paths(*star.nodes[ends][:, None])
    linked = link(star, np.array([ends]), None, NO_BRIDGE[:5], straight)
    assert sorted(linked.degree) == [1, 1, 1, 1, 1, 2, 2, 5]
    assert linked.lengths().sum() == pytest.approx(star.lengths().sum() + 40)


CROSS = lines([(5, 5), (25, 5)], [(5, 5), (5, -15)], [(5, 5), (-15, 5)], [(5, 5), (5, 25)])
BOX = np.array([0.0, 0.0, 10.0, 10.0])


def test_lines_end_on_the_sides_where_they_are_cut():
    graph, side = cut_to_box(CROSS, BOX)
    at = {number: graph.nodes[side == number].tolist() for number in (LEFT, TOP, RIGHT, BOTTOM, WITHIN)}
    assert at == {LEFT: [[0, 5]], TOP: [[5, 0]], RIGHT: [[10, 5]], BOTTOM: [[5, 10]], WITHIN: [[5, 5]]}
    assert graph.lengths().tolist() == [5, 5, 5, 5]
    graph, side = cut_to_box(lines([(2, 2), (8, 3)], [(20, 20), (30, 20)]), BOX)
    assert graph.points.tolist() == [[2, 2], [8, 3]] and set(side) == {WITHIN}  # what lies outside is gone
    graph, side = cut_to_box(lines([(2, 2), (15, 5), (2, 8)]), BOX)
    assert len(graph.edges) == 2 and (side == RIGHT).sum() == 2  # a line that leaves and comes back
    graph, side = cut_to_box(lines([(-5, 4), (3, 4), (15, 4)]), BOX)
    assert graph.points.tolist() == [[0, 4], [3, 4], [10, 4]] and sorted(side) == [LEFT, RIGHT]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-20, 20)] * 4), min_size=1, max_size=12), st.floats(-9, 9), st.floats(-9, 9))
def test_boxes_that_divide_the_plane_divide_the_length_of_lines(segments, x, y):
    drawn = [[(a, b), (c, d)] for a, b, c, d in segments if np.hypot(a - c, b - d) > 1e-3]
    if not drawn:
        return
    graph, (x, y) = lines(*drawn), (x + 0.1234567, y + 0.2345671)  # no line runs through a corner
    boxes = [(-99, -99, x, y), (x, -99, 99, y), (-99, y, x, 99), (x, y, 99, 99)]
    parts = [cut_to_box(graph, box) for box in boxes]
    assert np.isclose(sum(part.lengths().sum() for part, _ in parts), graph.lengths().sum(), atol=1e-4)
    across, down = (RIGHT, LEFT), (BOTTOM, TOP)
    for one, other, sides in ((0, 1, across), (2, 3, across), (0, 2, down), (1, 3, down)):
        ends = [
            np.sort(part.nodes[side == number], axis=0)
            for (part, side), number in zip((parts[one], parts[other]), sides)
        ]
        assert len(ends[0]) == len(ends[1]) and np.allclose(ends[0], ends[1], atol=1e-6)
