"""Overpass, a service that answers with parts of OpenStreetMap: the query for an area, and what its answers lack.

Scope: texts in the language of Overpass, boxes in degrees, and files in XML; standard library only. Independent of how
they are sent. See https://wiki.openstreetmap.org/wiki/Overpass_API/Overpass_QL.
"""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from .openstreetmap import HIGHWAY, NON_ROADS

# The usual public server.
ADDRESS = "https://overpass-api.de/api/interpreter"
# What a public server answers within a minute where the map is full, and what a query of many statements may hold.
MAX_AREA_KM2, MAX_BOXES, MAX_ANSWER_MB = 2500, 50, 50
_EARTH_KM = 6371.0
# Errors of Overpass stand at the end of what it could send, or in a page.
_END_BYTES = 4096
_REMARK = re.compile(r"<remark>(.*?)</remark>", re.DOTALL)
# The end of a file, also of one without objects.
_END = re.compile(r"(?:</osm>|<osm\b[^<>]*/>)$")
_MARKUP = re.compile(r"<(?:style|script)\b.*?</(?:style|script)>|<[^>]*>", re.DOTALL)
_MAX_TEXT = 300
JSON = "it is JSON, not XML"


class Box(NamedTuple):
    """A box in degrees, between -180 and 180; the names are those of Overpass."""

    south: float
    west: float
    north: float
    east: float


def boxes_between(west: float, south: float, east: float, north: float) -> list[Box]:
    """Return what lies between two longitudes, in any turn, and two latitudes: two boxes across the antimeridian."""
    south, north = max(-90.0, south), min(90.0, north)
    if east - west >= 360:
        return [Box(south, -180.0, north, 180.0)]
    turn = 360 * math.floor((west + 180) / 360)
    west, east = west - turn, east - turn
    if east <= 180:
        return [Box(south, west, north, east)]
    return [Box(south, west, north, 180.0), Box(south, -180.0, north, east - 360)]


def area_km2(boxes: Iterable[Box]) -> float:
    """Return the area of boxes on a sphere."""
    return sum(
        _EARTH_KM**2
        * math.radians(box.east - box.west)
        * (math.sin(math.radians(box.north)) - math.sin(math.radians(box.south)))
        for box in boxes
    )


def query(boxes: Iterable[Box], timeout_s: int) -> str:
    """Return the query for roads and places without a road in boxes, nodes first, with versions."""
    keys = {key: "|".join(values) for kinds in NON_ROADS.values() for key, values in kinds.items()}
    wanted = [f'way["{HIGHWAY}"]', *(f'wr["{key}"~"^({values})$"]' for key, values in keys.items())]
    within = [",".join(f"{degrees:.7f}" for degrees in box) for box in boxes]
    parts = "\n".join(f"  {each}({box});" for box in within for each in wanted)
    return f"[out:xml][timeout:{timeout_s}];\n(\n{parts}\n);\n(._;>;);\nout meta;\n"


def fault_of(path: str | os.PathLike[str]) -> str:
    """Return what is wrong with a file of OpenStreetMap in XML, as the end of a sentence; empty if it is whole.

    The content between its ends is not read.
    """
    with open(path, "rb") as file:
        first = file.read(_END_BYTES).decode(errors="replace")
        file.seek(max(0, os.path.getsize(path) - _END_BYTES))
        last = file.read().decode(errors="replace").rstrip()
    if first.lstrip("\ufeff \r\n\t").startswith("{"):
        return JSON
    if "<osm" not in first:
        said = _shown(first)
        return f"it is no data of OpenStreetMap, but says: {said}" if said else "it is empty"
    if remark := _REMARK.search(last):
        return f"it is not complete, since the server stopped: {_shown(remark[1])}"
    return "" if _END.search(last) else "it ends too early"


def _shown(text: str) -> str:
    """Return a text of a server without markup, and not too long."""
    return " ".join(html.unescape(_MARKUP.sub(" ", text)).split())[:_MAX_TEXT]
