import numpy as np
import pytest

from graphs import PIXEL_M, lines, nowhere
from training_core.crossings import merge_crossings, straighten_junctions


def test_junctions_within_a_crossing_become_one_and_others_do_not():
    graph = lines(
        [(0, 0), (10, 10)], [(0, 20), (10, 10)], [(10, 10), (14, 10)], [(14, 10), (24, 0)], [(14, 10), (60, 10)],
        [(60, 10), (60, 40)], [(60, 10), (90, 10)],
    )  # fmt: skip
    merged = merge_crossings(graph, PIXEL_M, lambda points: np.full(len(points), 3.0))
    assert sorted(merged.degree) == [1, 1, 1, 1, 1, 3, 4]
    assert merged.nodes[merged.degree == 4].tolist() == [[12, 10]]
    apart = merge_crossings(graph, (3.0, 3.0), lambda points: np.full(len(points), 3.0))
    assert sorted(apart.degree) == sorted(graph.degree)


def test_side_roads_that_do_not_meet_are_no_crossing():
    graph = lines([(0, 0), (20, 0)], [(20, 0), (27, 0)], [(27, 0), (50, 0)], [(20, 0), (20, 20)], [(27, 0), (27, -20)])
    merged = merge_crossings(graph, PIXEL_M, lambda points: np.full(len(points), 3.0))
    assert sorted(merged.degree) == [1, 1, 1, 1, 3, 3]


def test_a_main_road_that_bends_to_its_side_road_is_straight_again():
    bend = [(column, 0) for column in range(27)] + [(27, 1), (28, 2), (29, 3), (30, 3)]
    other = [(60 - column, row) for column, row in reversed(bend)]
    graph = lines(bend, other, [(30, 3), *((30, row) for row in range(4, 40))])
    straight = straighten_junctions(graph, PIXEL_M, lambda points: np.full(len(points), 5.0), nowhere)
    junction = straight.nodes[straight.degree == 3]
    assert junction == pytest.approx(np.array([[30, 0]]), abs=0.2)
    assert np.abs(straight.line(0)[:, 1]).max() < 0.2
    assert straight.sizes.sum() < graph.sizes.sum()


def test_a_junction_without_a_common_point_of_its_roads_stays():
    graph = lines([(0, 0), (30, 0)], [(30, 0), (60, 2)], [(30, 0), (60, -2)])
    straight = straighten_junctions(graph, PIXEL_M, lambda points: np.full(len(points), 5.0), nowhere)
    assert straight.nodes == pytest.approx(graph.nodes, abs=0.1)


def test_a_line_is_straight_where_the_border_cuts_its_road():
    graph = lines([(0, 0), (3, 4), (6, 4), (9, 4), (40, 0)])
    straight = straighten_junctions(
        graph, PIXEL_M, lambda points: np.full(len(points), 8.0), lambda points: points[:, 0] == 0
    )
    assert straight.points.tolist() == [[0, 0], [9, 4], [40, 0]]
