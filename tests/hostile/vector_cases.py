"""Hostile vector layers: coordinate systems, geometries, fields and files, for every layer that a job reads."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Optional

import geopandas
import numpy as np
import pyogrio
import shapely
from shapely.geometry import LineString, Polygon, box
from shapely.geometry.base import BaseGeometry

from tests.core.support.rasters import UTM
from tests.core.support.towns import SIDE_PX
from tests.hostile.cases import DONE, EITHER, REFUSED, Case, Place
from tests.hostile.raster_cases import MOON
from tests.hostile.spoiling import NO_FILES, Write

# The layers of jobs, by what they hold.
LINES, AREAS, POINTS = "lines", "areas", "points"
ROLES = {
    ("evaluate", "roads"): LINES, ("finetune", "roads"): LINES, ("cleannetwork", "lines"): LINES,
    ("exportnetwork", "lines"): LINES, ("scorenetwork", "truth"): LINES, ("scorenetwork", "proposal"): LINES,
    ("comparenetworks", "before"): LINES, ("comparenetworks", "after"): LINES, ("makechallenge", "layer"): LINES,
    ("exportchanges", "changes"): LINES, ("applyreview", "lines"): LINES,
    ("applyreview", "review"): LINES, ("sampleaccuracy", "lines"): LINES, ("checkaccuracy", "sample"): LINES,
    ("roadstatus", "lines"): LINES, ("roadstatus", "hazards"): AREAS, ("roadstatus", "aoi"): AREAS,
    ("sampleaccuracy", "aoi"): AREAS, ("getosmdata", "aoi"): AREAS,
    ("roadstatus", "sites"): POINTS, ("roadstatus", "districts"): AREAS,
    ("roadstatus", "water"): AREAS, ("roadstatus", "clouds"): AREAS,
    ("evaluate", "aoi"): AREAS, ("evaluate", "no_road"): AREAS, ("finetune", "aoi"): AREAS,
    ("segment", "aoi"): AREAS, ("extractroads", "aoi"): AREAS, ("vectorize", "no_road"): LINES,
    ("mapregion", "aoi"): AREAS,
    ("suggestlabels", "labeled"): AREAS, ("scorenetwork", "aoi"): AREAS, ("comparenetworks", "aoi"): AREAS,
    ("comparenetworks", "damage"): AREAS, ("comparenetworks", "places"): POINTS, ("comparenetworks", "origins"): POINTS,
}  # fmt: skip
SLOW = ("finetune",)
CARRYING = (
    ("cleannetwork", "lines"), ("exportnetwork", "lines"), ("comparenetworks", "before"), ("comparenetworks", "after"),
    ("comparenetworks", "places"), ("roadstatus", "lines"), ("roadstatus", "sites"),
)  # fmt: skip
SEED = 1789
X, Y = 390000, 5820000
SITE = 'LOCAL_CS["Building site",UNIT["metre",1]]'


def good_layer(place: Place, role: tuple[str, str]) -> geopandas.GeoDataFrame:
    goods = place.goods
    source = {LINES: goods.roads, AREAS: goods.aoi, POINTS: goods.places}[ROLES[role]]
    # Where all is labeled, nothing is left to suggest; tasks are of changes alone, verdicts of probable roads.
    needed = {
        "labeled": goods.labeled, "layer": goods.changes, "changes": goods.changes, "review": goods.reviewed,
        "sample": goods.judged,
    }  # fmt: skip
    return pyogrio.read_dataframe(needed.get(role[1], source))


def with_layer(role: tuple[str, str], path: str | Path) -> dict[str, Any]:
    """Return options with another layer for a role, without the fields of the good one."""
    field = role[1]
    named = {f"{field}_name_field": ""} if field in ("places", "origins", "sites") else {}
    return {field: str(path), **named}


def rewritten(
    place: Place, role: tuple[str, str], change: Callable[[geopandas.GeoDataFrame], geopandas.GeoDataFrame]
) -> dict[str, Any]:
    path = place.bad / "hostile.gpkg"
    pyogrio.write_dataframe(change(good_layer(place, role)), path, layer="hostile")
    return with_layer(role, path)


def cases_of(
    kinds: dict[str, Callable[..., dict]], roles: Iterable[tuple[str, str]], expect: str, **options: Any
) -> list[Case]:
    """Return a case for each kind of spoiling and each role; the function is given the place and the role."""
    return [
        Case(f"{role[0]} {role[1]}, {name}", role[0], partial(spoil, role=role), expect, **options)
        for name, spoil in kinds.items()
        for role in roles
    ]


QUICK = [role for role in ROLES if role[0] not in SLOW]


def declared(crs: Optional[str]) -> Callable[[geopandas.GeoDataFrame], geopandas.GeoDataFrame]:
    """Return a change that keeps coordinates and declares another CRS."""
    return lambda layer: layer.set_crs(crs, allow_override=True)


def scaled(factor: float) -> Callable[[geopandas.GeoDataFrame], geopandas.GeoDataFrame]:
    return lambda layer: layer.set_geometry(shapely.transform(layer.geometry, lambda points: points * factor))


WRONG_CRS = {
    "meters declared as degrees": declared("EPSG:4326"),
    "on the Moon": declared(MOON),
    "in a building site's CRS": declared(SITE),
    "in a geocentric CRS": declared("EPSG:4978"),
    "at a thousand times the coordinates": scaled(1e3),
    "at coordinates of 1e300": scaled(1e294),
}
# Coordinates of another place on Earth.
ELSEWHERE = {
    "declared in Web Mercator": declared("EPSG:3857"),
    "declared in feet of New York": declared("EPSG:2263"),
    "declared in a polar stereographic CRS": declared("EPSG:3031"),
    "in micrometers of a degree": lambda layer: declared("EPSG:4326")(scaled(1e-6)(layer)),
}
# The same place in another way.
SAME = {
    "in degrees": lambda layer: layer.to_crs("EPSG:4326"),
    "in Web Mercator": lambda layer: layer.to_crs("EPSG:3857"),
    "with heights": lambda layer: layer.to_crs("EPSG:4979"),
}


def _changed(changes: dict[str, Callable]) -> dict[str, Callable[..., dict]]:
    return {name: partial(rewritten, change=change) for name, change in changes.items()}


NAMED = {"names": ("hostile",)}
CRSS = [
    *cases_of(_changed(WRONG_CRS), ROLES, REFUSED, **NAMED),
    *cases_of(_changed(ELSEWHERE), QUICK, EITHER),
    *cases_of(_changed(SAME), QUICK, DONE),
    *cases_of(
        _changed({"50 km to the east": lambda layer: layer.set_geometry(layer.translate(50_000))}),
        [("finetune", "roads"), ("evaluate", "aoi"), ("segment", "aoi"), ("extractroads", "aoi")],
        REFUSED,
        names=("town.tif",),
    ),
]


def of_shapes(place: Place, role: tuple[str, str], shapes: list[BaseGeometry], added: bool, crs: str) -> dict[str, Any]:
    good = good_layer(place, role).to_crs(crs)
    own = geopandas.GeoDataFrame(geometry=[*(good.geometry if added else ()), *shapes], crs=crs)
    return rewritten(place, role, lambda _: own)


def square(left: float, top: float, side: float) -> Polygon:
    """Return a square with a corner at meters east and south of the town's."""
    return box(X + left, Y - top - side, X + left + side, Y - top)


TOWN = square(0, 0, SIDE_PX)
COMB = LineString([(X + step, Y - (SIDE_PX if step % 2 else 0)) for step in range(SIDE_PX)])
STAR = Polygon([(X + 96 + 90 * np.cos(2.4 * n), Y - 96 + 90 * np.sin(2.4 * n)) for n in range(50)])
SHAPES: dict[str, list[BaseGeometry]] = {
    "lines": [LineString([(X, Y - 50), (X + 190, Y - 50)])],
    "points": [shapely.Point(X + 5, Y - 5), shapely.Point(X + 90, Y - 90)],
    "polygons": [TOWN],
    "lines of two parts": [shapely.MultiLineString([[(X, Y), (X + 9, Y - 9)], [(X + 99, Y), (X + 9, Y - 99)]])],
    "polygons of two parts": [shapely.MultiPolygon([square(0, 0, 50), square(100, 100, 50)])],
    "collections": [shapely.GeometryCollection([TOWN, shapely.Point(X, Y)])],
    "empty shapes": [Polygon(), LineString(), shapely.Point()],
    "no geometries": [None, None],
    "lines without length": [LineString([(X + 50, Y - 50), (X + 50, Y - 50)])],
    "a polygon that crosses itself": [Polygon([(X, Y), (X + 190, Y - 190), (X + 190, Y), (X, Y - 190)])],
    "a star that crosses itself": [STAR],
    "a hole outside": [Polygon(TOWN.exterior.coords, [square(500, 500, 50).exterior.coords])],
    "the same line a hundred times": [LineString([(X, Y - 50), (X + 190, Y - 50)])] * 100,
    "a comb": [COMB],
    "a line around the Earth": [LineString([(X, Y - 50), (-X * 40, Y - 50), (X * 40, Y - 50)])],
    "tiny shapes": [square(50, 50, 1e-7), LineString([(X, Y), (X + 1e-9, Y)])],
    "a not-a-number vertex": [LineString([(X, Y), (np.nan, Y)])],
    "a huge vertex": [LineString([(X, Y), (1e300, Y)])],
}
WORLD = {
    "the whole world": [box(-180, -90, 180, 90)],
    "a line from pole to pole": [LineString([(13.381, -90), (13.381, 90)])],
    "a line around the equator": [LineString([(lon, 0) for lon in range(-180, 181)])],
    "a line where the image's CRS ends": [LineString([(105, 0), (105.5, 0.01)])],
    "points at both poles": [shapely.Point(0, 90), shapely.Point(0, -90)],
}


def _shaped(
    kinds: dict[str, list[BaseGeometry]], crs: str, added: bool = False, ending: str = ""
) -> dict[str, Callable[..., dict]]:
    return {
        f"{name}{ending}": partial(of_shapes, shapes=shapes, added=added, crs=crs) for name, shapes in kinds.items()
    }


GEOMETRIES = [
    *cases_of(_shaped(SHAPES, UTM), QUICK, EITHER),
    *cases_of(_shaped(WORLD, "EPSG:4326"), QUICK, EITHER),
    *cases_of(_shaped(WORLD, "EPSG:4326", True, " besides"), QUICK, EITHER),
]

FIELDS: dict[str, dict[str, Any]] = {
    "a field geom": {"geom": "x"},
    "a field geometry": {"geometry": "x"},
    "fields that differ in case": {"Name": "x", "name": "y", "NAME": 1},
    "fields of the output": dict.fromkeys(("length_m", "component", "osmid"), "x")
    | {"change": 1, "u": 1}
    | {"status": 2, "key": 2},
    "a field fid of text": {"FID": "x"},
    "lists": {"list": [1, 2, 3]},
    "objects": {"object": {"a": {"b": [1, None]}}},
    "values of all kinds": {"nothing": None, "true": True, "large": 2**62, "number": 1e300},
    "dates": {"date": "2024-02-30", "time": "9999-99-99T99:99:99", "day": "0001-01-01"},
    "a long text": {"text": "x" * 10**6},
    "a name of 300 characters": {"n" * 300: 1},
    "names that are SQL": {'a"; DROP TABLE edges; --': 1, "select": 2, "a'b": 3},
    "names that are HTML": {"<script>alert(1)</script>": "<img src=x onerror=alert(1)>"},
    "control characters": {"a\u0001b": "x\u0000y\u0008z", "": "no name"},
    "letters of other scripts": {"Straße नेपाल": "道路 🛣"},
    "five hundred fields": {f"field {number}": number for number in range(500)},
}


def with_fields(place: Place, role: tuple[str, str], fields: dict[str, Any]) -> dict[str, Any]:
    path = place.bad / "hostile.geojson"
    shapes = good_layer(place, role).to_crs("EPSG:4326").geometry
    features = [
        {"type": "Feature", "properties": fields, "geometry": shapely.geometry.mapping(shape)} for shape in shapes
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return with_layer(role, path)


# Dates that no calendar has are refused, and what becomes of control characters depends on the format.
UNCERTAIN = ("dates", "control characters")
ATTRIBUTES = [
    case
    for name, fields in FIELDS.items()
    for case in cases_of({name: partial(with_fields, fields=fields)}, CARRYING, EITHER if name in UNCERTAIN else DONE)
]


def with_width(place: Place, role: tuple[str, str], value: float) -> dict[str, Any]:
    changed = rewritten(place, role, lambda layer: layer.assign(breite=[value] * len(layer)))
    return {**changed, "width_field": "breite"}


def _width(value: float) -> dict[str, Callable[..., dict]]:
    return {f"a width of {value:g}": partial(with_width, value=value)}


WIDTHS = [
    *(case for value in (np.inf, 2000.0) for case in cases_of(_width(value), [("evaluate", "roads")], REFUSED)),
    *(case for value in (-np.inf, 1e-30) for case in cases_of(_width(value), [("evaluate", "roads")], DONE)),
]


def as_text(place: Place, role: tuple[str, str], text: str, name: str) -> dict[str, Any]:
    (place.bad / name).write_text(text, encoding="utf-8")
    return with_layer(role, place.bad / name)


def collection(shape: str) -> str:
    return f'{{"type":"FeatureCollection","features":[{{"type":"Feature","properties":{{}},"geometry":{shape}}}]}}'


TEXTS = {
    "a line of one point": ("hostile.geojson", collection('{"type":"LineString","coordinates":[[13,52]]}')),
    "an open ring": ("hostile.geojson", collection('{"type":"Polygon","coordinates":[[[13,52],[14,52],[14,53]]]}')),
    "coordinates of text": ("hostile.geojson", collection('{"type":"LineString","coordinates":[["a","b"],["c","d"]]}')),
    "coordinates of no depth": ("hostile.geojson", collection('{"type":"LineString","coordinates":13}')),
    "deep coordinates": ("hostile.geojson", collection(f'{{"type":"Polygon","coordinates":{"[" * 5000}{"]" * 5000}}}')),
    "an unknown kind of geometry": ("hostile.geojson", collection('{"type":"Blob","coordinates":[[13,52]]}')),
    "JSON that is cut off": ("hostile.geojson", collection('{"type":"LineString","coordinates":[[13,52],[14')),
    "JSON of other things": ("hostile.geojson", '{"type": "FeatureCollection", "features": 5}'),
    "no features": ("hostile.geojson", '{"type": "FeatureCollection", "features": []}'),
    "a table without geometry": ("hostile.csv", "a,b\n1,2\n"),
    "a TIN": ("hostile.csv", 'WKT\n"TIN (((13 52,13 53,14 53,13 52)))"\n'),
    "a geometry without CRS": ("hostile.csv", 'WKT\n"LINESTRING (13 52,14 53)"\n'),
    "text": ("hostile.gpkg", "no layer\n" * 99),
}  # fmt: skip


def as_file(place: Place, role: tuple[str, str], write: Write) -> dict[str, Any]:
    """Put something else in the layer's place; what `write` returns is the source then."""
    path = place.bad / "hostile.gpkg"
    return with_layer(role, write(path, place) or path)


def in_latin_1(path: Path, place: Place) -> str:
    copy = path.parent / os.fsdecode(b"hostile stra\xdfe.gpkg")
    copy.write_bytes(Path(place.goods.roads).read_bytes())
    return str(copy)


NO_LAYERS: dict[str, Write] = {
    **NO_FILES,
    "a pipe with a layer's name": lambda path, place: os.mkfifo(path) or f"{path}|layername=roads",
    "a name that is not UTF-8": in_latin_1,
    "a raster": lambda path, place: path.write_bytes(Path(place.goods.raster).read_bytes()) and None,
    "a model": lambda path, place: path.write_bytes(Path(place.goods.onnx).read_bytes()) and None,
    "a layer that is not there": lambda path, place: f"{place.goods.roads}|layername=hostile",
    "a number of a layer that is not there": lambda path, place: f"{place.goods.roads}|layerid=9|layername=hostile",
    "a filter that is no SQL": lambda path, place: f"{place.goods.roads}|subset=hostile >",
    "a filter that lets nothing through": lambda path, place: f"{place.goods.roads}|subset=fid = -1 AND 'hostile' = ''",
    "a password": lambda path, place: "PG:host=/nowhere dbname=hostile password=secret",
}
_TEXTS = {f"{what} for a layer": partial(as_text, text=text, name=name) for what, (name, text) in TEXTS.items()}
_NO_LAYERS = {f"{what} for a layer": partial(as_file, write=write) for what, write in NO_LAYERS.items()}
# A network may be empty: a job writes such a layer where it finds no road. GDAL reads no empty challenge.
_EMPTY = ("no features for a layer", "a filter that lets nothing through for a layer")
_ANY = _TEXTS | _NO_LAYERS
FILES = [
    *cases_of({what: spoil for what, spoil in _ANY.items() if what not in _EMPTY}, ROLES, REFUSED, **NAMED),
    *cases_of(
        {what: _ANY[what] for what in _EMPTY}, [role for role in ROLES if ROLES[role] != LINES], REFUSED, **NAMED
    ),
    *cases_of(
        {what: _ANY[what] for what in _EMPTY},
        [role for role in ROLES if ROLES[role] == LINES and role[0] != "makechallenge"],
        EITHER,
    ),
]


def damaged(place: Place, role: tuple[str, str], suffix: str, number: int) -> dict[str, Any]:
    """Write the good layer in a format, with other bytes here and there, or cut off."""
    path = place.bad / f"hostile{suffix}"
    pyogrio.write_dataframe(good_layer(place, role), path)
    chance = random.Random(SEED + number)
    data = bytearray(path.read_bytes())
    if number % 4:
        for _ in range(4 ** chance.randrange(5)):
            data[chance.randrange(len(data))] = chance.randrange(256)
    else:
        data = data[: chance.randrange(len(data))]
    path.write_bytes(data)
    return with_layer(role, path)


DAMAGED = [
    case
    for suffix in (".gpkg", ".geojson", ".fgb", ".shp")
    for number in range(12)
    for case in cases_of(
        {f"a damaged {suffix[1:]}, {number}": partial(damaged, suffix=suffix, number=number)},
        [QUICK[(number + 5 * part) % len(QUICK)] for part in range(2)],
        EITHER,
    )
]

CASES = [*CRSS, *GEOMETRIES, *ATTRIBUTES, *WIDTHS, *FILES, *DAMAGED]
