"""Ids of tasks: the same for the same place on the next run, and never those of another place."""

from __future__ import annotations

import re

import numpy as np
import pytest

from training_core.comparison.challenge_file import is_task_id, make_ids

METERS_PER_DEGREE = 6_378_137 * np.pi / 180


def moved(places, east_m, north_m):
    """Places moved by meters on a sphere."""
    at = np.array(places, dtype=float)
    at[:, 1] += north_m / METERS_PER_DEGREE
    at[:, 0] += east_m / METERS_PER_DEGREE / np.cos(np.radians(at[:, 1]))
    return at


def test_an_id_says_what_and_where_and_is_none_of_openstreetmap():
    ids, kept = make_ids(["new", "gap not joined"], np.array([(13.40494, 52.51921), (-0.00001, -7.5)]))
    assert ids == ["new_52.5192_13.4049", "gap-not-joined_-7.5000_0.0000"] and kept == 0
    # What MapRoulette takes for an element of OpenStreetMap (AsIdentifiableFeature.isValidId).
    element = re.compile(r"^(node|way|relation|n|r|w)?/?\d+$")
    assert all(is_task_id(each) and not element.match(each) for each in ids)


@pytest.mark.parametrize("longitude", [180.0, -180.0, 179.99999])
def test_a_place_on_the_antimeridian_is_the_same_from_either_side(longitude):
    ids = make_ids(["lost"], np.array([(longitude, -16.8)]))[0]
    assert ids == ["lost_-16.8000_180.0000"]
    assert make_ids(["lost"], np.array([(-179.9999, -16.8)]), ids) == (ids, 1)


def test_another_change_or_a_place_farther_than_20_m_is_another_task():
    place = np.array([(13.0, 52.0)])
    earlier = make_ids(["new"], place)[0]
    assert make_ids(["new"], moved(place, 19, 0), earlier) == (earlier, 1)
    assert make_ids(["new"], moved(place, 21, 0), earlier)[1] == 0
    assert make_ids(["lost"], place, earlier)[1] == 0


def test_no_two_tasks_have_the_same_id_and_what_is_done_hands_its_id_on_to_none():
    # Two carriageways in one cell of the rounding, and two lines that cross in their middles.
    places = np.array([(13.00001, 52.00001), (13.00003, 52.00001), (14.0, 53.0), (14.0, 53.0)])
    ids = make_ids(["new"] * 4, places)[0]
    assert len(set(ids)) == 4 and all(map(is_task_id, ids))
    done, left = ids[:2]
    for earlier in ([], ids):
        assert make_ids(["new"], places[1:2], earlier)[0] != [done]
    assert make_ids(["new"], places[1:2], ids) == ([left], 1)


def test_any_number_of_tasks_at_one_place_have_ids_of_their_own():
    places = np.full((2000, 2), 13.0)
    ids = make_ids(["new"] * 2000, places)[0]
    again, kept = make_ids(["new"] * 2000, places, ids)
    assert len(set(ids)) == len(set(again)) == 2000
    # Each other's nearest are only two of them, and the others are new.
    assert kept == 1 and len({*ids, *again}) == 3999
