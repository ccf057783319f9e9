"""OpenStreetMap files, XML or PBF: a routable network is written, with shared nodes and tags; an extract is read.

Scope: numbering, tags and limits of OpenStreetMap's database. Independent of how the network was made; nothing is sent.

All objects that are written are new, so none has a version. In XML, for editors, their ids are negative. In PBF, for
routers, they are positive, since OSRM takes no others; JOSM refuses objects with such an id and without a version. For
the formats see
https://wiki.openstreetmap.org/wiki/JOSM_file_format and https://wiki.openstreetmap.org/wiki/PBF_Format, for the limits
https://wiki.openstreetmap.org/wiki/API_v0.6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import shapely

from ..errors import LayerError, OutputError
from ..geodata.antimeridian import cut_at_antimeridian
from ..geodata.fields import numbers_in
from ..geodata.osm_layers import has_edits, is_bridge
from ..geodata.parallel_arrays import offsets_of
from ..geodata.sources import require_openable
from ..jobs import DOUBTFUL_BELOW
from ..jobs.fields import METERS, NO_UNITS
from ..system.machine import roadseg_version
from .line_export import Routable
from .network_tables import osm_tags

ENDINGS = (".osm", ".osm.pbf")
# By suffix: the formats as libosmium calls them. Editors expect `visible` of each object of an XML file.
_FORMATS = {".osm": "osm,force_visible_flag=true", ".pbf": "pbf"}
# Decimals of degrees that the database stores.
PLACE_DIGITS = 7
MAX_WAY_NODES, MAX_CHARACTERS, MAX_LAYER = 2000, 255, 5
# Values of https://wiki.openstreetmap.org/wiki/Key:bridge and Key:tunnel that a field may hold; others become yes.
_KINDS = frozenset(
    ("aqueduct", "boardwalk", "cantilever", "covered", "low_water_crossing", "movable", "viaduct",
     "avalanche_protector", "building_passage", "culvert")
)  # fmt: skip
# Fields that are tags as they stand.
_TAGS = ("name", "ref", "surface", "lanes", "maxspeed", "source")
# All fields that tags are made of, besides those that the job names.
TAG_FIELDS = ("highway", "width", "width_m", "layer", "tunnel", *_TAGS, "road_probability", "confidence")
# Roads that count as one-way without a tag.
_ONE_WAY_UNLESS_TAGGED = ("motorway", "motorway_link")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Ways:
    """Ways along nodes, which are shared where ways meet."""

    places: np.ndarray  # (n, 2) float64: longitude and latitude of each node in degrees, to `PLACE_DIGITS`
    refs: np.ndarray  # (p,) int64: the nodes of each way, as rows of `places`, way after way
    offsets: np.ndarray  # (m + 1,) int64: way i has the refs from offsets[i] to before offsets[i + 1]
    tags: list[dict[str, str]]  # of each way

    def parts(self) -> Iterator[tuple[list[int], dict[str, str]]]:
        """Yield the nodes and tags of ways; those of more than `MAX_WAY_NODES` in parts that share a node."""
        refs, step = self.refs.tolist(), MAX_WAY_NODES - 1
        for begin, end, tags in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), self.tags):
            for start in range(begin, end - 1, step):
                yield refs[start : min(start + step + 1, end)], tags


def check_osm_output(path: str) -> None:
    """Raise OutputError unless a path ends in a format of OpenStreetMap's."""
    if not path.lower().endswith(ENDINGS):
        raise OutputError(
            f"{path} is not in a format of OpenStreetMap.", f"Give a name that ends in {' or '.join(ENDINGS)}."
        )


def ways_of(network: Routable, bridge_field: str, of: str) -> Ways:
    """Return each road of a network as one way, one-way roads in their direction.

    Vertices that become the same place are dropped, and with them loops shorter than that. `bridge_field` is the field
    of bridges, or empty. `of` names the layer in errors. Raises LayerError if a road crosses the antimeridian, which no
    way may do.
    """
    roads = network.edges[~network.edges["reversed"]]
    shapes = shapely.transform(roads.geometry.to_numpy(), lambda points: np.round(points, PLACE_DIGITS))
    shapes = shapely.remove_repeated_points(shapes)
    is_way = (roads["u"] != roads["v"]).to_numpy() | (shapely.length(shapes) > 0)
    roads, shapes = roads[is_way], shapes[is_way]
    shapes = _beside_antimeridian(shapes, of)
    points, way = shapely.get_coordinates(shapes, return_index=True)
    offsets = offsets_of(np.bincount(way, minlength=len(shapes)))
    # The ends of ways are the nodes of the network, and shared; each vertex between is a node of its own.
    is_shared = np.zeros(len(points), dtype=bool)
    is_shared[offsets[:-1]] = is_shared[offsets[1:] - 1] = True
    refs = np.empty(len(points), dtype=np.int64)
    refs[is_shared] = roads[["u", "v"]].to_numpy().ravel() - 1
    nodes = np.round(network.nodes[["x", "y"]].to_numpy(), PLACE_DIGITS)
    # On the other side of the antimeridian a way ends at a node of its own.
    is_shared[is_shared] = np.abs(points[is_shared, 0] - nodes[refs[is_shared], 0]) < 180
    refs[~is_shared] = len(network.nodes) + np.arange(np.count_nonzero(~is_shared))
    return Ways(np.concatenate([nodes, points[~is_shared]]), refs, offsets, way_tags(roads, bridge_field))


def _beside_antimeridian(shapes: np.ndarray, of: str) -> np.ndarray:
    """Return lines in degrees, (n,) object, each on its side of the antimeridian; raise LayerError if one crosses."""
    cut = cut_at_antimeridian(shapes)
    crossing = int((shapely.get_num_geometries(cut) > 1).sum())
    if crossing:
        raise LayerError(
            f"{crossing:,} lines of {of} cross the antimeridian (180° of longitude), as no way of OpenStreetMap may.",
            "Clip the lines to either side of it, and export each side to a file of its own.",
        )
    return cut


def way_tags(roads: geopandas.GeoDataFrame, bridge_field: str = "") -> list[dict[str, str]]:
    """Return the tags of each road from the columns of `Routable.edges`.

    They are those of `network_tables.osm_tags`, with `width_m` for want of a `width`; fields named as usual tags; and
    `oneway`, `bridge`, `tunnel` and `layer`. Roads that are probably none have a `fixme`.
    """
    width_m = _numbers(roads, "width", METERS).fillna(_numbers(roads, "width_m", METERS))
    classes = roads["highway"].to_numpy() if "highway" in roads else None
    tags: dict[str, Any] = {**osm_tags(width_m.where(width_m > 0).to_numpy(), classes)}
    is_two_way = np.where(np.isin(tags["highway"].astype(str), _ONE_WAY_UNLESS_TAGGED), "no", "")
    tags["oneway"] = np.where(roads["oneway"], "yes", is_two_way)
    for key, field in (("bridge", bridge_field), ("tunnel", "tunnel")):
        if field in roads:
            tags[key] = roads[field].map(_kind).to_numpy()
    layer = _numbers(roads, "layer")  # which may also be a name of another kind of layer
    tags["layer"] = [f"{value:.0f}" if value and value in range(-MAX_LAYER, MAX_LAYER + 1) else "" for value in layer]
    for key in _TAGS:
        if key in roads:
            own = roads[key].map(_text, na_action="ignore").astype(object).fillna("").to_numpy()
            tags[key] = np.where(own != "", own, tags.get(key, ""))
    probability = _numbers(roads, "road_probability").fillna(_numbers(roads, "confidence"))
    doubt = "uncertain road (probability {:.2f}): check it against imagery"
    tags["fixme"] = [doubt.format(value) if value < DOUBTFUL_BELOW else "" for value in probability]
    values = [np.asarray(column, dtype=object).tolist() for column in tags.values()]
    return [{key: value for key, value in zip(tags, row) if value} for row in zip(*values)]


def _numbers(roads: geopandas.GeoDataFrame, name: str, units: Mapping[str, float] = NO_UNITS) -> pandas.Series:
    """Return a column as float64; NaN for what is no number, or without the column."""
    column = roads[name] if name in roads else pandas.Series(np.nan, index=roads.index)
    return pandas.Series(numbers_in(column, units), column.index)


def _text(value: Any) -> str:
    """Return a value as that of a tag: on one line, without control characters, within `MAX_CHARACTERS`."""
    # Whole numbers are floats where others are missing.
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    return " ".join(_UNPRINTABLE.sub(" ", text).split())[:MAX_CHARACTERS].rstrip()


def _kind(value: Any) -> str:
    kind = str(value).strip().lower()
    return (kind if kind in _KINDS else "yes") if is_bridge(value) else ""


def write_osm(ways: Ways, path: str | Path) -> None:
    """Write ways to a file, replacing it: PBF where its suffix is .pbf, XML where it is .osm.

    Objects are in ascending order of their ids, as Valhalla demands. The header asks JOSM to warn before an upload.
    Raises OutputError if there is no room.
    """
    import osmium
    from osmium.osm.mutable import Node, Way

    header = osmium.io.Header()
    header.set("generator", f"RoadSeg {roadseg_version()}")
    header.set("xml_josm_upload", "false")
    suffix, parts = Path(path).suffix.lower(), list(ways.parts())
    node, way = (-len(ways.places), -len(parts)) if suffix == ".osm" else (1, 1)  # the first ids
    file = osmium.io.File(str(path), _FORMATS[suffix])
    writer = osmium.SimpleWriter(file, header=header, overwrite=True)
    try:
        for row, place in enumerate(ways.places.tolist()):
            writer.add_node(Node(id=node + row, visible=True, location=place))
        for row, (refs, tags) in enumerate(parts):
            writer.add_way(Way(id=way + row, visible=True, nodes=[node + ref for ref in refs], tags=tags))
        writer.close()
    except RuntimeError as error:
        _leak(writer)
        raise OutputError(f"{path} could not be written ({error}).", "Make room, or choose another folder.") from error


def _leak(writer: Any) -> None:
    """Keep a writer that has failed forever: where it is destroyed, libosmium writes again, and ends the process."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(writer))


# GDAL, which reads extracts as layers, gives neither nodes nor versions.
EXTRACT = "extract of OpenStreetMap"
# An extract is read around the places asked for, by about a hundred meters.
_MARGIN_DEG = 0.001
# Longitude and latitude in the units of the database.
_Place = tuple[float, float]
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

    Raises LayerError if the file is no extract, or cannot be read; it has new objects, or other edits; its ways have no
    versions, or it has one twice, as the history of ways does; or no road is there.
    """
    name = f"The {EXTRACT} ({path})"
    if not path.lower().endswith(ENDINGS):
        raise LayerError(
            f"{name} is not in a format of OpenStreetMap.", f"Its name must end in {' or '.join(ENDINGS)}."
        )
    require_openable(path, name, LayerError)
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


def _ways(path: str, around: np.ndarray, name: str) -> Iterator[tuple[Any, list[_Place]]]:
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
