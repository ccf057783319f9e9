"""Ids by which a task of a challenge is known again in the next one.

Scope: places of tasks, and ids of an earlier challenge. Independent of files.

An id is the change and the middle of the task, rounded to 0.0001 degrees (11 m): `new_52.5192_13.4049`. Where several
tasks would have the same one, theirs are rounded to 1e-7 degrees. So, once one of them is done, its id never passes on
to another. A place near a border of the rounding may cross it; hence the ids of an earlier challenge are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import count

import numpy as np
from scipy.spatial import KDTree

from ..geodata.grid import ELLIPSOID

# Tasks of one change are at the same place within this distance.
SAME_PLACE_M = 20.0
_DIGITS, _FINE_DIGITS = 4, 7
_ID = re.compile(r"([a-z-]{1,30})_(-?\d{1,2}\.\d{4,7})_(-?\d{1,3}\.\d{4,7})(?:_\d{1,6})?")
# Farther apart than any places on Earth.
_BEYOND_M = 1e8


def is_task_id(text: str) -> bool:
    """Whether a text has the form of an id."""
    return _ID.fullmatch(text) is not None


def make_ids(changes: Sequence[str], places: np.ndarray, earlier: Sequence[str] = ()) -> tuple[list[str], int]:
    """Return an id for each task, none twice, and how many of them are ids of earlier tasks at the same places.

    A task has a word or phrase for what has changed, and the longitude and latitude of its middle, (n, 2) float64 in
    degrees. The earlier ids satisfy `is_task_id`.
    """
    names = [change.replace(" ", "-") for change in changes]
    ids = _kept_ids(names, places, earlier)
    kept, taken = len(ids), set(earlier)
    for digits in (_DIGITS, _FINE_DIGITS):
        left = [task for task in range(len(names)) if task not in ids]
        rounded = [_id_at(names[task], places[task], digits) for task in left]
        counts = Counter(rounded)
        ids |= {task: name for task, name in zip(left, rounded) if counts[name] == 1 and name not in taken}
    # The middles of crossing lines may be the same place.
    last: Counter[str] = Counter()
    for task in (task for task in range(len(names)) if task not in ids):
        name = _id_at(names[task], places[task], _FINE_DIGITS)
        last[name] = next(number for number in count(last[name] + 1) if f"{name}_{number}" not in taken)
        ids[task] = f"{name}_{last[name]}"
    return [ids[task] for task in range(len(names))], kept


def _id_at(name: str, place: np.ndarray, digits: int) -> str:
    # Zero, and the antimeridian, have one sign.
    longitude, latitude = place.round(digits) + 0.0
    return f"{name}_{latitude:.{digits}f}_{180.0 if longitude == -180 else longitude:.{digits}f}"


def _kept_ids(names: Sequence[str], places: np.ndarray, earlier: Sequence[str]) -> dict[int, str]:
    """Return the ids of earlier tasks by the number of the task at the same place, each other's nearest of the name."""
    parts = [match.groups() for each in earlier if (match := _ID.fullmatch(each))]
    if not parts or not names:
        return {}
    # Tasks of one change are compared on the sphere, those of others lie too far apart on the fourth axis; a pair is
    # the same if each is the other's nearest.
    known = {name: number for number, name in enumerate(sorted({*names, *(part[0] for part in parts)}))}
    points = _points([known[name] for name in names], places)
    former = _points(
        [known[part[0]] for part in parts], np.array([(float(east), float(north)) for _, north, east in parts])
    )
    distance_m, nearest = KDTree(former).query(points)
    back = KDTree(points).query(former)[1]
    same = (back[nearest] == np.arange(len(names))) & (distance_m <= SAME_PLACE_M)
    return {int(task): earlier[nearest[task]] for task in np.flatnonzero(same)}


def _points(kinds: Sequence[int], places: np.ndarray) -> np.ndarray:
    """Return places on a sphere in meters, those of different kinds apart along a fourth axis: (n, 4) float64."""
    longitude, latitude = np.radians(places).T
    east_north_up = (np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude))
    return np.column_stack([*(ELLIPSOID.a * axis for axis in east_north_up), _BEYOND_M * np.asarray(kinds)])
