"""The job cleannetwork: a layer of road lines from any source, cleaned to a topologically sound network.

Scope: the order of the steps, how fields are carried over to the parts of lines, and the tags of known bridges.
Independent of rasters.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Optional

import geopandas
import numpy as np
import pandas
import pyproj
import shapely

from ..events import Reporter
from ..geodata.antimeridian import middle_of, settled
from ..geodata.fields import numbers_in
from ..geodata.osm_layers import are_bridges, is_extract
from ..geodata.parallel_arrays import concatenated
from ..geodata.vectors import carried_fields
from ..jobs import CleanNetwork
from ..jobs.fields import word_in
from ..networks.cleaning import drop_short_components, prune_spurs, simplify
from ..networks.gaps import join_gaps, snap_ends
from ..networks.graph import Graph, join_chains, reversed_edges
from ..networks.junctions import consolidate_junctions
from ..networks.lines import BOTH, CLOSED, LineFields, Lines, directions_of, lines_in, read_line_layer, shared_plane
from ..networks.network_tables import SPEED, TRAVEL_TIME, Network, layer_paths, to_tables, write_network
from ..networks.noding import lay_bridges, node_lines
from ..networks.surroundings import Surroundings
from ..system.outputs import Outputs

_PURPOSE = "lines to clean"
# Columns that are computed.
_RECOMPUTED = {"length_m", "component"}
# The field of one-way roads in OpenStreetMap, and in what RoadSeg extracts.
_ONE_WAY = "oneway"
# The words for two-way roads in fields whose word for one-way roads is not yes.
_BOTH_WAYS = {"f": "B", "t": "B", "ft": "", "tf": ""}
_BRIDGE_TAGS = {"bridge": "yes", "layer": "1"}


def run(job: CleanNetwork, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.CleanNetwork`."""
    with Outputs(inputs=[job.lines, job.bridges]) as outputs:
        paths, staged = outputs.stage_fields(job, *layer_paths(job))
        reporter.progress(0, "Reading")
        layer = read_line_layer(job.lines, _PURPOSE, LineFields(bridge=job.lines_bridge_field), reporter)
        bridges = read_bridges(job.bridges, reporter) if job.bridges else None
        cleaned = clean_layer(layer, job, reporter.part(0.1, 0.9), bridges)
        reporter.progress(0.9, "Writing")
        numbers = write_network(cleaned, staged)
    return {**paths, **numbers}


def read_bridges(path: str, reporter: Reporter) -> geopandas.GeoDataFrame:
    """Return a layer of bridges in its own CRS: all of its lines, or those that a field `bridge` or `layer` marks.

    A line is marked by a bridge, or by a layer above 0 where the table has no field `bridge`; a field `layer` with
    texts, such as names of merged layers, marks none. Of an extract of OpenStreetMap only roads are bridges, and none
    of them without such a tag. How many are marked is told. Raises LayerError as `lines.read_line_layer` does.
    """
    layer = read_line_layer(path, "bridges", LineFields(), reporter)
    if "bridge" in layer.columns or ("layer" not in layer.columns and is_extract(layer)):
        field, is_marked = "bridge", are_bridges(layer)
    elif "layer" in layer.columns:
        # Texts that are no numbers are names of layers that QGIS has merged.
        values, levels = layer["layer"], numbers_in(layer["layer"])
        if any(str(value).strip() for value in values[np.isnan(levels) & values.notna()]):
            return layer
        field, is_marked = "layer", levels > 0
    else:
        return layer
    tell = reporter.warning if len(layer) and not is_marked.any() else reporter.log
    tell(
        f"{is_marked.sum():,} of {len(layer):,} lines of the bridges ({path}) are marked as bridges by the "
        f"field {field!r}."
    )
    return layer[is_marked]


def clean_layer(
    layer: geopandas.GeoDataFrame,
    job: CleanNetwork,
    reporter: Reporter,
    bridges: Optional[geopandas.GeoDataFrame] = None,
) -> Network:
    """Return the clean network of a layer's lines, in the layer's CRS; paths in the job are not read.

    A part of a line has the line's fields and direction. Where two one-way lines lie on each other, one is kept, as a
    two-way road. Roads on `bridges` have OpenStreetMap's tags of a bridge. Raises LayerError if the lines are too far
    apart for one plane.
    """
    plane = shared_plane(layer, of=job.lines)
    lines = lines_in(plane, layer, LineFields(bridge=job.lines_bridge_field))
    laid = None
    if bridges is not None:
        lines, laid = _with_bridges(lines, bridges, plane, job, reporter)
    one_way = next((str(name) for name in layer.columns if str(name).lower() == _ONE_WAY), "")
    if one_way:
        direction = directions_of(layer[one_way], f"the field {one_way!r} of the {_PURPOSE}", reporter)
        lines = replace(lines, direction=np.where(direction == CLOSED, BOTH, direction)[lines.feature])
    graph = clean_lines(lines, job, reporter)
    origin = np.asarray(graph.origin, dtype=np.int64)
    is_two_way, line = origin >= len(lines), origin % max(len(lines), 1)
    to_map = pyproj.Transformer.from_crs(plane, layer.crs, always_xy=True)
    recomputed = _RECOMPUTED | ({TRAVEL_TIME} if SPEED in layer.columns else set())
    rows = layer.iloc[lines.feature[line]]
    columns = {name: rows[field].array for name, field in carried_fields(layer, recomputed, reporter).items()}
    if is_two_way.any():
        columns[one_way] = _opened(rows[one_way].reset_index(drop=True), is_two_way)
        reporter.log(f"{is_two_way.sum():,} roads, drawn once for each direction, are two-way now ({one_way}).")
    cleaned = to_tables(
        graph,
        lambda points: np.column_stack(to_map.transform(*points.T)),
        layer.crs,
        columns if laid is None else _tagged(columns, laid[line]),
    )
    cleaned = Network(*(settled(table, middle_of(layer)) for table in (cleaned.roads, cleaned.nodes)))
    if not len(cleaned.roads):
        reporter.warning("No lines are left: the network is empty.")
    reporter.progress(1, f"{len(cleaned.roads)} roads")
    return cleaned


def _with_bridges(
    lines: Lines, bridges: geopandas.GeoDataFrame, plane: pyproj.CRS, job: CleanNetwork, reporter: Reporter
) -> tuple[Lines, np.ndarray]:
    """Return the lines with bridges laid over them, and which of them are these bridges: (n,) bool."""
    shapes = lines_in(plane, bridges, LineFields()).shapes
    laid, is_laid = lay_bridges(lines, shapes)
    if not is_laid.all():
        reporter.warning(
            f"No line runs along {(~is_laid).sum():,} of {len(shapes):,} bridges ({job.bridges}). These bridges are "
            "left out."
        )
    return laid, np.arange(len(laid)) >= len(laid) - is_laid.sum()


def _tagged(columns: dict[str, Any], is_bridge: np.ndarray) -> dict[str, Any]:
    """Return the columns of roads with tags of OpenStreetMap on bridges, as text: `bridge` and `layer`."""
    spelled = {name.lower(): name for name in columns}
    tagged = dict(columns)
    for tag, value in _BRIDGE_TAGS.items():
        name = spelled.get(tag, tag)
        held = columns.get(name, np.full(len(is_bridge), None))
        texts = [None if pandas.isna(each) else str(each) for each in held]
        tagged[name] = np.where(is_bridge, value, np.array(texts, dtype=object))
    return tagged


def _opened(values: pandas.Series, is_two_way: np.ndarray) -> pandas.Series:
    """Return the values of a one-way field with those of two-way roads, (n,) bool, in the words of the field."""
    own = values[is_two_way].iloc[0]
    both = _BOTH_WAYS.get(word_in(own), "no") if isinstance(own, str) else type(own)(0)
    return values.where(~is_two_way, both)


def clean_lines(lines: Lines, job: CleanNetwork, reporter: Reporter) -> Graph:
    """Return the clean graph of lines in a plane of meters; the origin of an edge is the line that it is part of.

    Where a one-way line lies on another one in the other direction, the edge is open in both: its origin is the number
    of the line plus that of all lines.
    """
    twice = concatenated(lines, lines)
    is_two_way = np.arange(len(twice)) >= len(lines)
    surroundings = Surroundings(is_bridge=lambda graph: twice.bridge[graph.origin])
    join = partial(_join, 2 * is_two_way + twice.bridge if job.join_lines else np.arange(len(twice)))
    reporter.step(0, "Splitting lines where they meet")
    graph, direction = node_lines(lines, job.join_m, f"{_PURPOSE} ({job.lines})")
    line = np.asarray(graph.origin)
    graph = join(replace(graph, origin=np.where(direction == lines.direction[line], line, len(lines) + line)))
    reporter.step(0.4, "Cleaning the network")
    graph = prune_spurs(graph, job.spur_m, surroundings, join)
    graph = join_gaps(graph, job.gap_m, job.gap_angle, surroundings)
    reporter.step(0.6, "Looking for missed junctions")
    graph = prune_spurs(join(snap_ends(graph, job.snap_m, surroundings)), job.spur_m, surroundings, join)
    reporter.step(0.8, "Merging junctions")
    graph = join(consolidate_junctions(graph, job.junction_m))
    graph = drop_short_components(graph, job.min_length_m)
    return _run_as_drawn(simplify(graph, job.simplify_m), twice)


def _join(kind: np.ndarray, graph: Graph) -> Graph:
    """Return the graph with edges joined at nodes of degree 2 where their origins are of one kind."""
    kinds = np.repeat(kind[graph.origin].astype(np.int64), 2)
    least, most = np.full(len(graph.nodes), kind.max(initial=0)), np.full(len(graph.nodes), -1)
    np.minimum.at(least, graph.edges.ravel(), kinds)
    np.maximum.at(most, graph.edges.ravel(), kinds)
    return join_chains(graph, least < most)


def _run_as_drawn(graph: Graph, lines: Lines) -> Graph:
    """Return the graph with each edge in the direction of the line that it is a part of."""
    drawn = lines.shapes[graph.origin]
    first, second = (
        shapely.line_locate_point(drawn, shapely.line_interpolate_point(graph.shapes(), fraction, normalized=True))
        for fraction in (0.25, 0.75)
    )
    return reversed_edges(graph, second < first)
