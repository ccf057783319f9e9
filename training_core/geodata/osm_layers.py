"""Files of OpenStreetMap as layers: tags in the tables that GDAL reads, and edits that are not uploaded yet.

Tags are columns, in one text, or an object. Edits are the attribute `action` of
https://wiki.openstreetmap.org/wiki/JOSM_file_format, which neither GDAL nor osmium reads, and negative ids of new
objects. Scope: whether a table is an extract, which of its features were mapped, and values of a key. Independent of
what tags mean.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import geopandas
import pandas

from ..jobs.json_fields import parse
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
    found = [
        layer[name].notna() & (layer[name].astype(str).str.strip() != "") for name in _IDENTIFIERS if name in layer
    ]
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
