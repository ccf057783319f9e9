"""Roads of an extract of OpenStreetMap as its database has them: ways with ids, versions and tags, and their nodes.

Scope: files in .osm and .osm.pbf. GDAL, which reads extracts as layers, gives neither nodes nor versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LayerError
from ..geodata.osm_layers import has_edits
from ..geodata.parallel_arrays import offsets_of
from ..geodata.sources import require_openable
from .osm_file import ENDINGS, PLACE_DIGITS, require_osmium

PURPOSE = "extract of OpenStreetMap"
# About a hundred meters.
_MARGIN_DEG = 0.001
# Longitude and latitude in the units of the database.
Place = tuple[float, float]
_REMEDY = "Download the area from OpenStreetMap again, and run Compare road networks with that."
_NOWHERE = (float("nan"), float("nan"))


@dataclass(frozen=True)
class Extract:
    """Ways with the key `highway`: way i has the refs from `offsets[i]` to before `offsets[i + 1]`."""

    ids: np.ndarray  # (m,) int64
    versions: np.ndarray  # (m,) int64, from 1
    tags: list[dict[str, str]]
    refs: np.ndarray  # (p,) int64: ids of nodes
    places: np.ndarray  # (p, 2) float64: their longitude and latitude in degrees, NaN where the file lacks the node
    offsets: np.ndarray  # (m + 1,) int64


def read_extract(path: str, around: np.ndarray) -> Extract:
    """Return the roads of an extract near the box around places: (n, 2) float64 longitude and latitude in degrees.

    Raises
    ------
    LayerError
        The file is no extract, or cannot be read; it has new objects, or other edits; its ways have no versions, or it
        has one twice, as the history of ways does; or no road is there.
    OutputError
        The runtime cannot read it.
    """
    name = f"The {PURPOSE} ({path})"
    if not path.lower().endswith(ENDINGS):
        raise LayerError(
            f"{name} is not in a format of OpenStreetMap.", f"Its name must end in {' or '.join(ENDINGS)}."
        )
    require_openable(path, name, LayerError)
    require_osmium(path)
    ids, versions, tags, refs, places, counts = [], [], [], [], [], []
    for way, nodes in _ways(path, around, name):
        ids.append(way.id)
        versions.append(way.version)
        tags.append({tag.k: tag.v for tag in way.tags})
        refs += [node.ref for node in way.nodes]
        places += nodes
        counts.append(len(nodes))
    if has_edits(path) or min(ids, default=1) < 1 or min(refs, default=1) < 1:
        raise LayerError(
            f"{name} has objects that are not in OpenStreetMap in this form: new objects with ids below 1, or edits "
            "that are not uploaded.",
            _REMEDY,
        )
    if min(versions, default=1) < 1:
        raise LayerError(
            f"{name} has {versions.count(0):,} ways without a version: it was made without metadata, or its objects "
            "and their ids are not those of OpenStreetMap, as in files that RoadSeg exports.",
            f"{_REMEDY} In Overpass, ask for the metadata (out meta).",
        )
    if len(set(ids)) < len(ids):
        raise LayerError(f"{name} has a way more than once.", "Give an extract of the present, without its history.")
    if not ids:
        raise LayerError(
            f"{name} has no road in the area of the new roads.",
            "Give the extract of this area; its nodes must come before its ways, as osmium sort puts them.",
        )
    return Extract(
        np.array(ids, dtype=np.int64),
        np.array(versions, dtype=np.int64),
        tags,
        np.array(refs, dtype=np.int64),
        np.array(places, dtype=np.float64) / 10**PLACE_DIGITS,
        offsets_of(np.array(counts)),
    )


def _ways(path: str, around: np.ndarray, name: str) -> Iterator[tuple[Any, list[Place]]]:
    """Yield roads near places, each valid until the next one, with the places of their nodes; see `read_extract`."""
    import osmium

    west, south = (around.min(axis=0) - _MARGIN_DEG) * 10**PLACE_DIGITS
    east, north = (around.max(axis=0) + _MARGIN_DEG) * 10**PLACE_DIGITS
    try:
        ways: Any = osmium.FileProcessor(path, osmium.osm.NODE | osmium.osm.WAY).with_locations()
        ways.with_filter(osmium.filter.EntityFilter(osmium.osm.WAY)).with_filter(osmium.filter.KeyFilter("highway"))
        for way in ways:
            nodes = [(node.x, node.y) if node.location.valid() else _NOWHERE for node in way.nodes]
            known = [node for node in nodes if node is not _NOWHERE]
            if not known:
                continue
            xs, ys = zip(*known)
            if max(xs) >= west and min(xs) <= east and max(ys) >= south and min(ys) <= north:
                yield way, nodes
    except (RuntimeError, ValueError, osmium.InvalidLocationError) as error:  # also UnicodeDecodeError
        raise LayerError(f"{name} cannot be read: {str(error).rstrip('.')}.", "Download it again.") from error
