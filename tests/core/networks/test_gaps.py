"""Gaps between dead ends, and undershoots before the road ahead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.support.graphs import lines
from training_core.networks.gaps import join_gaps, snap_ends
from training_core.networks.graph import join_chains
from training_core.networks.surroundings import Surroundings


def joined(graph, gap_m=24.0, gap_angle=30.0, **known):
    return join_gaps(graph, gap_m, gap_angle, Surroundings(**known))


def snapped(graph, snap_m=15.0, **known):
    return snap_ends(graph, snap_m, Surroundings(**known))


def places(graph, degree):
    return sorted(map(tuple, graph.nodes[graph.degree == degree].round(6)))


def test_a_gap_in_a_straight_road_is_joined_to_one_line_up_to_its_longest():
    whole = join_chains(joined(lines([(0, 0), (50, 0)], [(70, 0), (120, 0)])))
    assert len(whole.edges) == 1
    assert whole.lengths() == pytest.approx([120])
    broken = lines([(0, 0), (50, 0)], [(70, 0), (120, 0)])
    assert len(joined(broken, gap_m=20.1).edges) == 3
    assert len(joined(broken, gap_m=19.9).edges) == 2
    assert len(joined(broken, gap_m=0).edges) == 2


@pytest.mark.parametrize(("turn", "edges"), [(0, 3), (25, 3), (35, 2), (90, 2)])
def test_roads_are_joined_where_they_turn_by_less_than_the_angle(turn, edges):
    way = np.array([np.cos(np.radians(turn)), np.sin(np.radians(turn))])
    begin = np.array([60, 0]) + 10 * way
    assert len(joined(lines([(0, 0), (50, 0), (60, 0)], [begin, begin + 50 * way]), gap_angle=30).edges) == edges


def test_a_short_gap_may_turn_by_half_as_much_more():
    begin = np.array([50 + 5 * np.cos(np.radians(40)), 5 * np.sin(np.radians(40))])
    broken = lines([(0, 0), (50, 0)], [begin, begin + np.array([50, 0])])
    assert len(joined(broken, gap_m=24).edges) == 3
    assert len(joined(broken, gap_m=12).edges) == 2


def test_each_end_is_joined_once_and_with_the_best():
    fork = lines([(0, 0), (50, 0)], [(60, 0), (100, 0)], [(60, 3), (100, 20)])
    whole = joined(fork)
    assert len(whole.edges) == 4
    assert whole.line(3).tolist() == [[50, 0], [60, 0]]


def test_a_gap_on_a_road_that_crosses_gets_a_node_there_but_not_under_a_bridge():
    whole = joined(lines([(0, 0), (40, 0)], [(60, 0), (100, 0)], [(50, -50), (50, 50)]))
    assert places(whole, 4) == [(50, 0)]
    assert len(whole.edges) == 6

    def bridge(graph):
        return (graph.points[graph.offsets[:-1], 0] == 50) & (graph.sizes == 2)

    whole = joined(lines([(0, 0), (40, 0)], [(60, 0), (100, 0)], [(50, -50), (50, 50)]), is_bridge=bridge)
    assert places(whole, 4) == []
    assert len(join_chains(whole).edges) == 2


def test_a_broken_ring_is_closed_and_a_hairpin_is_not():
    angle = np.radians(np.linspace(5, 355, 71))
    ring = lines(100 * np.column_stack([np.cos(angle), np.sin(angle)]))
    assert join_chains(joined(ring)).edges.tolist() == [[0, 0]]
    assert len(joined(lines([(0, 0), (20, 0), (20, 9), (0, 9)])).edges) == 1


def test_a_dead_end_goes_on_straight_to_the_road_ahead_or_stays():
    whole = join_chains(snapped(lines([(0, 0), (100, 0)], [(30, 30), (55, 5)])))
    assert places(whole, 3) == [(60, 0)]
    assert len(snapped(lines([(0, 0), (100, 0)], [(20, 5), (60, 5)])).edges) == 2
    assert len(snapped(lines([(0, 0), (100, 0)], [(50, 40), (50, 16)])).edges) == 2
    assert len(snapped(lines([(0, 0), (100, 0)], [(0, 20), (60, 8)])).edges) == 2


def test_a_dead_end_beside_a_bend_meets_it_and_one_beside_a_road_along_it_does_not():
    bend = lines([(0, 0), (50, 0), (50, 60)], [(53, -40), (53, -8)])
    ((x, y),) = places(snapped(bend), 3)
    assert np.hypot(x - 50, y) < 1
    assert len(snapped(lines([(0, 0), (100, 0)], [(0, 3), (60, 3)])).edges) == 2


def test_a_dead_end_meets_the_first_road_and_not_a_bridge_over_it():
    ends = lines([(0, 0), (100, 0)], [(0, 3), (100, 3)], [(50, 40), (50, 8)])
    assert places(snapped(ends), 3) == [(50, 3)]
    bridge = snapped(ends, is_bridge=lambda graph: (graph.points[graph.offsets[:-1], 1] == 3) & (graph.sizes == 2))
    assert places(bridge, 3) == [(50, 0)]
    assert len(bridge.edges) == 5


def test_a_dead_end_at_a_junction_or_at_a_dead_end_of_the_road_joins_it():
    whole = snapped(lines([(0, 0), (50, 0)], [(50, 0), (100, 0)], [(50, 0), (50, -50)], [(50, 40), (50, 5)]))
    assert places(whole, 4) == [(50, 0)]
    assert places(snapped(lines([(0, 0), (50, 0)], [(50, 40), (50, 5)])), 2) == [(50, 0), (50, 5)]


coordinate = st.integers(0, 60).map(float)
streets = st.lists(st.lists(st.tuples(coordinate, coordinate), min_size=2, max_size=4, unique=True), min_size=1,
                   max_size=12)  # fmt: skip


@settings(deadline=None, max_examples=100)
@given(streets)
def test_joining_and_snapping_disconnect_nothing_and_lose_no_line(coordinates):
    graph = lines(*coordinates)
    whole = snapped(joined(graph))
    first, last = whole.points[whole.offsets[:-1]], whole.points[whole.offsets[1:] - 1]
    assert (np.stack([first, last], axis=1) == whole.nodes[whole.edges]).all()
    assert whole.lengths().sum() >= graph.lengths().sum() - 1e-6
    number = {tuple(node): component for node, component in zip(whole.nodes.round(9), whole.component)}
    for begin, end in graph.nodes[graph.edges].round(9):
        assert number[tuple(begin)] == number[tuple(end)]
