"""States of known roads on planted probabilities: what is covered, never seen, hidden, outside, or in a hazard."""

from dataclasses import replace

import numpy as np
import pyproj
import pytest
import shapely
from rasterio.crs import CRS
from shapely import LineString, box

from tests.core.support.rasters import NORTH_UP, UTM
from training_core.comparison.road_state import (
    View,
    averaged,
    groups_of,
    look,
    places_on,
    stretches_of,
)
from training_core.geodata.grid import Grid
from training_core.geodata.pixel_codes import NO_DATA
from training_core.jobs.status import HIDDEN, IN_HAZARD, NOT_SEEN, OUTSIDE, SEEN, UNDER_WATER
from training_core.networks.lines import make_lines
from training_core.networks.road_graph import as_drawn

X, Y = NORTH_UP.c, NORTH_UP.f
WIDTH, COUNT, APART = 400, 10, 30
PLANE, NOWHERE = pyproj.CRS(UTM), shapely.Polygon()
ROAD, GROUND = 230, 5
# Nothing but a word for a state that lies between two others near the ends of a stretch.
NEAR_M = 25.0


def roads_of(north_m=0.0, length_m=WIDTH):
    """Ten roads from west to east, 30 m apart."""
    rows = [Y - APART * (number + 1) + north_m for number in range(COUNT)]
    return as_drawn(make_lines([LineString([(X, row), (X + length_m, row)]) for row in rows]))


@pytest.fixture
def view():
    """What a model sees of these roads, 6 m wide, in pixels of a meter."""
    probability = np.full((APART * (COUNT + 1), WIDTH), GROUND, dtype=np.uint8)
    for number in range(COUNT):
        probability[APART * (number + 1) - 3 : APART * (number + 1) + 3] = ROAD
    return View(probability, Grid(CRS.from_user_input(UTM), NORTH_UP, WIDTH, len(probability)), 0.5)


def covered(view, value, first=0, last=WIDTH, road=0):
    """The first road covered between two columns."""
    probability = view.probability.copy()
    middle = APART * (road + 1)
    probability[middle - 12 : middle + 12, first:last] = value
    return replace(view, probability=probability)


def stretches_on(
    *views, roads=None, before=None, area=None, hazards=NOWHERE, classes=None, reach_m=4.0, min_stretch_m=30.0,
    wet=(), hidden=(),
):  # fmt: skip
    roads = roads or roads_of()
    places = places_on(roads)
    *looks, earlier = (each and look(each, roads, places, PLANE, reach_m) for each in (*views, before))
    is_wet, is_covered = np.isin(places.edge, wet), np.isin(places.edge, (*wet, *hidden))
    looks[0] = replace(looks[0], along=np.where(is_covered, np.nan, looks[0].along), under_water=is_wet)
    groups = groups_of(np.array(classes or [""] * COUNT, dtype=object), np.full(COUNT, np.nan))
    return stretches_of(roads, places, looks, earlier, groups, area, hazards, min_stretch_m)


def found(*views, **options):
    """States by line, each with where it begins and ends."""
    stretches = stretches_on(*views, **options)
    states = [[] for _ in range(COUNT)]
    parts = stretches.intervals
    for line, begin_m, end_m, state in zip(parts.edge, parts.begin_m, parts.end_m, stretches.state):
        states[line].append((state, begin_m, end_m))
    return states


def words(states):
    return [state for state, _, _ in states]


def test_a_covered_stretch_is_cut_out_where_it_lies_and_all_other_roads_are_seen(view):
    first, *others = found(covered(view, GROUND, 150, 270))
    assert words(first) == [SEEN, NOT_SEEN, SEEN]
    _, begin_m, end_m = first[1]
    assert begin_m == pytest.approx(150, abs=NEAR_M) and end_m == pytest.approx(270, abs=NEAR_M)
    assert others == [[(SEEN, 0, pytest.approx(WIDTH))]] * (COUNT - 1)
    assert [end for *_, end in first[:-1]] == [begin for _, begin, _ in first[1:]]


@pytest.mark.parametrize(("length_m", "is_cut"), [(10, False), (100, True)])
def test_no_stretch_is_shorter_than_asked_for(view, length_m, is_cut):
    first, *_ = found(covered(view, GROUND, 150, 150 + length_m), min_stretch_m=60)
    assert (len(first) > 1) == is_cut
    assert all(end_m - begin_m >= 60 for _, begin_m, end_m in first)


def test_a_class_that_is_never_seen_is_not_lost(view):
    for road in range(5):
        view = covered(view, GROUND, road=road)
    states = found(view, classes=["track"] * 5 + ["road"] * 5)
    assert not any(NOT_SEEN in words(each) for each in states[:5])
    alone = found(covered(view, GROUND, road=9), classes=["track"] * 5 + ["road"] * 5)
    assert words(alone[9]) == [NOT_SEEN]


def test_what_an_image_before_does_not_show_either_is_not_lost(view):
    after = covered(covered(view, GROUND, road=0), GROUND, road=1)
    states = found(after, before=covered(view, GROUND, road=0))
    assert NOT_SEEN not in words(states[0]) and words(states[1]) == [NOT_SEEN]


def test_hazards_come_before_the_area_and_both_before_what_is_hidden_or_seen(view):
    view = covered(view, NO_DATA, 100, 200)
    area, hazards = box(X, Y - 400, X + 300, Y), box(X + 250, Y - 45, X + 330, Y)
    first, second, *_ = found(view, area=area, hazards=hazards)
    assert words(first) == [SEEN, HIDDEN, SEEN, IN_HAZARD, OUTSIDE]
    assert [begin for _, begin, _ in first] == pytest.approx([0, 100, 200, 250, 330], abs=1.1)
    assert [begin for _, begin, _ in second] == pytest.approx([0, 300], abs=1.1)


def test_roads_beyond_the_image_are_outside(view):
    first, *_ = found(view, roads=roads_of(length_m=600))
    assert words(first) == [SEEN, OUTSIDE] and first[1][1] == pytest.approx(WIDTH, abs=1.1)


def test_roads_within_reach_of_a_displaced_line_are_seen(view):
    roads = roads_of(north_m=6.0)
    near, far = (found(view, roads=roads, before=view, reach_m=reach_m) for reach_m in (5, 0))
    assert words(near[4]) == [SEEN]
    # With an image before, both of which show nothing there, nothing is lost.
    assert NOT_SEEN not in words(far[4])
    assert look(view, roads, places_on(roads), PLANE, 0.0).along.max() < 0


def test_evidence_is_averaged_along_each_line_alone():
    values, line = np.array([1.0, np.nan, 3.0, 100.0, 200.0]), np.array([0, 0, 0, 1, 1])
    assert averaged(values, line) == pytest.approx([2, np.nan, 2, 150, 150], nan_ok=True)


def test_the_newest_image_that_shows_a_place_decides_and_the_opposite_is_told(view):
    cloudy, older = covered(view, NO_DATA, 0, 200), covered(covered(view, GROUND, 50, 150), GROUND, 250, 350)
    stretches = stretches_on(cloudy, older)
    first = stretches.intervals.edge == 0
    assert stretches.state[first].tolist() == [SEEN, NOT_SEEN, SEEN]
    assert stretches.image[first].tolist() == [1, 1, 0] and not (stretches.image[~first]).any()
    # Since then, the road from 250 to 350 m was cleared; this is shorter than half of what is seen.
    assert (stretches.contradicted_by == -1).all()
    lost = covered(view, GROUND, 250, 350)
    stretches = stretches_on(lost, view)
    assert stretches.contradicted_by[:3].tolist() == [-1, 1, -1] and stretches.state[1] == NOT_SEEN


def test_what_is_covered_is_neither_lost_nor_expected_of_others(view):
    for road in range(8):
        view = covered(view, GROUND, road=road)
    lost, alone = found(view), found(view, wet=range(4), hidden=range(4, 8))
    assert [words(each) for each in alone] == [[UNDER_WATER]] * 4 + [[HIDDEN]] * 4 + [[SEEN]] * 2
    assert [words(each) for each in lost[:8]] != [[NOT_SEEN]] * 8  # where most are unseen, little is expected
    assert words(found(covered(view, GROUND, road=8), wet=range(4), hidden=range(4, 8))[8]) == [NOT_SEEN]
