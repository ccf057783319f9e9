"""Edits in files of OpenStreetMap that are not uploaded yet, as editors mark them in XML.

Scope: the attribute `action` of https://wiki.openstreetmap.org/wiki/JOSM_file_format, which neither GDAL nor osmium
reads, and negative ids, which new objects have. Independent of what objects mean.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator

import pandas

_XML = ".osm"
# The beginnings of objects, as far as their attributes go, in which no < can stand.
_EDITED = re.compile(rb"<(?:node|way|relation)\s(?:[^<>]*?\s)?(?:id=[\"']-|action=[\"'](?:modify|delete))")
_DELETED_WAY = re.compile(rb"<way\s(?:[^<>]*?\s)?(?:action=[\"']delete|visible=[\"']false)[\"'][^<>]*>")
_ID = re.compile(rb"\sid=[\"'](-?\d+)[\"']")


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
