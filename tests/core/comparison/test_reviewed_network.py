"""Roads extracted anew beside a judged network: what nobody may change, whatever a model finds."""

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import LineString

from training_core.comparison.reviewed_network import connected, off_judged, outside_box
from training_core.networks.lines import make_lines

PLACES = st.tuples(st.integers(-100, 100), st.integers(-100, 100))
LINES = st.lists(st.lists(PLACES, min_size=2, max_size=4, unique=True).map(LineString), min_size=1, max_size=5)
JUDGED = np.array([LineString([(-90, 0), (0, 0), (60, 30)]), LineString([(0, 0), (0, -80)])])
REJECTED = np.array([LineString([(20, -80), (40, -20)])])


@settings(max_examples=60, deadline=None)
@given(LINES)
def test_judged_lines_stay_to_the_vertex_and_new_ones_keep_off_judged_ground(found):
    parts, owner = off_judged(np.array(found), JUDGED, REJECTED, np.array(found))
    assert all(part.buffer(1e-6).within(found[line].buffer(1e-3)) for part, line in zip(parts, owner))
    judged, new = connected(make_lines(JUDGED), parts, 0.01)
    for before, after in zip(JUDGED, judged):
        assert set(before.coords) <= set(after.coords)
        assert shapely.hausdorff_distance(before, after) < 1e-6
    assert shapely.distance(shapely.multilinestrings(list(JUDGED)), parts).min(initial=9) > 7.9
    # What is left near a rejected stretch crosses it, and is not parallel to it.
    near = shapely.intersection(new, REJECTED[0].buffer(2, cap_style="flat"))
    assert shapely.length(near).max(initial=0) < 15
    # What is connected goes on in a vertex of both.
    ends = shapely.get_point(new, [[0], [-1]])[shapely.distance(shapely.get_point(new, [[0], [-1]]), judged[0]) == 0]
    assert shapely.distance(ends, shapely.multipoints(shapely.get_coordinates(judged))).max(initial=0) == 0


@pytest.mark.parametrize(
    ("new", "left_m"),
    [
        ([(22, -84), (42, -24)], 0),  # along the rejected stretch
        ([(-60, -45), (100, -55)], 160),  # across it
        ([(-40, -120), (80, -120)], 120),  # past it
        ([(14, -100), (30, -50), (120, -50)], 84),  # along it, then away
        ([(10, -45), (50, -55)], 0),  # on ground that was seen alone
    ],
)
def test_only_what_runs_along_a_rejected_stretch_is_left_out(new, left_m):
    parts, _ = off_judged(np.array([LineString(new)]), JUDGED[:0], REJECTED, JUDGED[:0])
    assert shapely.length(parts).sum() == pytest.approx(left_m, abs=1.5)


def test_a_road_that_was_there_and_not_judged_is_found_again_beside_judged_ones():
    before = np.array([LineString([(10, -45), (50, -55)])])
    again = np.array([LineString([(10, -42), (50, -52)])])
    parts, _ = off_judged(again, JUDGED, REJECTED, before)
    assert shapely.length(parts).sum() == pytest.approx(before[0].length, abs=0.1)


def test_beyond_the_box_of_the_new_lines_all_stays():
    parts, line = outside_box(JUDGED, np.array([LineString([(-50, -60), (70, 40)])]))
    assert line.tolist() == [0, 1] and [part.wkt for part in parts] == [
        "LINESTRING (-90 0, -50 0)", "LINESTRING (0 -60, 0 -80)",
    ]  # fmt: skip
    assert outside_box(JUDGED, JUDGED[:0])[0].tolist() == JUDGED.tolist()
