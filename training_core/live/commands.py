"""Commands of a live session: dataclasses, read from lines of JSON, which are untrusted input.

Scope: the format of a line, and its checks. Independent of the effect of a command.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Optional, Union

from shapely.geometry.base import BaseGeometry

from ..errors import shown
from ..events import Reporter
from ..geodata.grid import MAX_COORDINATE
from ..geodata.shapes import shape_of
from ..jobs.json_fields import PATH, Range, read
from ..jobs.option import MAX_TEXT
from ..labels.drawing import MAX_ROAD_WIDTH_M
from ..system import commands

ROADS, AOI, NO_ROAD = "roads", "aoi", "no_road"
LAYERS = (ROADS, AOI, NO_ROAD)
PROBABILITY: Literal["probability"] = "probability"
UNCERTAINTY: Literal["uncertainty"] = "uncertainty"
MAX_CHANGES, MAX_ID, MAX_SEQUENCE = 100_000, 200, 2**53
_Sequence = Annotated[int, Range(0, MAX_SEQUENCE)]
_Coordinate = Annotated[float, Range(-MAX_COORDINATE, MAX_COORDINATE)]
_LINES, _POLYGONS = ("LineString", "MultiLineString"), ("Polygon", "MultiPolygon")
_TYPES = {ROADS: (*_LINES, *_POLYGONS), AOI: _POLYGONS, NO_ROAD: _POLYGONS}


@dataclass(frozen=True)
class Change:
    """A feature of one of LAYERS, in the CRS of the image; without a geometry, the feature was removed.

    The width is for roads drawn as lines, None for the default. An unsure road is ignored where it is drawn.
    """

    layer: str
    id: str
    geometry: Optional[BaseGeometry]
    width_m: Optional[float] = None
    sure: bool = True

    @property
    def key(self) -> tuple[str, str]:
        """Layer and id, which together are unique."""
        return self.layer, self.id


@dataclass(frozen=True)
class ChangeLabels:
    """Labels have changed; `refused` lists why features could not be used."""

    sequence: int
    changes: tuple[Change, ...]
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChangeView:
    """The map shows another extent (left, bottom, right, top in the CRS of the image) or another quantity."""

    extent: tuple[_Coordinate, _Coordinate, _Coordinate, _Coordinate]
    show: Literal["probability", "uncertainty"] = PROBABILITY


@dataclass(frozen=True)
class Correct:
    """A click on a place to correct."""

    sequence: _Sequence
    x: _Coordinate
    y: _Coordinate


@dataclass(frozen=True)
class Keep:
    """Write the current model; also a report and the labels, if their paths are given."""

    model: Annotated[str, PATH, Range(1, MAX_TEXT)]
    report: Annotated[str, PATH, Range(0, MAX_TEXT)] = ""
    labels: Annotated[str, PATH, Range(0, MAX_TEXT)] = ""


@dataclass(frozen=True)
class Learn:
    """Start or continue learning."""


@dataclass(frozen=True)
class Pause:
    """Stop learning until the next `Learn`."""


@dataclass(frozen=True)
class Stop:
    """End the session."""


@dataclass(frozen=True)
class _Labels:
    """Changed labels before each change is checked, so that one bad change does not discard the others."""

    sequence: _Sequence
    changes: Annotated[list[Any], Range(0, MAX_CHANGES)]


@dataclass(frozen=True)
class _Entry:
    """A change with its geometry as WKT."""

    layer: Literal["roads", "aoi", "no_road"]
    id: Annotated[str, Range(1, MAX_ID)]
    geometry: Optional[Annotated[str, Range()]]
    width_m: Optional[_Coordinate] = None
    sure: Optional[bool] = None


Command = Union[ChangeLabels, ChangeView, Correct, Keep, Learn, Pause, Stop]


def read_command(line: bytes, reporter: Reporter) -> Optional[Command]:
    """Return the command of a line; warn and return None if it is malformed."""
    command = commands.read_command(line, parse_command, reporter)
    if isinstance(command, ChangeLabels) and command.refused:
        count = len(command.refused)
        reporter.warning(f"{count} drawn feature{'s' * (count > 1)} cannot be used: {command.refused[0]}.")
    return command


def parse_command(line: bytes) -> Command:
    """Return the command of a line.

    Raises ValueError if the line is not a command; the message gives the reason.
    """
    command = commands.parse_line(line, _COMMANDS)
    if isinstance(command, _Labels):
        return _labels(command)
    if isinstance(command, ChangeView):
        left, bottom, right, top = command.extent
        if not (left < right and bottom < top):
            raise ValueError(f"the extent {shown(command.extent)} is empty")
    return command


def _labels(command: _Labels) -> ChangeLabels:
    changes, refused = [], []
    for entry in command.changes:
        try:
            changes.append(_change(read(_Entry, entry, "a change", is_exact=True)))
        except ValueError as error:
            refused.append(str(error).rstrip("."))
    return ChangeLabels(command.sequence, tuple(changes), tuple(refused))


def _change(entry: _Entry) -> Change:
    width_m = entry.width_m if entry.width_m and entry.width_m > 0 else None
    if width_m and width_m > MAX_ROAD_WIDTH_M:
        raise ValueError(f"a road is {width_m:g} m wide; at most {MAX_ROAD_WIDTH_M:g} m can be used")
    geometry = (
        None if entry.geometry is None else shape_of(entry.geometry, _TYPES[entry.layer], f"the layer {entry.layer}")
    )
    return Change(entry.layer, entry.id, geometry, width_m, entry.sure is not False)


_COMMANDS: dict[str, type] = {
    "labels": _Labels,
    "view": ChangeView,
    "correct": Correct,
    "keep": Keep,
    "learn": Learn,
    "pause": Pause,
    "stop": Stop,
}
