"""Layers of OpenStreetMap: which layers are extracts, which of their features are roads and bridges, pending edits.

Extracts come from GDAL, QuickOSM, overpass turbo, HOT, Geofabrik, osm2pgsql and ohsome. Tags are columns, in one text,
or an object. Edits are the attribute `action` of https://wiki.openstreetmap.org/wiki/JOSM_file_format, which neither
GDAL nor osmium reads, and negative ids of new objects. Scope: tables that have been read, and the widths and the
visibility of roads that their tags give. Independent of images and pixels.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import shapely

from ..errors import LayerError
from ..events import Reporter
from ..jobs import LabelOptions
from ..jobs.fields import METERS, OSM_IDENTIFIERS
from ..jobs.json_fields import parse
from ..jobs.openstreetmap import NON_ROADS
from .fields import numbers_in
from .shapes import valid
from .sources import QGIS_PART

# Columns with all tags that have no column of their own: GDAL's and osm2pgsql's as "key"=>"value", and as one object
# HOT's, osmtogeojson's and fAIr's.
_CONTAINERS = ("other_tags", "all_tags", "tags")
# Geofabrik's column for the value of a feature's main key.
_GEOFABRIK = "fclass"
# A table with an identifier is an extract if it has one of these columns: the key of some features, or their tags.
_KEYS = frozenset(
    ("highway", "waterway", "railway", "power", "barrier", "aeroway", "aerialway", "boundary", "building", "landuse",
     "natural", "man_made", _GEOFABRIK, *_CONTAINERS[:2])
)  # fmt: skip
# An identifier as osmtogeojson writes it, in a column `id` that any layer may have: with its type, or beside it.
_NAMED_ID, _OBJECTS = re.compile(r"(?:node|way|relation)/-?\d+"), ("node", "way", "relation")
_TAG = re.compile(r'"((?:[^"\\]|\\.)*)"=>"((?:[^"\\]|\\.)*)"')
_XML = ".osm"
# The beginnings of objects, as far as their attributes go, in which no < can stand.
_EDITED = re.compile(rb"<(?:node|way|relation)\s(?:[^<>]*?\s)?(?:id=[\"']-|action=[\"'](?:modify|delete))")
_DELETED_WAY = re.compile(rb"<way\s(?:[^<>]*?\s)?(?:action=[\"']delete|visible=[\"']false)[\"'][^<>]*>")
_ID = re.compile(rb"\sid=[\"'](-?\d+)[\"']")

_PURPOSE = "drawn roads"
CLASS_FIELD, WIDTH_FIELD, SURE_FIELD = "road_class", "width_m", "sure"
# Usual width of a carriageway by class, in meters, where neither width nor lanes are mapped.
_USUAL_WIDTH_M = {
    "motorway": 11.0, "trunk": 9.0, "primary": 9.0, "secondary": 8.0, "tertiary": 7.0, "unclassified": 5.5,
    "residential": 6.0, "living_street": 5.0, "service": 4.0, "track": 3.0, "road": 6.0, "busway": 4.0, "raceway": 9.0,
    "bus_guideway": 4.0, "escape": 5.0,
}  # fmt: skip
# Ways that look like roads in some images.
_PATHS = ("pedestrian", "footway", "path", "cycleway", "bridleway", "steps", "corridor")
_CONSTRUCTION = "construction"
# Ways that nobody can travel on yet, and values of `construction` on roads that are open, as OSRM's profiles take them.
_UNBUILT, _OPEN = (_CONSTRUCTION, "proposed", "planned"), ("", "no", "minor", "widening")
_WIDTH_M = {**_USUAL_WIDTH_M, **dict.fromkeys((*_PATHS, _CONSTRUCTION), 3.0)}
# Values of the key highway for roads and paths: https://wiki.openstreetmap.org/wiki/Key:highway.
_LINKED = ("motorway", "trunk", "primary", "secondary", "tertiary")
HIGHWAYS = frozenset((*_USUAL_WIDTH_M, *_PATHS, *(f"{name}_link" for name in _LINKED)))
# Tags that networks use, which become columns of their own.
_NETWORK_TAGS = ("highway", "bridge", "tunnel", "layer", "oneway")
# Values of a bridge field for roads that are not bridges. SpaceNet has 1 for a bridge, 2 for none and 3 for unknown;
# OpenStreetMap has yes or a kind of bridge, and its shapefiles T and F.
_NO_BRIDGE = {"", "no", "n", "false", "f", "none", "nan", "null", "<na>", "unknown"}
_LANE_M, _MAX_WIDTH_M = 3.25, 100.0
_WIDEST_NON_ROAD_M = 5000.0


def is_osm_file(path: str) -> bool:
    """Whether a layer is read from a file in a format of OpenStreetMap, where everything was mapped."""
    return Path(QGIS_PART.split(path)[0]).suffix.lower() in (".osm", ".pbf")


def is_extract(layer: geopandas.GeoDataFrame) -> bool:
    """Whether a layer has identifiers and keys of OpenStreetMap; layers that people drew in may, see `is_mapped`."""
    if not _identifiers(layer):
        return False
    tags = layer.get(_column(layer, "tags"), pandas.Series(dtype=object))
    return any(str(name).lower() in _KEYS for name in layer.columns) or any(map(_tags_in, tags))


def is_mapped(layer: geopandas.GeoDataFrame) -> pandas.Series:
    """Return which features come from OpenStreetMap, (features,), bool: one without an identifier was drawn.

    All do in a layer without a column of identifiers.
    """
    found = [layer[name].notna() & (layer[name].astype(str).str.strip() != "") for name in _identifiers(layer)]
    return pandas.concat(found, axis=1).any(axis=1) if found else pandas.Series(True, index=layer.index)


def _identifiers(layer: geopandas.GeoDataFrame) -> list[str]:
    names = [str(name) for name in layer.columns if str(name).lower() in OSM_IDENTIFIERS]
    ids, types = (_texts(layer, _column(layer, name)) for name in ("id", "type"))
    is_named = types.isin(_OBJECTS).any() or any(map(_NAMED_ID.fullmatch, ids))
    return [*names, _column(layer, "id")] if is_named and len(ids) else names


def _column(layer: geopandas.GeoDataFrame, name: str) -> str:
    """Return the column of a name in any case, or the name itself."""
    return next((str(other) for other in layer.columns if str(other).lower() == name.lower()), name)


def tag_values(layer: geopandas.GeoDataFrame, key: str) -> pandas.Series:
    """Return the values of a tag, as texts; empty where there is none."""
    column = _column(layer, key)
    if column in layer:
        return _texts(layer, column)
    if key == "highway" and _column(layer, _GEOFABRIK) in layer:
        # Geofabrik has the grade of a track behind it, and unknown for highway=road.
        return tag_values(layer, _GEOFABRIK).str.replace(r"_grade\d$", "", regex=True).replace("unknown", "road")
    container = next((name for name in map(partial(_column, layer), _CONTAINERS) if name in layer), "")
    if container:
        return layer[container].map(lambda tags: str(_tags_in(tags).get(key) or "").strip() if key in str(tags) else "")
    return pandas.Series("", index=layer.index)


def _texts(layer: geopandas.GeoDataFrame, column: str) -> pandas.Series:
    """Return the values of a column as texts, empty where there is none; nothing without the column."""
    values = layer.get(column, pandas.Series(dtype=object)).astype(object)
    return values.where(values.notna(), "").astype(str).str.strip()


def _tags_in(value: object) -> dict[str, Any]:
    """Return tags of an object of JSON, which pyogrio may have left as a text, or of a text; empty without any."""
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return dict(_TAG.findall(value))
    if isinstance(value, str):
        with suppress(ValueError):
            value = parse(value)
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Ways:
    """What the features of an extract are; each (features,)."""

    kind: pandas.Series  # texts: the tag highway, without _link
    is_drawn: pandas.Series  # bool: without an identifier, so that no tags count
    is_road: pandas.Series  # bool: lines that the tag highway makes roads or paths, and that are open
    is_unbuilt: pandas.Series  # bool: lines under construction, or planned


def classified(layer: geopandas.GeoDataFrame) -> Ways:
    """Return what the features of an extract are."""
    kind = tag_values(layer, "highway").str.lower().str.removesuffix("_link")
    is_drawn = ~is_mapped(layer)
    is_way = ~is_drawn & (shapely.get_dimensions(layer.geometry.to_numpy()) == 1)
    is_known = kind.isin(_WIDTH_M) | kind.isin(_UNBUILT)
    is_unbuilt = is_way & is_known & (kind.isin(_UNBUILT) | ~tag_values(layer, _CONSTRUCTION).isin(_OPEN))
    return Ways(kind, is_drawn, is_way & is_known & ~is_unbuilt, is_unbuilt)


def is_bridge(value: object) -> bool:
    """Return whether a value of a bridge field marks a bridge: 1, yes, true, or a kind of bridge."""
    text = str(value).strip().lower()
    try:
        return float(text) == 1
    except ValueError:
        return text not in _NO_BRIDGE


def are_bridges(layer: geopandas.GeoDataFrame, key: str = "bridge") -> np.ndarray:
    """Return which features have a tag with a value as of bridges, such as tunnel: (features,), bool."""
    return tag_values(layer, key).map(is_bridge).to_numpy(dtype=bool)


def network_roads(
    layer: geopandas.GeoDataFrame, path: str, purpose: str, named: Collection[str], reporter: Reporter
) -> geopandas.GeoDataFrame:
    """Return the open roads of an extract and what was drawn among them, by their rows in the layer.

    Tags that networks use, and `named` ones, become columns if a road has them. The log says how many roads and bridges
    there are; what is left out is told, too. Raises LayerError if there is no road.
    """
    ways = classified(layer)
    roads = layer[ways.is_road | ways.is_drawn]
    if roads.empty:
        raise _no_road(path, purpose, "")
    for key in sorted({*_NETWORK_TAGS, *filter(None, named)}):
        values = tag_values(roads, key)
        is_asked = key in named and key in _NETWORK_TAGS
        if _column(roads, key) not in roads and (is_asked or (values != "").any()):
            roads = roads.assign(**{key: values.replace("", None)})
    apart = int((are_bridges(roads) | are_bridges(roads, "tunnel")).sum())
    reporter.log(f"{_summary(ways, path, purpose)}, {apart:,} of them bridges or tunnels.")
    _tell_left_out(ways, ~(ways.is_road | ways.is_drawn), path, purpose, reporter)
    return roads


def non_roads_of(layer: geopandas.GeoDataFrame, path: str, purpose: str, reporter: Reporter) -> geopandas.GeoDataFrame:
    """Return what `non_roads_in` finds in an extract, and log its number; raise LayerError if a layer has none."""
    found = non_roads_in(layer)
    said = (
        f"The {purpose} ({path}) are read as an extract of OpenStreetMap: {is_mapped(found).sum():,} of "
        f"{len(layer):,} features"
    )
    if found.empty and not is_osm_file(path):
        raise LayerError(
            f"{said} are water, railways, runways or walls by their tags.", "Give a layer of these, or draw them."
        )
    reporter.log(f"{said} are water, railways, runways and walls by their tags; all else is left out.")
    return found


def non_roads_in(layer: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    """Return the water, railways, runways and walls of an extract, and what was drawn among them.

    WIDTH_FIELD is their mapped width, or the usual one of their kind; a bank of a river is the river. What lies in a
    tunnel is left out.
    """
    ways = classified(layer)
    width_m = pandas.Series(np.nan, index=layer.index)
    by_key = {key: kinds for keys in NON_ROADS.values() for key, kinds in keys.items()}
    of_any_key = {kind: usual_m for kinds in by_key.values() for kind, usual_m in kinds.items()}
    for key, kinds in {**by_key, _GEOFABRIK: of_any_key}.items():
        width_m = width_m.fillna(tag_values(layer, key).map(kinds))
    is_shape = shapely.get_dimensions(layer.geometry.to_numpy()) > 0  # a pond may be a point alone
    is_found = width_m.notna() & is_shape & ~(ways.is_road | ways.is_unbuilt | are_bridges(layer, "tunnel"))
    own_m = pandas.Series(numbers_in(tag_values(layer, "width"), METERS), index=layer.index)
    width_m = own_m.where(own_m.between(0.1, _WIDEST_NON_ROAD_M)).fillna(width_m).mask(ways.is_drawn)
    found = layer.assign(**{WIDTH_FIELD: width_m})[is_found | ways.is_drawn].reset_index(drop=True)
    # GDAL knows these only as lines around.
    is_area = tag_values(found, "waterway").isin(("riverbank", "dock")) & found.geometry.is_closed
    for row in np.flatnonzero(is_area & (found.geometry.count_coordinates() > 3)):
        found.loc[row, found.geometry.name] = valid(np.array([shapely.Polygon(found.geometry[row].coords)]))[0]
    return found


def _no_road(path: str, purpose: str, where: str) -> LayerError:
    return LayerError(
        f"The {purpose} ({path}) are an extract of OpenStreetMap without any road (highway){where}.",
        "Give an extract that covers the roads. If the lines are your own, remove the field of identifiers.",
    )


def _summary(ways: Ways, path: str, purpose: str) -> str:
    drawn, roads = int(ways.is_drawn.sum()), int(ways.is_road.sum())
    return f"The {purpose} ({path}) are read as an extract of OpenStreetMap: {roads:,} roads by their tag highway" + (
        f", {drawn:,} drawn ones without an identifier" if drawn else ""
    )


def _tell_left_out(ways: Ways, left_out: pandas.Series, path: str, purpose: str, reporter: Reporter) -> None:
    """Tell how many features are left out; in a layer where some of them may have been drawn, as a warning."""
    if not left_out.any():
        return
    unbuilt = int((ways.is_unbuilt & left_out).sum())
    tell = reporter.log if is_osm_file(path) else reporter.warning
    tell(
        f"{left_out.sum():,} of {len(left_out):,} features of the {purpose} ({path}) are left out: they have an "
        "identifier of OpenStreetMap but are not lines with a road's highway tag"
        + (f", or are not built yet ({unbuilt:,})" if unbuilt else "")
        + ". If some of them are roads, empty their identifier."
    )


def has_edits(path: str) -> bool:
    """Return whether an object of a file was made, changed or deleted by another program since it was downloaded."""
    return next(_found(_EDITED, path), None) is not None


def without_deleted_ways(layer: pandas.DataFrame, path: str) -> pandas.DataFrame:
    """Return a layer that GDAL has read of a file, without ways that an editor shows no more."""
    deleted = {number.decode() for tag in _found(_DELETED_WAY, path) for number in _ID.findall(tag)}
    return layer[~layer["osm_id"].isin(deleted)] if deleted and "osm_id" in layer else layer


def _found(pattern: re.Pattern[bytes], path: str) -> Iterator[bytes]:
    """Yield what matches a pattern in a file of OpenStreetMap in XML; nothing of any other."""
    if path.lower().endswith(_XML) and os.path.isfile(path) and os.path.getsize(path):
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for match in pattern.finditer(content):
                yield match.group()


def roads_of(
    layer: geopandas.GeoDataFrame, path: str, options: LabelOptions, named: Collection[str], reporter: Reporter
) -> tuple[geopandas.GeoDataFrame, LabelOptions]:
    """Return the roads of an extract with fields of their tags, and the options with those fields that nobody named.

    Roads are the lines that the tag highway makes roads, and what was drawn among them, which has no identifier, no
    width of its own and is sure. The fields are CLASS_FIELD, WIDTH_FIELD, SURE_FIELD and the `named` ones that are
    tags. Options take precedence over tags: named fields that the layer has, and a road width other than the default.
    Paths, roads under construction and in tunnels are unsure, so that they are ignored. A width that is mapped counts
    before that of the lanes, and this before the usual one of the class. Raises LayerError if there is no road.
    """
    ways = classified(layer)
    is_kept = ways.is_road | ways.is_drawn | (ways.is_unbuilt & ways.kind.isin(_WIDTH_M))
    if not is_kept.any():
        raise _no_road(path, _PURPOSE, " in the area of the images")
    layer, kind, is_drawn, is_unbuilt = (
        each[is_kept].reset_index(drop=True) for each in (layer, ways.kind, ways.is_drawn, ways.is_unbuilt)
    )
    tags = {name: tag_values(layer, name) for name in named if name and name not in layer}
    fields = {name: values for name, values in tags.items() if (values != "").any()}
    fields |= _fields(layer, kind, is_drawn, is_unbuilt)
    roads = layer.assign(**{name: fields[name] for name in fields if not (name in named and name in layer)})
    has_width = options.width_field or options.width_m != type(options).width_m
    of_tags = ([] if has_width else ["widths"]) + (
        [] if options.sure_field else ["which roads cannot be seen and are ignored"]
    )
    works = f", {is_unbuilt.sum():,} under construction" if is_unbuilt.any() else ""
    said = f"; the tags say {' and '.join(of_tags)}" if of_tags else ""
    reporter.log(f"{_summary(ways, path, _PURPOSE)}{works}{said}.")
    _tell_left_out(ways, ~is_kept, path, _PURPOSE, reporter)
    width_field = options.width_field if has_width else WIDTH_FIELD
    return roads, replace(options, width_field=width_field, sure_field=options.sure_field or SURE_FIELD)


def _fields(
    roads: geopandas.GeoDataFrame, kind: pandas.Series, is_drawn: pandas.Series, is_unbuilt: pandas.Series
) -> dict[str, pandas.Series]:
    is_hidden = are_bridges(roads, "tunnel") | are_bridges(roads, "covered")
    lanes, width_m = numbers_in(tag_values(roads, "lanes")), numbers_in(tag_values(roads, "width"), METERS)
    width_m = pandas.Series(np.where(np.isnan(width_m), lanes * _LANE_M, width_m), index=roads.index)
    return {
        CLASS_FIELD: kind,
        WIDTH_FIELD: width_m.where(width_m.between(1, _MAX_WIDTH_M)).fillna(kind.map(_WIDTH_M)).mask(is_drawn),
        SURE_FIELD: is_drawn | (~kind.isin(_PATHS) & ~is_unbuilt & ~is_hidden),
    }
