"""Change classification: small cases by hand, and properties of any two networks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.support.road_graphs import town
from training_core.comparison.changes import DISPLACED, INTACT, UNMATCHED, classify_changes
from training_core.jobs import CompareNetworks
from training_core.networks.lines import make_lines
from training_core.networks.road_graph import as_drawn

THRESHOLDS = CompareNetworks(tolerance_m=5, displaced_m=15, parallel_angle=30, min_stretch_m=10)
ROAD = [(0, 0), (200, 0)]


def drawn(*coordinates):
    return as_drawn(make_lines([shapely.LineString(line) for line in coordinates]))


def aside(line, by_m):
    return [(x, y + by_m) for x, y in line]


def kinds_of(before, after, thresholds=THRESHOLDS):
    """(line, kind, begin, end) of each segment."""
    segments, _ = classify_changes(before, after, thresholds)
    parts = segments.intervals
    return list(zip(parts.edge.tolist(), segments.kind.tolist(), parts.begin_m.round(3), parts.end_m.round(3)))


def lines_of(seed, **details):
    """The pieces of a town's roads, as lines."""
    return as_drawn(make_lines(town(seed, **details).graph.shapes()))


def test_a_road_that_has_moved_or_swings_aside_is_displaced_by_the_mean_of_it():
    segments, _ = classify_changes(drawn(ROAD), drawn(aside(ROAD, 6)), THRESHOLDS)
    assert (segments.kind.tolist(), segments.length_m.tolist()) == ([DISPLACED], pytest.approx([200]))
    assert segments.offset_m == pytest.approx([6])
    # Within 5 m as far as half of the way; from there on 5 to 10 m aside, 7.5 m in the mean.
    segments, _ = classify_changes(drawn(ROAD), drawn([(0, 0), (200, 10)]), THRESHOLDS)
    assert segments.kind.tolist() == [INTACT, DISPLACED]
    assert segments.length_m == pytest.approx([100, 100], abs=1)
    assert segments.offset_m[1] == pytest.approx(7.5, abs=0.1)


def test_a_parallel_road_beside_one_that_is_intact_is_new():
    before, after = drawn(ROAD), drawn(ROAD, aside(ROAD, 12))
    assert kinds_of(before, after) == [(0, INTACT, 0, 200)]
    assert kinds_of(after, before) == [(0, INTACT, 0, 200), (1, UNMATCHED, 0, 200)]


def test_of_two_roads_the_nearer_is_the_one_that_has_moved():
    one, two = drawn(aside(ROAD, 6)), drawn(ROAD, aside(ROAD, 13))
    assert kinds_of(two, one) == [(0, DISPLACED, 0, 200), (1, UNMATCHED, 0, 200)]
    assert kinds_of(one, two) == [(0, DISPLACED, 0, 200)]
    assert [kind for _, kind, *_ in kinds_of(drawn(ROAD), drawn(aside(ROAD, 7), aside(ROAD, 14)))] == [DISPLACED]
    assert kinds_of(drawn(aside(ROAD, 7), aside(ROAD, 14)), drawn(ROAD))[1][1] == UNMATCHED


def test_a_road_that_is_too_far_away_crossed_or_gone_is_unmatched():
    assert kinds_of(drawn(ROAD), drawn(aside(ROAD, 15.1))) == [(0, UNMATCHED, 0, 200)]
    assert kinds_of(drawn([(50, -50), (50, 50)]), drawn(ROAD)) == [(0, UNMATCHED, 0, 100)]
    assert kinds_of(drawn(ROAD), drawn()) == [(0, UNMATCHED, 0, 200)]
    assert kinds_of(drawn(), drawn(ROAD)) == []


def test_a_gap_is_lost_but_for_the_tolerance_at_its_ends():
    after = drawn([(0, 0), (80, 0)], [(120, 0), (200, 0)])
    assert kinds_of(drawn(ROAD), after) == [(0, INTACT, 0, 85), (0, UNMATCHED, 85, 115), (0, INTACT, 115, 200)]


def test_a_segment_that_is_too_short_is_part_of_its_neighbors_if_it_has_some():
    after = drawn([(0, 0), (80, 0)], [(98, 0), (200, 0)])  # 8 m are farther than 5 m from either
    assert kinds_of(drawn(ROAD), after) == [(0, INTACT, 0, 200)]
    exact = replace(THRESHOLDS, min_stretch_m=0)
    assert kinds_of(drawn(ROAD), after, exact) == [(0, INTACT, 0, 85), (0, UNMATCHED, 85, 93), (0, INTACT, 93, 200)]
    assert kinds_of(drawn(ROAD, [(300, 0), (304, 0)]), drawn(ROAD))[1] == (1, UNMATCHED, 0, 4)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.3, 1), st.floats(0, 40))
def test_segments_cover_each_line_and_are_long_enough(seed, kept, min_stretch_m):
    before, after = lines_of(seed), lines_of(seed + 1, kept=kept, shift_m=8)
    segments, _ = classify_changes(
        before, after, CompareNetworks(tolerance_m=4, displaced_m=12, parallel_angle=30, min_stretch_m=min_stretch_m)
    )
    assert segments.lengths_by_line().sum(axis=1) == pytest.approx(before.length_m)
    edge = segments.intervals.edge
    assert segments.intervals.begin_m[1:][np.diff(edge) == 0] == pytest.approx(
        segments.intervals.end_m[:-1][np.diff(edge) == 0], abs=1e-5
    )
    alone = np.bincount(edge)[edge] == 1
    assert (segments.length_m[~alone] >= min_stretch_m - 1e-6).all()
    assert ((np.diff(edge) != 0) | (np.diff(segments.kind) != 0)).all()  # neighbors differ
    moved = segments.offset_m[segments.kind == DISPLACED]
    assert np.isfinite(moved).all() and (moved <= 12 + 1e-6).all()


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 360))
def test_the_direction_that_lines_are_drawn_in_does_not_matter(seed, turn):
    before, after = lines_of(seed), lines_of(seed + 1, kept=0.6, shift_m=8)
    lengths_m = classify_changes(before, after, THRESHOLDS)[0].lengths_by_line().sum(axis=0)
    turned = [
        as_drawn(make_lines([shapely.affinity.rotate(line.reverse(), turn, (0, 0)) for line in roads.lines.shapes]))
        for roads in (before, after)
    ]
    again_m = classify_changes(*turned, THRESHOLDS)[0].lengths_by_line().sum(axis=0)
    # Pieces of 2 m begin elsewhere, and where short intervals lie side by side, which comes first may be by a hair.
    assert again_m == pytest.approx(lengths_m, abs=0.02 * lengths_m.sum())
