"""Junctions and road ends straightened and consolidated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.support.graphs import lines
from training_core.networks.junctions import (
    consolidate_junctions,
    merge_crossings,
    straighten_ends,
    straighten_junctions,
)
from training_core.networks.surroundings import Surroundings


def roads(clearance_m, **known):
    """Roads of one clearance everywhere, in meters."""
    return Surroundings(clearance_m=lambda points: np.full(len(points), clearance_m), **known)


def test_junctions_within_a_crossing_become_one_and_others_do_not():
    graph = lines(
        [(0, 0), (10, 10)], [(0, 20), (10, 10)], [(10, 10), (14, 10)], [(14, 10), (24, 0)], [(14, 10), (60, 10)],
        [(60, 10), (60, 40)], [(60, 10), (90, 10)],
    )  # fmt: skip
    merged = merge_crossings(graph, roads(3.0))
    assert sorted(merged.degree) == [1, 1, 1, 1, 1, 3, 4]
    assert merged.nodes[merged.degree == 4].tolist() == [[12, 10]]
    apart = merge_crossings(graph, roads(1.0))
    assert sorted(apart.degree) == sorted(graph.degree)


def test_side_roads_that_do_not_meet_are_no_crossing_and_a_street_of_them_does_not_shrink():
    graph = lines([(0, 0), (20, 0)], [(20, 0), (27, 0)], [(27, 0), (50, 0)], [(20, 0), (20, 20)], [(27, 0), (27, -20)])
    merged = merge_crossings(graph, roads(3.0))
    assert sorted(merged.degree) == [1, 1, 1, 1, 3, 3]
    street = [[(x, 0), (x + 15, 0)] for x in range(0, 150, 15)]
    graph = lines(*street, *([(x, 0), (x, 40)] for x in range(15, 150, 15)))
    merged = merge_crossings(graph, roads(10.0))
    across = merged.nodes[merged.degree > 2][:, 0]
    assert len(across) >= 4
    assert np.ptp(across) > 90


def test_a_main_road_that_bends_to_its_side_road_is_straight_again():
    bend = [(column, 0) for column in range(27)] + [(27, 1), (28, 2), (29, 3), (30, 3)]
    other = [(60 - column, row) for column, row in reversed(bend)]
    graph = lines(bend, other, [(30, 3), *((30, row) for row in range(4, 40))])
    straight = straighten_junctions(graph, roads(5.0))
    junction = straight.nodes[straight.degree == 3]
    assert junction == pytest.approx(np.array([[30, 0]]), abs=0.2)
    assert np.abs(straight.line(0)[:, 1]).max() < 0.2
    assert straight.sizes.sum() < graph.sizes.sum()


def test_a_line_is_straight_where_the_border_cuts_its_road():
    graph = lines([(0, 0), (3, 4), (6, 4), (9, 4), (40, 0)])
    straight = straighten_junctions(graph, roads(8.0, is_data_edge=lambda points: points[:, 0] == 0))
    assert straight.points.tolist() == [[0, 0], [9, 4], [40, 0]]


def test_dead_ends_go_on_straight_to_their_roads_end_and_other_ends_stay():
    def ending(column):
        return Surroundings(
            clearance_m=lambda points: np.minimum(6.0, 103 - points[:, 0]),
            is_data_edge=lambda points: points[:, 0] == column,
            half_pixel_m=0.5,
        )

    graph = lines([(0, 0), *((x, 0) for x in range(1, 95)), (97, 3), (100, 6)])
    straight = straighten_ends(graph, ending(0))
    assert straight.line(0)[[0, -1]].tolist() == [[0, 0], [102.5, 0]]
    assert np.abs(straight.points[:, 1]).max() == 0
    cut = straighten_ends(graph, ending(100))
    assert cut.line(0)[-1].tolist() == [100, 6]
    graph = lines([(0, 0), (10, 0), (15, 5)], [(30, 0), (60, 0), (60, 30), (30, 0)], [(90, 0), (96, 6), (90, 12)])
    straight = straighten_ends(graph, roads(6.0))
    assert (straight.points == graph.points).all()


def test_the_square_where_two_dual_carriageways_cross_is_one_node():
    side = ([(0, y), (100, y), (108, y), (200, y)] for y in (0, 8))
    graph = lines(
        *(line[begin : begin + 2] for line in side for begin in range(3)),
        *([(x, low), (x, high)] for x in (100, 108) for low, high in ((-90, 0), (0, 8), (8, 90))),
    )
    merged = consolidate_junctions(graph, 10.0)
    assert merged.nodes[merged.degree > 2].tolist() == [[104, 4]]
    assert sorted(merged.degree) == [1] * 8 + [8]
    assert len(consolidate_junctions(graph, 7.0).edges) == len(graph.edges)


coordinate = st.integers(0, 8).map(lambda number: 4.0 * number)
grids = st.lists(st.tuples(st.tuples(coordinate, coordinate), st.tuples(coordinate, coordinate)), min_size=1,
                 max_size=25)  # fmt: skip


@settings(deadline=None, max_examples=100)
@given(grids)
def test_consolidating_disconnects_nothing_and_does_no_more_the_second_time(coordinates):
    graph = lines(*({tuple(sorted(pair)) for pair in coordinates if pair[0] != pair[1]} or {((0, 0), (9, 9))}))
    merged = consolidate_junctions(graph, 7.0)
    used = np.unique(graph.component[graph.edges])
    assert len(np.unique(merged.component[merged.edges])) == len(used)
    again = consolidate_junctions(merged, 7.0)
    assert len(again.edges) == len(merged.edges)
    assert (again.nodes == merged.nodes).all()
