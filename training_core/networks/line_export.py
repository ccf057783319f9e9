"""A layer of road lines as a routable network.

Scope: fields of the layer for class, speed and one-way streets. Independent of the graph's format (`osmnx_graph`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import geopandas
import numpy as np
import pandas
import pyproj

from ..errors import LabelError
from ..events import Reporter
from ..geodata.road_classes import OTHER_KMH, usual_kmh
from ..geodata.vectors import carried_fields, require_fields
from ..jobs import METERS_PER_SECOND, ExportNetwork
from .cleaning import component_lengths
from .graph import select_edges
from .lines import LineFields, Lines, lines_in, shared_plane
from .network_tables import TRAVEL_TIME, to_tables
from .noding import node_lines
from .osmnx_graph import AGAINST, ALONG, BOTH, PLACE_DIGITS, RESERVED, Routable, to_routable

PURPOSE = "lines to export"
_GEOGRAPHIC = "EPSG:4326"
# Where a layer from OpenStreetMap, or from RoadSeg, has the class of a road.
_CLASS_FIELD = "highway"
# True of a whole line, and not of its parts.
_RECOMPUTED = {"length_m", TRAVEL_TIME, "component"}
# Values of a one-way field: OpenStreetMap has yes, no and -1, SpaceNet 1 for one way and 2 for both.
_DIRECTIONS = {
    **dict.fromkeys(("yes", "true", "1"), ALONG),
    **dict.fromkeys(("-1", "reverse"), AGAINST),
    **dict.fromkeys(("no", "false", "0", "2", ""), BOTH),
}


def line_fields(job: ExportNetwork) -> LineFields:
    """Return the fields of the lines that a job names."""
    return LineFields(job.lines_bridge_field, job.lines_speed_field, job.speed_unit)


def export_layer(
    layer: geopandas.GeoDataFrame, job: ExportNetwork, reporter: Reporter
) -> tuple[Routable, dict[str, Any]]:
    """Return the routable network of a layer's lines in any CRS, and its nodes, edges, length and components by name.

    The job's paths are only used in errors.

    Raises
    ------
    LabelError
        A field is missing or has an unknown value, or the lines have no length or are too far apart for one plane.
    """
    class_field = job.lines_class_field or (_CLASS_FIELD if _CLASS_FIELD in layer.columns else "")
    require_fields(layer, (class_field, job.lines_oneway_field), job.lines, PURPOSE)
    plane = shared_plane(layer, of=job.lines)
    lines = lines_in(plane, layer, line_fields(job))
    speed_kmh = _speeds_kmh(lines, layer[class_field] if class_field else None, job, reporter)
    directions = _directions(layer, job, reporter)
    reporter.progress(0, "Splitting lines where they meet")
    graph, line = node_lines(lines, job.join_m, f"{PURPOSE} ({job.lines})")
    graph = replace(graph, origin=line)
    if not len(graph.edges):
        raise LabelError(f"The {PURPOSE} ({job.lines}) have no length.", "Choose another layer.")
    if job.keep == "longest":
        graph = select_edges(graph, graph.edge_component == component_lengths(graph).argmax())
    reporter.check_cancelled()
    reporter.progress(0.7, "Measuring roads")
    to_geographic = pyproj.Transformer.from_crs(plane, _GEOGRAPHIC, always_xy=True)

    def place(points: np.ndarray) -> np.ndarray:
        return np.round(np.column_stack(to_geographic.transform(*points.T)), PLACE_DIGITS)

    tables = to_tables(graph, place, _GEOGRAPHIC, {})
    feature = lines.feature[graph.origin]
    columns = {"osmid": feature + 1, **_columns(layer, feature, class_field)}
    roads = _measured(tables.roads, columns, None if speed_kmh is None else speed_kmh[graph.origin])
    network = to_routable(place(graph.nodes), graph.edges, roads, directions[feature])
    numbers = {name: tables.numbers[name] for name in ("length_m", "components")}
    return network, {"nodes": len(network.nodes), "edges": len(network.edges), **numbers}


def _measured(
    roads: geopandas.GeoDataFrame, columns: dict[str, Any], speed_kmh: Optional[np.ndarray]
) -> geopandas.GeoDataFrame:
    """Return the shapes of roads with some columns, and OSMnx' columns for length, speed and travel time."""
    length_m = roads["length_m"].to_numpy()
    columns = {**columns, "length": length_m}
    if speed_kmh is not None:
        times_s = length_m / (speed_kmh * METERS_PER_SECOND["km/h"])
        columns = {**columns, "speed_kph": speed_kmh, "travel_time": times_s}
    return geopandas.GeoDataFrame(columns, geometry=roads.geometry)


def _columns(layer: geopandas.GeoDataFrame, feature: np.ndarray, class_field: str) -> dict[str, Any]:
    """Return the columns of the edges from a layer's fields: the class, and all that are not reserved."""
    taken = carried_fields(layer, {*RESERVED, *_RECOMPUTED, _CLASS_FIELD})
    columns = {}
    for name, source in {**({_CLASS_FIELD: class_field} if class_field else {}), **taken}.items():
        values = layer[source].iloc[feature].reset_index(drop=True)
        is_plain = pandas.api.types.is_numeric_dtype(values) and source != class_field
        columns[name] = values if is_plain else values.map(str, na_action="ignore")
    return columns


def _speeds_kmh(
    lines: Lines, names: Optional[pandas.Series], job: ExportNetwork, reporter: Reporter
) -> Optional[np.ndarray]:
    """Return the speed of each line, (n,), float64, or None without a speed field and a class field.

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
        reporter.log(f"{missing} of {len(lines)} lines have no speed: that of their class, or the median, is used.")
    return np.where(np.isfinite(own), own, np.where(np.isfinite(usual), usual, rest))


def _directions(layer: geopandas.GeoDataFrame, job: ExportNetwork, reporter: Reporter) -> np.ndarray:
    """Return the allowed directions of each feature: (n,), int64, BOTH, ALONG or AGAINST."""
    if not job.lines_oneway_field:
        if "oneway" in layer.columns:
            reporter.warning("The lines have a field 'oneway', but no one-way field is chosen: all roads are two-way.")
        return np.full(len(layer), BOTH)
    values = layer[job.lines_oneway_field]
    words = ["" if pandas.isna(value) else str(value).strip().lower() for value in values]
    words = [word.removesuffix(".0") for word in words]  # as whole numbers are read where others are missing
    unknown = sorted(set(words) - set(_DIRECTIONS))
    if unknown:
        raise LabelError(
            f"The one-way field {job.lines_oneway_field!r} of the {PURPOSE} ({job.lines}) has the unknown value "
            f"{unknown[0]!r}.",
            f"Known values are {', '.join(filter(None, _DIRECTIONS))}, and empty.",
        )
    return np.array([_DIRECTIONS[word] for word in words], dtype=np.int64)
