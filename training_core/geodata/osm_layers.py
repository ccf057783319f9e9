"""Layers of OpenStreetMap: tags in the tables that GDAL reads, pending edits, and which ways are roads.

Tags are columns, in one text, or an object. Edits are the attribute `action` of
https://wiki.openstreetmap.org/wiki/JOSM_file_format, which neither GDAL nor osmium reads, and negative ids of new
objects. Scope: tables that have been read, and the widths and the visibility of roads that their tags give. Independent
of images and pixels.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import shapely

from ..errors import LayerError
from ..events import Reporter
from ..jobs import LabelOptions
from ..jobs.fields import METERS
from ..jobs.json_fields import parse
from .fields import numbers_in
from .sources import QGIS_PART

# GDAL puts the tags without a column of their own here, as "key"=>"value".
OTHER_TAGS = "other_tags"
# The tags of a GeoJSON feature as one object, as HOT's raw data and fAIr have them.
NESTED_TAGS = "tags"
# Columns of identifiers: GDAL's and QuickOSM's, and that of overpass turbo.
_IDENTIFIERS = ("osm_id", "@id")
_TAG = re.compile(r'"((?:[^"\\]|\\.)*)"=>"((?:[^"\\]|\\.)*)"')
_XML = ".osm"
# The beginnings of objects, as far as their attributes go, in which no < can stand.
_EDITED = re.compile(rb"<(?:node|way|relation)\s(?:[^<>]*?\s)?(?:id=[\"']-|action=[\"'](?:modify|delete))")
_DELETED_WAY = re.compile(rb"<way\s(?:[^<>]*?\s)?(?:action=[\"']delete|visible=[\"']false)[\"'][^<>]*>")
_ID = re.compile(rb"\sid=[\"'](-?\d+)[\"']")

CLASS_FIELD, WIDTH_FIELD, SURE_FIELD = "road_class", "width_m", "sure"
# Usual width of a carriageway by class, in meters, where neither width nor lanes are mapped.
_USUAL_WIDTH_M = {
    "motorway": 11.0, "trunk": 9.0, "primary": 9.0, "secondary": 8.0, "tertiary": 7.0, "unclassified": 5.5,
    "residential": 6.0, "living_street": 5.0, "service": 4.0, "track": 3.0, "road": 6.0, "busway": 4.0, "raceway": 9.0,
}  # fmt: skip
# Ways that look like roads in some images, and roads that are not there yet.
_UNSURE = ("pedestrian", "footway", "path", "cycleway", "bridleway", "steps", "construction")
_WIDTH_M = {**_USUAL_WIDTH_M, **dict.fromkeys(_UNSURE, 3.0)}
_LANE_M, _MAX_WIDTH_M = 3.25, 100.0


def is_osm_file(path: str) -> bool:
    """Whether a layer is read from a file in a format of OpenStreetMap, where everything was mapped."""
    return Path(QGIS_PART.split(path)[0]).suffix.lower() in (".osm", ".pbf")


def looks_like_extract(layer: geopandas.GeoDataFrame) -> bool:
    """Whether a layer has identifiers of OpenStreetMap and its tag highway; layers that people drew in may, too."""
    has_highway = "highway" in layer or (NESTED_TAGS in layer and (tag_values(layer, "highway") != "").any())
    return has_highway and any(name in layer for name in _IDENTIFIERS)


def is_mapped(layer: geopandas.GeoDataFrame) -> pandas.Series:
    """Return which features come from OpenStreetMap, (features,), bool: one without an identifier was drawn.

    All do in a layer without a column of identifiers.
    """
    names = [name for name in _IDENTIFIERS if name in layer]
    found = [layer[name].notna() & (layer[name].astype(str).str.strip() != "") for name in names]
    return pandas.concat(found, axis=1).any(axis=1) if found else pandas.Series(True, index=layer.index)


def tag_values(layer: geopandas.GeoDataFrame, key: str) -> pandas.Series:
    """Return the values of a tag, as texts; empty where there is none."""
    if key in layer:
        values = layer[key].astype(object)
        return values.where(values.notna(), "").astype(str)
    if OTHER_TAGS in layer:
        return layer[OTHER_TAGS].fillna("").map(lambda text: dict(_TAG.findall(text)).get(key, ""))
    if NESTED_TAGS in layer:
        return layer[NESTED_TAGS].map(lambda tags: str(_object(tags).get(key, "")))
    return pandas.Series("", index=layer.index)


def _object(value: object) -> dict[str, Any]:
    """Return an object of JSON, which pyogrio may have left as a text; empty where it is none."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = parse(value)
    return value if isinstance(value, dict) else {}


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
    kind = tag_values(layer, "highway").str.strip().str.removesuffix("_link")
    is_drawn = ~is_mapped(layer)
    is_road = ~is_drawn & (shapely.get_dimensions(layer.geometry.to_numpy()) == 1) & kind.isin(_WIDTH_M)
    mapped, drawn = int(is_road.sum()), int(is_drawn.sum())
    if not mapped + drawn:
        raise LayerError(
            f"The drawn roads ({path}) are an extract of OpenStreetMap without any road (highway) in the area of the "
            "images.",
            "Give an extract that covers the images.",
        )
    is_kept, features = is_road | is_drawn, len(layer)
    layer, kind, is_drawn = (each[is_kept].reset_index(drop=True) for each in (layer, kind, is_drawn))
    tags = {name: tag_values(layer, name) for name in named if name and name not in layer}
    fields = {name: values for name, values in tags.items() if (values != "").any()} | _fields(layer, kind, is_drawn)
    roads = layer.assign(**{name: fields[name] for name in fields if not (name in named and name in layer)})
    has_width = options.width_field or options.width_m != type(options).width_m
    of_tags = ([] if has_width else ["widths"]) + (
        [] if options.sure_field else ["which roads cannot be seen and are ignored"]
    )
    reporter.log(
        f"The drawn roads ({path}) are read as an extract of OpenStreetMap: {mapped:,} roads by their tag highway"
        + (f", {drawn:,} drawn ones without an identifier" if drawn else "")
        + (f"; the tags say {' and '.join(of_tags)}." if of_tags else ".")
    )
    if features > mapped + drawn:
        tell = reporter.log if is_osm_file(path) else reporter.warning
        tell(
            f"{features - mapped - drawn:,} of {features:,} features of the drawn roads ({path}) are left out: they "
            "have an identifier of OpenStreetMap but are not lines with a road's highway tag. If some of them are "
            "roads, empty their identifier."
        )
    width_field = options.width_field if has_width else WIDTH_FIELD
    return roads, replace(options, width_field=width_field, sure_field=options.sure_field or SURE_FIELD)


def _fields(roads: geopandas.GeoDataFrame, kind: pandas.Series, is_drawn: pandas.Series) -> dict[str, pandas.Series]:
    is_hidden = ~tag_values(roads, "tunnel").isin(["", "no"]) | ~tag_values(roads, "covered").isin(["", "no"])
    lanes, width_m = numbers_in(tag_values(roads, "lanes")), numbers_in(tag_values(roads, "width"), METERS)
    width_m = pandas.Series(np.where(np.isnan(width_m), lanes * _LANE_M, width_m), index=roads.index)
    return {
        CLASS_FIELD: kind,
        WIDTH_FIELD: width_m.where(width_m.between(1, _MAX_WIDTH_M)).fillna(kind.map(_WIDTH_M)).mask(is_drawn),
        SURE_FIELD: is_drawn | (~kind.isin(_UNSURE) & ~is_hidden),
    }
