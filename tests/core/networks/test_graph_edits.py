"""Edges split at new nodes, and new edges noded where they cross others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.support.graphs import lines
from training_core.networks.chains import join_chains
from training_core.networks.graph_edits import link, split_edges

NO_BRIDGE = np.zeros(9, dtype=bool)


def test_an_edge_is_split_at_distances_along_it():
    graph, nodes = split_edges(lines([(0, 0), (10, 0), (10, 10)]), np.array([0, 0]), np.array([15.0, 4.0]))
    assert graph.nodes[nodes].tolist() == [[10, 5], [4, 0]]
    assert [graph.line(edge).tolist() for edge in range(3)] == [
        [[0, 0], [4, 0]], [[4, 0], [10, 0], [10, 5]], [[10, 5], [10, 10]],
    ]  # fmt: skip


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
    linked = link(star, np.array([ends]), None, NO_BRIDGE[:5])
    assert sorted(linked.degree) == [1, 1, 1, 1, 1, 2, 2, 5]
    assert linked.lengths().sum() == pytest.approx(star.lengths().sum() + 40)
