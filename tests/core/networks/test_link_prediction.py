"""Links of dead ends along likely paths, and paths themselves."""

import numpy as np
import pytest
import shapely

from tests.core.support.graphs import evident, lines
from training_core.networks.graph import join_chains
from training_core.networks.link_prediction import CONNECTED, JOINED, OTHER, UNLIKELY, join_likely
from training_core.networks.surroundings import Paths, straight_paths

REACH_M, LEAST = 45.0, 0.3


def joined(graph, evidence=0.0, reach_m=REACH_M, **known):
    """The graph with its links, its chains joined, and the links."""
    graph, links = join_likely(graph, reach_m, LEAST, evident(evidence, **known))
    return join_chains(graph), links


def test_a_gap_is_joined_where_the_image_shows_road_and_not_beyond_the_reach():
    broken = lines([(0, 0), (80, 0)], [(120, 0), (200, 0)])
    graph, links = joined(broken)
    assert graph.lengths().sum() == pytest.approx(200) and links.outcome.tolist() == [JOINED]
    graph, links = joined(broken, evidence=-5)
    assert graph.lengths().sum() == pytest.approx(160) and links.outcome.tolist() == [UNLIKELY]
    for reach_m in (39.0, 0.0):
        graph, links = joined(broken, reach_m=reach_m)
        assert len(graph.edges) == 2 and len(links.paths) == 0


def test_a_side_road_meets_the_first_road_ahead_in_a_junction():
    graph, _ = joined(lines([(0, 0), (100, 0)], [(50, 30), (50, 120)]))
    assert sorted(graph.degree) == [1, 1, 1, 3]
    assert graph.nodes[graph.degree == 3] == pytest.approx(np.array([[50, 0]]))
    roads = lines([(50, 60), (50, 20)], [(0, 0), (100, 0)], [(0, -15), (100, -15)])
    graph, links = joined(roads, is_data_edge=lambda points: points[:, 0] != 50)
    # The link to the farther road, cut at the nearer one, is the same.
    assert links.outcome.tolist() == [JOINED]
    assert sorted(graph.degree) == [1, 1, 1, 1, 1, 3]
    assert graph.nodes[graph.degree == 3] == pytest.approx(np.array([[50, 0]]))


def test_each_dead_end_is_joined_once_with_the_likeliest():
    fork = lines([(0, 0), (100, 0)], [(110, 0), (200, 0)], [(110, 12), (190, 60)])
    _, links = joined(fork)
    assert links.outcome[(links.end == 1) & (links.other == 2)] == [JOINED]
    assert links.outcome[(links.end == 1) & (links.other == 4)] == [OTHER]


def test_a_link_that_shortens_no_way_is_left_out():
    hook = lines([(0, 0), (50, 0)], [(50, 0), (100, 0)], [(50, 0), (55, 12), (68, 12)])
    graph, links = joined(hook, evidence=3)
    assert len(graph.edges) == len(hook.edges)
    assert CONNECTED in links.outcome.tolist() and JOINED not in links.outcome.tolist()


def test_dead_ends_at_the_edge_of_the_data_and_bridges_are_not_joined():
    broken = lines([(0, 0), (80, 0)], [(120, 0), (200, 0)])
    graph, _ = joined(broken, evidence=3, is_data_edge=lambda points: np.ones(len(points), dtype=bool))
    assert len(graph.edges) == 2
    over = lines([(0, 0), (100, 0)], [(50, 30), (50, 120)])
    graph, _ = joined(over, evidence=3, is_bridge=lambda graph: graph.lengths() > 95)
    assert sorted(graph.degree) == [1, 1, 1, 1]


def test_where_dead_ends_are_as_thick_as_in_noise_none_is_linked():
    places = np.stack(np.meshgrid(np.arange(12), np.arange(12)), axis=-1).reshape(-1, 2) * 10.0
    noise = lines(*([tuple(place), tuple(place + 6)] for place in places))
    graph, links = joined(noise, evidence=3)
    corners = {0, 11, 132, 143}
    assert len(graph.edges) >= len(noise.edges) - 2 * len(corners)
    assert len(links.paths) < 10 * len(corners)


def test_paths_are_cut_at_a_distance_along_them_and_selected_by_number_and_by_mask():
    paths = Paths(np.array([[0, 0], [3, 0], [3, 4], [0, 0], [10, 0]], dtype=float), np.array([0, 3, 5]), np.arange(5.0))
    cut = paths.cut(np.array([5.0, 20.0]))
    assert shapely.length(cut.shapes()) == pytest.approx([5, 10])
    assert cut.points[2].tolist() == [3, 2]
    assert cut.evidence.tolist() == [0, 1, 2, 3, 4]
    assert shapely.length(paths.cut(np.array([2.0, 4.0])).shapes()) == pytest.approx([2, 4])
    paths = straight_paths(np.array([[0, 0], [1, 1], [2, 2.0]]), np.array([[9, 0], [9, 1], [9, 2.0]]))
    assert paths.select(np.array([2, 0])).points.tolist() == [[2, 2], [9, 2], [0, 0], [9, 0]]
    assert len(paths.select(np.array([False, True, False]))) == 1
