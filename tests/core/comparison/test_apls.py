"""APLS of road networks: equal to its definition written plainly, and to small cases by hand."""

from __future__ import annotations

import json

import geopandas
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.support.plain_apls import plain_apls
from tests.core.support.road_graphs import graphs_of, noded, roads_of, town, vegas
from training_core.comparison.apls import control_places, score_apls
from training_core.events import Reporter
from training_core.networks.graph import EMPTY
from training_core.networks.lines import make_lines
from training_core.networks.road_graph import RoadGraph, contracted

LINE = [(0, 0), (100, 0)]
RING = [(0, 0), (100, 0), (100, 100), (0, 100), (0, 0)]
NO_ROADS = RoadGraph(EMPTY, np.zeros(0, np.int64), make_lines(np.array([], dtype=object)))


def apls(truth, proposal, **options):
    return score_apls(truth, proposal, Reporter(), **options)


def directions(score):
    return score.truth_in_proposal.score, score.proposal_in_truth.score


@pytest.mark.parametrize(("seed", "by_time"), [(1, False), (2, True)])
def test_a_network_is_like_itself_bridges_and_all(seed, by_time):
    roads = contracted(town(seed))
    score = apls(roads, roads, by_time=by_time)
    assert (score.score, *directions(score)) == pytest.approx((1, 1, 1), abs=1e-9)
    assert score.truth_in_proposal.missing == 0


def test_networks_that_lie_apart_and_no_roads_score_nothing():
    score = apls(roads_of(LINE), roads_of([(0, 20), (100, 20)]))
    assert (score.score, *directions(score)) == (0, 0, 0)
    assert score.truth_in_proposal.snapped == 0
    assert apls(roads_of(LINE), NO_ROADS).score == 0
    assert apls(NO_ROADS, roads_of(LINE)).score == 0
    assert apls(roads_of(LINE), roads_of([(0, 4), (100, 4)])).score == pytest.approx(1)
    assert apls(roads_of(LINE), roads_of([(0, 4.01), (100, 4.01)])).score == 0


@pytest.mark.parametrize(
    ("length_m", "count"), [(37.4, 0), (37.5, 1), (50, 1), (50.1, 1), (100, 1), (100.1, 2), (150, 2), (151, 3)]
)
def test_control_points_stand_evenly_on_edges(length_m, count):
    roads = roads_of([(0, 0), (length_m, 0)])
    places, _ = control_places(roads, 50)
    np.testing.assert_allclose(np.sort(places.along_m), np.linspace(0, length_m, count + 2), atol=1e-9)


def test_half_of_a_line():
    # Control points at 0, 50 and 100 m: the last is missing, and two of three pairs with it.
    score = apls(roads_of(LINE), roads_of([(0, 0), (50, 0)]))
    assert directions(score) == pytest.approx((1 / 3, 1))
    assert score.score == pytest.approx(0.5)
    there = score.truth_in_proposal
    assert (there.paths, there.missing, there.routable) == (3, 2, 1)


@pytest.mark.parametrize(("length_m", "routable"), [(30, 1), (33, 1), (33.1, 0)])
def test_a_path_is_routable_if_there_is_one_a_tenth_longer_at_most(length_m, routable):
    apex_m = ((length_m / 2) ** 2 - 15**2) ** 0.5
    score = apls(roads_of([(0, 0), (30, 0)]), roads_of([(0, 0), (15, apex_m), (30, 0)]))
    assert (score.truth_in_proposal.paths, score.truth_in_proposal.routable) == (1, routable)


def test_a_link_between_two_parts_is_cut():
    # Two junctions with two arms and the link, all of 30 m: 6 control points, of whose 15 pairs 9 cross the link.
    arms = [[(0, 0), (-30, 0)], [(0, 0), (0, 30)], [(30, 0), (60, 0)], [(30, 0), (30, 30)]]
    score = apls(roads_of(*arms, [(0, 0), (30, 0)]), roads_of(*arms))
    assert directions(score) == pytest.approx((1 - 9 / 15, 1))


def test_a_ring_is_opened():
    # 8 control points 50 m apart; a path m steps along the open ring has min(m, 8 - m) in the ring.
    steps = [other - one for one in range(8) for other in range(one + 1, 8)]
    there = 1 - sum(min(1, abs(m - min(m, 8 - m)) / min(m, 8 - m)) for m in steps) / 28
    back = 1 - sum((m - min(m, 8 - m)) / m for m in steps) / 28
    assert there == pytest.approx(1 - 5 / 28)
    score = apls(roads_of(RING), roads_of([*RING[:-1], (0, 50)]))
    assert directions(score) == pytest.approx((there, back))


def test_of_parallel_ways_the_shorter_counts_and_by_time_the_faster():
    ends = [[(-20, 0), (0, 0)], [(60, 0), (80, 0)]]
    straight, around = [(0, 0), (60, 0)], [(0, 0), (0, 30), (60, 30), (60, 0)]
    both = roads_of(*ends, straight, around, speeds=[10, 10, 1, 10])
    long_way = roads_of(*ends, around, speeds=[10, 10, 10])
    # Along the long way of 160 m there are 5 control points; the straight way leads from 20 to 140 m in 60 m.
    pairs = [(low, high) for low in range(0, 160, 40) for high in range(low + 40, 161, 40)]
    ways = [min(high - low, abs(low - 20) + 60 + abs(high - 140)) for low, high in pairs]
    by_length = 1 - sum(1 - way / (high - low) for way, (low, high) in zip(ways, pairs)) / 10
    assert apls(both, long_way).proposal_in_truth.score == pytest.approx(by_length)
    assert apls(both, long_way, by_time=True).proposal_in_truth.score == pytest.approx(1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0.4, 1), st.booleans())
def test_the_score_is_that_of_the_definition(one, other, kept, by_time):
    truth, proposal = town(one, blocks=3), town(other, blocks=3, kept=kept, shift_m=3)
    score = apls(contracted(truth), contracted(proposal), by_time=by_time)
    expected = plain_apls(truth, proposal, by_time=by_time)
    assert (score.score, *directions(score)) == pytest.approx(expected, abs=1e-9)


def test_equally_long_ways_of_a_square_grid_make_no_difference():
    streets = [[(0, 60 * i), (240, 60 * i)] for i in range(5)] + [[(60 * i, 0), (60 * i, 240)] for i in range(5)]
    truth, proposal = noded(*streets), noded(*streets[:3], *streets[4:])
    score = apls(contracted(truth), contracted(proposal))
    assert (score.score, *directions(score)) == pytest.approx(plain_apls(truth, proposal), abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_the_order_and_direction_of_lines_do_not_matter(seed, random):
    graph = town(seed).graph
    ways = [graph.line(edge) for edge in range(len(graph.edges)) if np.ptp(graph.edges[edge])]
    order = random.sample(range(len(ways)), len(ways))
    mixed = [ways[way] if random.random() < 0.5 else ways[way][::-1] for way in order]
    half = [way for way, number in zip(mixed, order) if number % 2]
    expected = apls(roads_of(*ways), roads_of(*ways[1::2])).score
    assert apls(roads_of(*mixed), roads_of(*half)).score == pytest.approx(expected, abs=1e-9)


def test_the_pair_of_las_vegas_has_the_score_that_others_found(real_data):
    truth, proposal = map(contracted, graphs_of(*vegas(real_data)))
    score = apls(truth, proposal, snap_m=4)
    assert (score.score, *directions(score)) == pytest.approx((0.823, 0.849, 0.798), abs=0.001)
    assert apls(truth, proposal, snap_m=10).score == pytest.approx(0.928, abs=0.001)


def test_a_small_pair_of_graphs_has_the_score_of_the_definition(real_data):
    layers = []
    for name in ("truth", "proposal"):
        nodes, edges = json.loads((real_data / f"graph_pair_{name}.json").read_text(encoding="utf-8"))
        shapes = shapely.linestrings(np.array(nodes)[np.array(edges)][:, :, ::-1])  # latitude comes first
        layers.append(geopandas.GeoDataFrame(geometry=shapes, crs="EPSG:4326"))
    truth, proposal = graphs_of(*layers)
    score = apls(contracted(truth), contracted(proposal))
    assert (score.score, *directions(score)) == pytest.approx(plain_apls(truth, proposal), abs=1e-9)
    assert 0 < score.score < 1
