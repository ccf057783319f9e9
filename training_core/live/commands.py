"""Commands of a live session: lines of JSON, which are untrusted input, to dataclasses.

Scope: what a line may say, and its checks. Independent of what a command does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np
import shapely
from shapely.errors import ShapelyError
from shapely.geometry.base import BaseGeometry

from ..errors import shown
from ..events import Reporter
from ..geodata.grid import MAX_COORDINATE
from ..geodata.shapes import TooManyCrossings, check_crossings
from ..jobs import parse
from ..jobs.option import LONGEST_TEXT
from ..labels.labeled_images import WIDEST_ROAD_M
from ..system.input_lines import LONGEST_LINE_BYTES, TOO_LONG

ROADS, AOI, NO_ROAD = "roads", "aoi", "no_road"
LAYERS = (ROADS, AOI, NO_ROAD)
PROBABILITY, UNCERTAINTY = "probability", "uncertainty"
MAX_CHANGES, LONGEST_ID, MAX_SEQUENCE = 100_000, 200, 2**53
_LINES, _POLYGONS = ("LineString", "MultiLineString"), ("Polygon", "MultiPolygon")
_TYPES = {ROADS: (*_LINES, *_POLYGONS), AOI: _POLYGONS, NO_ROAD: _POLYGONS}


@dataclass(frozen=True)
class Change:
    """A feature as it is now, or that it is gone.

    Parameters
    ----------
    layer : str
        One of LAYERS.
    id : str
        Its name in the layer.
    geometry : BaseGeometry, optional
        In the CRS of the image; None where the feature was removed.
    width_m : float, optional
        Of a road drawn as a line; None for the usual one.
    sure : bool
        Whether a road is one for certain.
    """

    layer: str
    id: str
    geometry: Optional[BaseGeometry]
    width_m: Optional[float] = None
    sure: bool = True

    @property
    def key(self) -> tuple[str, str]:
        """What tells features apart."""
        return self.layer, self.id


@dataclass(frozen=True)
class ChangeLabels:
    """Labels have changed; `refused` says of features that cannot be used why."""

    sequence: int
    changes: tuple[Change, ...]
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChangeView:
    """What is in view: left, bottom, right and top in the CRS of the image, and what is to be shown of it."""

    extent: tuple[float, float, float, float]
    show: str = PROBABILITY


@dataclass(frozen=True)
class Correct:
    """A click at a place that is to be corrected."""

    sequence: int
    x: float
    y: float


@dataclass(frozen=True)
class Keep:
    """Write the model as it is, and a report and what it has learned from if paths are given."""

    model: str
    report: str = ""
    labels: str = ""


@dataclass(frozen=True)
class Learn:
    """Learn, or go on."""


@dataclass(frozen=True)
class Pause:
    """Do not learn until told to."""


@dataclass(frozen=True)
class Stop:
    """End the session."""


Command = Union[ChangeLabels, ChangeView, Correct, Keep, Learn, Pause, Stop]


def read_command(line: bytes, reporter: Reporter) -> Optional[Command]:
    """Return the command of a line; None for one that is malformed, after a warning."""
    try:
        command = parse_command(line)
    except ValueError as error:
        reporter.warning(f"A command was not understood and is passed over: {str(error).rstrip('.')}.")
        return None
    if isinstance(command, ChangeLabels) and command.refused:
        count = len(command.refused)
        reporter.warning(f"{count} drawn feature{'s' * (count > 1)} cannot be used: {command.refused[0]}.")
    return command


def parse_command(line: bytes) -> Command:
    """Return the command of a line.

    Raises
    ------
    ValueError
        It is none; says why.
    """
    if line == TOO_LONG:
        raise ValueError(f"it is longer than {LONGEST_LINE_BYTES >> 20} MiB")
    document = parse(line.decode("utf-8"))  # UnicodeDecodeError is a ValueError
    if not isinstance(document, dict):
        raise ValueError("it is no object")
    members = dict(document)
    name = members.pop("command", None)
    if not isinstance(name, str) or name not in _PARSERS:
        raise ValueError(f"there is no command {shown(name)}")
    return _PARSERS[name](members)


def _labels(members: dict[str, Any]) -> ChangeLabels:
    _require_members(members, ("sequence", "changes"))
    entries = members["changes"]
    if not isinstance(entries, list) or len(entries) > MAX_CHANGES:
        raise ValueError(f"changes must be a list of at most {MAX_CHANGES:,}")
    changes, refused = [], []
    for entry in entries:
        try:
            changes.append(_change(entry))
        except ValueError as error:
            refused.append(str(error).rstrip("."))
    return ChangeLabels(_sequence(members), tuple(changes), tuple(refused))


def _change(entry: Any) -> Change:
    if not isinstance(entry, dict):
        raise ValueError("a change is no object")
    _require_members(entry, ("layer", "id", "geometry"), ("width_m", "sure"))
    layer, id_, text = entry["layer"], entry["id"], entry["geometry"]
    if layer not in LAYERS:
        raise ValueError(f"there is no layer {shown(layer)}")
    if not isinstance(id_, str) or not 0 < len(id_) <= LONGEST_ID:
        raise ValueError(f"the id {shown(id_)} is no text of at most {LONGEST_ID} characters")
    width_m, sure = entry.get("width_m"), entry.get("sure")
    if sure is not None and not isinstance(sure, bool):
        raise ValueError(f"sure is {shown(sure)}, not true, false or null")
    if width_m is not None:
        width_m = _number(width_m, "width_m")
        if width_m > WIDEST_ROAD_M:
            raise ValueError(f"a road is {width_m:g} m wide; at most {WIDEST_ROAD_M:g} m can be used")
    geometry = None if text is None else _geometry(text, layer)
    return Change(layer, id_, geometry, width_m if width_m and width_m > 0 else None, sure is not False)


def _geometry(text: Any, layer: str) -> BaseGeometry:
    if not isinstance(text, str):
        raise ValueError(f"a geometry is {shown(text)}, not a text or null")
    try:
        with np.errstate(invalid="ignore"):  # of NaN, which is refused below
            shape = shapely.force_2d(shapely.from_wkt(text))
    except (ShapelyError, NotImplementedError, ValueError) as error:  # curves are not implemented
        raise ValueError(f"the geometry {shown(text)} cannot be read") from error
    if shape is None or shape.is_empty or shape.geom_type not in _TYPES[layer]:
        raise ValueError(f"{shown(text)} is no geometry for the layer {layer}")
    points = shapely.get_coordinates(shape)
    if not (np.abs(points) < MAX_COORDINATE).all():  # written so that NaN fails
        raise ValueError(f"the geometry {shown(text)} is not on Earth")
    try:
        check_crossings(np.array([shape], dtype=object))
    except TooManyCrossings as error:
        raise ValueError(f"a geometry of the layer {layer} crosses itself too often") from error
    return shape


def _view(members: dict[str, Any]) -> ChangeView:
    _require_members(members, ("extent",), ("show",))
    extent, show = members["extent"], members.get("show", PROBABILITY)
    if not isinstance(extent, list) or len(extent) != 4:
        raise ValueError(f"the extent is {shown(extent)}, not four numbers")
    left, bottom, right, top = (_number(value, "extent") for value in extent)
    if not (left < right and bottom < top):
        raise ValueError(f"the extent {shown(extent)} is empty")
    if show not in (PROBABILITY, UNCERTAINTY):
        raise ValueError(f"show is {shown(show)}, not {PROBABILITY} or {UNCERTAINTY}")
    return ChangeView((left, bottom, right, top), show)


def _correct(members: dict[str, Any]) -> Correct:
    _require_members(members, ("sequence", "x", "y"))
    return Correct(_sequence(members), _number(members["x"], "x"), _number(members["y"], "y"))


def _keep(members: dict[str, Any]) -> Keep:
    _require_members(members, ("model",), ("report", "labels"))
    model, report, labels = members["model"], members.get("report", ""), members.get("labels", "")
    for path in (model, report, labels):
        if not isinstance(path, str) or "\0" in path or len(path) > LONGEST_TEXT:
            raise ValueError(f"{shown(path)} is no path")
    if not model:
        raise ValueError("the path of the model is empty")
    return Keep(model, report, labels)


def _require_members(members: dict[str, Any], required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    missing, unknown = set(required) - set(members), set(members) - set(required) - set(optional)
    if missing or unknown:
        what = f"{shown(min(missing))} is missing" if missing else f"{shown(min(unknown))} is unknown"
        raise ValueError(f"its member {what}")


def _sequence(members: dict[str, Any]) -> int:
    sequence = members["sequence"]
    if type(sequence) is not int or not 0 <= sequence <= MAX_SEQUENCE:
        raise ValueError(f"sequence is {shown(sequence)}, not a whole number from 0 on")
    return sequence


def _number(value: Any, name: str) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or abs(value) > MAX_COORDINATE:
        raise ValueError(f"{name} has {shown(value)}, which is no number on Earth")
    return float(value)


_PARSERS = {
    "labels": _labels,
    "view": _view,
    "correct": _correct,
    "keep": _keep,
    "learn": lambda members: _require_members(members, ()) or Learn(),
    "pause": lambda members: _require_members(members, ()) or Pause(),
    "stop": lambda members: _require_members(members, ()) or Stop(),
}
