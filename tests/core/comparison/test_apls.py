"""APLS of road networks: equal to its definition written plainly, and to small cases by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.support.plain_apls import plain_apls
from tests.core.support.road_graphs import graphs_of, roads_of, town, vegas
from training_core.comparison.path_scores import control_places, score_apls
from training_core.events import Reporter
from training_core.networks.graph import EMPTY
from training_core.networks.lines import make_lines
from training_core.networks.road_graph import RoadGraph, contracted

LINE = [(0, 0), (100, 0)]
NO_ROADS = RoadGraph(EMPTY, np.zeros(0, np.int64), make_lines(np.array([], dtype=object)))


def apls(truth, proposal, **options):
    return score_apls(truth, proposal, Reporter(), **options)


def directions(score):
    return score.truth_in_proposal.score, score.proposal_in_truth.score


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


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0.4, 1), st.booleans())
def test_the_score_is_that_of_the_definition(one, other, kept, by_time):
    truth, proposal = town(one, blocks=3), town(other, blocks=3, kept=kept, shift_m=3)
    score = apls(contracted(truth), contracted(proposal), by_time=by_time)
    expected = plain_apls(truth, proposal, by_time=by_time)
    assert (score.score, *directions(score)) == pytest.approx(expected, abs=1e-9)


def test_the_pair_of_las_vegas_has_the_score_that_others_found(real_data):
    truth, proposal = map(contracted, graphs_of(*vegas(real_data)))
    score = apls(truth, proposal, snap_m=4)
    assert (score.score, *directions(score)) == pytest.approx((0.823, 0.849, 0.798), abs=0.001)
    assert apls(truth, proposal, snap_m=10).score == pytest.approx(0.928, abs=0.001)
