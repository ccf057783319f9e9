"""A layer of road lines as a routable network for OSMnx and networkx: tables of nodes and edges, and GraphML.

Scope: fields of the layer for class, speed and one-way streets; names and types of attributes that both read. The
format is that of Boeing, "OSMnx: New methods for acquiring, constructing, analyzing, and visualizing complex street
networks", Computers, Environment and Urban Systems 65 (2017), and of its module `io`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

import geopandas
import networkx
import numpy as np
import pandas
import pyproj
import shapely

from ..errors import LayerError
from ..events import Reporter
from ..geodata.antimeridian import cut_at_antimeridian
from ..geodata.fields import DAY
from ..geodata.parallel_arrays import selected
from ..geodata.road_classes import OTHER_KMH, usual_kmh
from ..geodata.vectors import carried_fields, require_fields
from ..jobs import METERS_PER_SECOND, ExportNetwork
from ..system.machine import roadseg_version
from .cleaning import component_lengths
from .graph import select_edges
from .lines import (
    AGAINST,
    ALONG,
    BOTH,
    CLOSED,
    LineFields,
    Lines,
    as_in_file,
    directions_of,
    drawn_places,
    lines_in,
    shared_plane,
)
from .network_tables import TRAVEL_TIME, geodesic_lengths
from .noding import node_lines

PURPOSE = "lines to export"
# Names of columns of the network, or that OSMnx would misread. A layer's fields of these names get a number.
RESERVED = frozenset(("osmid", "oneway", "u", "v", "key", "from", "to", "bearing", "grade", "grade_abs"))
# Decimals of degrees, a tenth of a millimeter, for nodes and for the lines that meet there.
PLACE_DIGITS = 9
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_GEOGRAPHIC = "EPSG:4326"
# Where a layer from OpenStreetMap, or from RoadSeg, has the class of a road.
_CLASS_FIELD = "highway"
# True of a whole line, and not of its parts; and computed columns.
_RECOMPUTED = {"length_m", TRAVEL_TIME, "component", "reversed", "length", "speed_kph", "travel_time"}


def line_fields(job: ExportNetwork) -> LineFields:
    """Return the fields of the lines that a job names."""
    return LineFields(job.lines_bridge_field, job.lines_speed_field, job.speed_unit)


def export_layer(
    layer: geopandas.GeoDataFrame, job: ExportNetwork, reporter: Reporter
) -> tuple[Routable, dict[str, Any]]:
    """Return the routable network of a layer's lines in any CRS, and its nodes, edges, length and components by name.

    The job's paths are only used in errors. Raises LayerError if a field is missing or has an unknown value, or the
    lines have no length or are too far apart for one plane.
    """
    class_field = job.lines_class_field
    if not class_field and _CLASS_FIELD in layer.columns:
        class_field = _CLASS_FIELD
        reporter.log(f"No class field is chosen: the classes are taken from the field {class_field!r}.")
    require_fields(layer, (class_field, job.lines_oneway_field), job.lines, PURPOSE)
    plane = shared_plane(layer, of=job.lines)
    lines = lines_in(plane, layer, line_fields(job))
    speed_kmh = _speeds_kmh(lines, layer.get(class_field), job, reporter)
    lines = replace(lines, direction=_directions(layer, job, reporter)[lines.feature])
    is_open = lines.direction != CLOSED
    if not is_open.all():
        reporter.warning(f"{(~is_open).sum():,} of {len(lines):,} lines are closed to traffic (N). They are left out.")
        lines, speed_kmh = selected(lines, is_open), None if speed_kmh is None else speed_kmh[is_open]
    reporter.progress(0, "Splitting lines where they meet")
    graph, direction = node_lines(lines, job.join_m, f"{PURPOSE} ({job.lines})")
    if len(layer) and not len(graph.edges):
        raise LayerError(f"No line of the {PURPOSE} ({job.lines}) is open and has a length.", "Choose another layer.")
    if layer.empty:
        reporter.warning(f"The {PURPOSE} ({job.lines}) have no features: the network is empty.")
    elif job.keep == "longest":
        kept = graph.edge_component == component_lengths(graph).argmax()
        graph, direction = select_edges(graph, kept), direction[kept]
    line = np.asarray(graph.origin)
    reporter.step(0.7, "Measuring roads")
    to_geographic = pyproj.Transformer.from_crs(plane, _GEOGRAPHIC, always_xy=True)

    def place(points: np.ndarray) -> np.ndarray:
        return np.round(np.column_stack(to_geographic.transform(*points.T)), PLACE_DIGITS)

    shapes = shapely.transform(as_in_file(graph.shapes(), drawn_places(layer, plane)), place)
    feature = lines.feature[line]
    # OSMnx' columns for length, speed and travel time come last.
    length_m = geodesic_lengths(graph, place(graph.points), _GEOGRAPHIC)
    columns = {"osmid": feature + 1, **_columns(layer, feature, class_field, job, reporter), "length": length_m}
    if speed_kmh is not None:
        times_s = length_m / (speed_kmh[line] * METERS_PER_SECOND["km/h"])
        columns |= {"speed_kph": speed_kmh[line], "travel_time": times_s}
    roads = geopandas.GeoDataFrame(columns, geometry=shapes, crs=_GEOGRAPHIC)
    network = to_routable(place(graph.nodes), graph.edges, roads, direction)
    numbers = {"length_m": float(length_m.sum()), "components": int(graph.component.max(initial=-1)) + 1}
    return network, {"nodes": len(network.nodes), "edges": len(network.edges), **numbers}


def _columns(
    layer: geopandas.GeoDataFrame, feature: np.ndarray, class_field: str, job: ExportNetwork, reporter: Reporter
) -> dict[str, Any]:
    """Return the columns of the edges from a layer's fields: the class, and all that are not computed anew."""
    made = {*_RECOMPUTED, job.lines_oneway_field.lower(), *([_CLASS_FIELD] if class_field == _CLASS_FIELD else [])}
    taken = carried_fields(layer, made - {""}, reporter, {*RESERVED, _CLASS_FIELD})
    columns = {}
    for name, source in {**({_CLASS_FIELD: class_field} if class_field in layer.columns else {}), **taken}.items():
        values = layer[source].iloc[feature].reset_index(drop=True)
        types = pandas.api.types
        is_plain = types.is_numeric_dtype(values) or types.infer_dtype(values).startswith("datetime")
        columns[name] = values if is_plain and source != class_field else values.map(str, na_action="ignore")
    return columns


def _speeds_kmh(
    lines: Lines, names: Optional[pandas.Series], job: ExportNetwork, reporter: Reporter
) -> Optional[np.ndarray]:
    """Return the speed of each line, (n,) float64, or None without a speed field and a class field.

    It is that of the speed field; else the usual one of the line's class; else the median of the speed field.
    """
    if not job.lines_speed_field and names is None:
        reporter.log("There is no field for speed or road class: edges have lengths, but no travel times.")
        return None
    own = lines.speed_mps / METERS_PER_SECOND["km/h"]
    usual = np.full(len(lines), np.nan)
    if names is not None:
        of_feature = [np.nan if pandas.isna(name) else usual_kmh(str(name)) for name in names]
        usual = np.array(of_feature)[lines.feature]
    rest = np.median(own[np.isfinite(own)]) if np.isfinite(own).any() else OTHER_KMH
    missing = int((~np.isfinite(own)).sum())
    if missing:
        reporter.log(
            f"{missing} of {len(lines)} lines have no speed. They get the usual speed of their class, or the median."
        )
    return np.where(np.isfinite(own), own, np.where(np.isfinite(usual), usual, rest))


def _directions(layer: geopandas.GeoDataFrame, job: ExportNetwork, reporter: Reporter) -> np.ndarray:
    """Return the allowed directions of each feature, (n,) int64; see `directions_of`."""
    if not job.lines_oneway_field:
        if "oneway" in layer.columns:
            reporter.warning("The lines have a field 'oneway', but no one-way field is chosen: all roads are two-way.")
        return np.full(len(layer), BOTH)
    values = layer.get(job.lines_oneway_field, pandas.Series(dtype=object))  # which an empty layer may lack
    return directions_of(values, f"the one-way field {job.lines_oneway_field!r} of the {PURPOSE}", reporter)


@dataclass(frozen=True)
class Routable:
    """A routable network: a directed multigraph as tables.

    Nodes are points in longitude and latitude with `osmid`, `x`, `y` and the number of roads that end there,
    `street_count`. Edges are lines from node `u` to node `v`. `key` is their number among these and `osmid` the number
    of the feature of each. `length` is in meters. `oneway` and `reversed` are bool; the second is True for the opposite
    direction of a two-way road. There may be `speed_kph`, `travel_time` in seconds and other columns.
    """

    nodes: geopandas.GeoDataFrame
    edges: geopandas.GeoDataFrame


def to_routable(
    places: np.ndarray, ends: np.ndarray, roads: geopandas.GeoDataFrame, directions: np.ndarray
) -> Routable:
    """Return a network with an edge for each allowed direction of each road.

    The (n, 2) float64 `places` are the nodes' longitude and latitude. The (m, 2) int64 `ends` are the nodes where each
    road begins and ends as drawn. `roads` are lines in longitude and latitude with the columns of the edges. The (m,)
    int64 `directions` are BOTH, ALONG or AGAINST as drawn.
    """
    # An edge for each direction in which a road is open, ordered by its nodes; those against it are reversed.
    along, against = np.flatnonzero(directions != AGAINST), np.flatnonzero(directions != ALONG)
    road = np.concatenate([along, against])
    is_back = np.arange(len(road)) >= len(along)
    begin, end = np.where(is_back[:, None], ends[road, ::-1], ends[road]).T + 1
    order = np.lexsort((is_back, road, end, begin))
    road, is_back, begin, end = road[order], is_back[order], begin[order], end[order]
    edges = roads.iloc[road].reset_index(drop=True)
    shapes = edges.geometry.to_numpy()
    edges = edges.set_geometry(np.where(is_back, shapely.reverse(shapes), shapes), crs=roads.crs)
    edges.insert(0, "u", begin)
    edges.insert(1, "v", end)
    edges.insert(2, "key", edges.groupby(["u", "v"]).cumcount())
    edges["oneway"], edges["reversed"] = directions[road] != BOTH, is_back & (directions[road] == BOTH)
    streets = np.bincount(ends.ravel(), minlength=len(places))
    x, y = places.T
    table = {"osmid": np.arange(len(places)) + 1, "x": x, "y": y, "street_count": streets}
    return Routable(geopandas.GeoDataFrame(table, geometry=shapely.points(places), crs=roads.crs), edges)


def write_graphml(network: Routable, path: str | Path) -> None:
    """Write a network as GraphML for `osmnx.load_graphml` and `networkx.read_graphml`.

    All values are text because OSMnx converts numbers by their names; shapes are well-known text.
    """
    attributes = {"crs": "epsg:4326", "simplified": "True", "created_with": f"RoadSeg {roadseg_version()}"}
    graph = networkx.MultiDiGraph(**attributes)
    nodes, edges = network.nodes, network.edges
    graph.add_nodes_from(zip(nodes["osmid"].tolist(), _texts(nodes.drop(columns=["osmid", "geometry"]))))
    lines = shapely.to_wkt(cut_at_antimeridian(edges.geometry.to_numpy()), rounding_precision=PLACE_DIGITS)
    rest = pandas.DataFrame(edges.drop(columns=["u", "v", "key", "geometry"])).assign(geometry=lines)
    graph.add_edges_from(zip(*(edges[name].tolist() for name in ("u", "v", "key")), _texts(rest)))
    networkx.write_graphml(graph, path)


def _texts(table: pandas.DataFrame) -> list[dict[str, str]]:
    """Return the values of each row of a table by column names, without missing ones."""
    rows: list[dict[str, str]] = [{} for _ in range(len(table))]
    for name in table.columns:
        key = _text(name)
        values = table[name].dt.date if table[name].dtype == DAY else table[name]
        for row, value, is_known in zip(rows, values.tolist(), values.notna()):
            if is_known:
                row[key] = _text(value)
    return rows


def _text(value: Any) -> str:
    return NOT_IN_XML.sub("", str(value))
