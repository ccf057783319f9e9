"""Length-based scores: small cases by hand, and equal to those of polygonal buffers."""

from __future__ import annotations

import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.support.road_graphs import roads_of, town
from training_core.comparison.buffer_matching import complement, matched_intervals, score_lines
from training_core.networks.road_graph import Places, contracted

LINE = [(0, 0), (100, 0)]


def as_shape(roads):
    return shapely.union_all(shapely.linestrings(roads.graph.points, indices=roads.graph.owner))


def test_networks_that_lie_apart_have_nothing_in_common_and_just_as_far_as_allowed_is_near():
    score = score_lines(roads_of(LINE), roads_of([(0, 3.1), (100, 3.1)]), 3)
    assert (score.completeness, score.correctness, score.quality, score.f1) == (0, 0, 0, 0)
    assert score_lines(roads_of(LINE), roads_of([(0, 3), (100, 3)]), 3).quality == pytest.approx(1)


def test_a_part_that_is_missed_and_another_that_is_false():
    # Found: 0 to 60 m, and 4 m beyond the proposal's end. False: the branch, but for its first 5 m beside the truth.
    score = score_lines(roads_of(LINE), roads_of([(0, 3), (60, 3)], [(30, 3), (30, 53)]), 5)
    assert score.completeness == pytest.approx(0.64)
    assert score.correctness == pytest.approx((60 + 2) / 110)
    assert score.quality == pytest.approx(62 / (110 + 36))
    assert score.f1 == pytest.approx(2 / (1 / 0.64 + 110 / 62))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0.3, 1), st.floats(0.5, 30))
def test_lengths_are_those_within_a_buffer(one, other, kept, tolerance_m):
    truth, proposal = contracted(town(one)), contracted(town(other, kept=kept, shift_m=6))
    buffer = as_shape(proposal).buffer(tolerance_m, quad_segs=64)
    parts = matched_intervals(truth, proposal, tolerance_m)
    lines = truth.lines_at(parts.edge, parts.begin_m, parts.end_m)
    # The bridge crosses what it is not noded with, so lengths are summed edge by edge.
    edges = shapely.linestrings(truth.graph.points, indices=truth.graph.owner)
    expected_m = shapely.length(shapely.intersection(edges, buffer)).sum()
    assert parts.length_m == pytest.approx(expected_m, rel=1e-3, abs=0.05)
    assert shapely.length(lines).sum() == pytest.approx(parts.length_m)
    assert shapely.covered_by(lines, buffer.buffer(0.01)).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.5, 30))
def test_what_is_near_and_the_rest_are_all_without_overlap(seed, tolerance_m):
    truth, proposal = contracted(town(seed)), contracted(town(seed + 1, kept=0.5, shift_m=6))
    parts = matched_intervals(truth, proposal, tolerance_m)
    left = complement(truth, parts)
    assert parts.length_m + left.length_m == pytest.approx(truth.length_m.sum(), abs=1e-3)
    middles = truth.points_at(Places(left.edge, (left.begin_m + left.end_m) / 2))
    _, gap_m = proposal.nearest(middles, 1000)
    assert (gap_m > tolerance_m - 1e-6).all()
