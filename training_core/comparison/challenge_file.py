"""Files of tasks for MapRoulette: line-by-line GeoJSON, written and read, and ids by which a task is known again.

Scope: the form of a line, ids, and geometries as RFC 7946 wants them. Independent of what tasks are made of.

Each line is a record separator (RFC 7464) and a FeatureCollection that is one task. MapRoulette names a task by the
member `id` of its first feature, and on a rebuild updates the task of the same name in place of adding one
(https://learn.maproulette.org/documentation/line-by-line-geojson, `taskNameFromJsValue` and `create_update_task` of
maproulette-backend). An id must be text, and other than those of OpenStreetMap's elements (12, way/12, w12). A change
that a task proposes is loaded into the mapper's editor
(https://learn.maproulette.org/documentation/creating-cooperative-challenges).

An id is the change and the middle of the task, rounded to 0.0001 degrees (11 m): `new_52.5192_13.4049`. Where several
tasks would have the same one, theirs are rounded to 1e-7 degrees. So, once one of them is done, its id never passes on
to another. A place near a border of the rounding may cross it; hence the ids of an earlier challenge are kept.
"""

from __future__ import annotations

import base64
import json
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import geopandas
import numpy as np
import shapely
from scipy.spatial import KDTree

from ..errors import LayerError
from ..geodata.grid import ELLIPSOID
from ..jobs.json_fields import Range, parse, read

RECORD_SEPARATOR = "\x1e"
# A challenge of MapRoulette has no more tasks (max_tasks_per_challenge).
MAX_TASKS = 50_000
# What a file, and a line of it, may have: far more than MapRoulette takes, and a task of 10 km.
_MAX_BYTES, _MAX_LINE = 300_000_000, 5_000_000
# Decimals of degrees: a centimeter, as RFC 7946 proposes; of meters, and of fractions.
_DEGREE_DIGITS = 7
_DIGITS = {"length_m": 1, "offset_m": 1, "probability": 3, "paths_share": 6}


@dataclass(frozen=True)
class _Feature:
    id: Annotated[str, Range(0, 1000)] = ""


@dataclass(frozen=True)
class _Task:
    features: Annotated[tuple[_Feature, ...], Range(1)]


def write_challenge(
    path: Path, tasks: geopandas.GeoDataFrame, ids: Sequence[str], proposals: Sequence[str] | None = None
) -> None:
    """Write tasks (see `make_tasks`) with their ids and the changes that they propose as a file of one line for each.

    Proposals are OsmChange files as text; empty for none.
    """
    with open(path, "w", encoding="ascii", newline="\n") as file:
        for line, proposal in zip(_lines(tasks, ids), proposals or [""] * len(tasks)):
            task = line | ({"cooperativeWork": _cooperative_work(proposal)} if proposal else {})
            text = json.dumps(task, separators=(",", ":"), allow_nan=False)
            file.write(f"{RECORD_SEPARATOR}{text}\n")


def _cooperative_work(change: str) -> dict[str, Any]:
    """Return an OsmChange file as the member of a task: version 2 of the form, and its type 2, a change file."""
    content = base64.b64encode(change.encode()).decode()
    file = {"type": "xml", "format": "osc", "encoding": "base64", "content": content}
    return {"meta": {"version": 2, "type": 2}, "file": file}


def _lines(tasks: geopandas.GeoDataFrame, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    shapes = shapely.transform(tasks.geometry.to_numpy(), lambda at: at.round(_DEGREE_DIGITS))
    properties = tasks[["instruction", "change", "priority", *_DIGITS]].round(_DIGITS).set_axis(list(ids))
    for feature in geopandas.GeoDataFrame(properties, geometry=shapes).iterfeatures(na="drop"):  # JSON has no NaN
        yield {"type": "FeatureCollection", "features": [feature]}


def read_task_ids(path: str) -> list[str]:
    """Return the ids of the tasks in a challenge of unknown origin, those of RoadSeg alone, each once.

    Raises LayerError if it cannot be read, is not a regular file or far too large, or is no challenge that RoadSeg
    wrote.
    """
    remedy = "Choose a file that Make a MapRoulette challenge has written."
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):  # reading a pipe or a device might never end
            raise ValueError("it is not a regular file")
        if status.st_size > _MAX_BYTES:
            raise ValueError(f"it has more than {_MAX_BYTES / 1e6:g} MB")
        with open(path, encoding="utf-8") as file:
            lines = enumerate(iter(lambda: file.readline(_MAX_LINE), ""), 1)
            ids = dict.fromkeys(_read_id(line, number) for number, line in lines if line.strip())
    except OSError as error:
        raise LayerError(f"The earlier challenge {path} cannot be read ({error.strerror}).", remedy) from error
    except ValueError as error:  # also of a path with a null character
        reason = "it is not text" if isinstance(error, UnicodeDecodeError) else str(error).rstrip(".")
        raise LayerError(f"{path} is not a challenge, or is damaged: {reason}.", remedy) from error
    known = [each for each in ids if is_task_id(each)]
    if ids and not known:  # without a task, it is a challenge where nothing was to be done
        raise LayerError(f"{path} has no task with an id of RoadSeg.", remedy)
    return known


def _read_id(line: str, number: int) -> str:
    name = f"line {number}"
    try:
        return read(_Task, parse(line.lstrip(RECORD_SEPARATOR)), name).features[0].id
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is not JSON") from error


# Tasks of one change are at the same place within this distance.
SAME_PLACE_M = 20.0
_ID_DIGITS, _FINE_DIGITS = 4, 7
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
    for digits in (_ID_DIGITS, _FINE_DIGITS):
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
