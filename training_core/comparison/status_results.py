"""What the states of roads mean, as fields of their layer, and in the lists and tables of the report.

Scope: sites and districts as read, tables and words. Independent of how states are found; see `status_network`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import geopandas
import numpy as np
import pandas
import pyproj
import shapely
from shapely.geometry.base import BaseGeometry

from ..errors import LayerError
from ..events import Reporter
from ..geodata.osm_layers import is_extract
from ..jobs import RoadStatus
from ..jobs.fields import word_in
from ..jobs.openstreetmap import ATTRIBUTION
from ..jobs.status import CHECK, CLOSED, DECIDES, DOUBTFUL, LOST_PROBABILITY, PATHS_SHARE, STATE, STATES
from ..networks.graph import Graph
from ..networks.lines import areas_in
from ..networks.noding import node_lines
from ..networks.road_graph import RoadGraph
from .accessibility import (
    CUT_OFF,
    NO_ROAD,
    REACHABLE,
    Points,
    RouteRules,
    check_near,
    counts,
    find_routes,
    read_named,
    read_points,
    to_table,
)
from .road_state import LOST_FRACTION, Stretches
from .routes import snap
from .status_network import find_meaning, network_of, reached_m, ways_of

# Checks that have a number, and rows of a list in the report.
MAX_CHECKS, MAX_ROWS = 20, 20
# A path that grows by more than this is longer.
_LONGER_PERCENT = 10.0
_WGS84 = "EPSG:4326"
# Fields that usually have the name of a road.
_NAMES = ("name", "ref")


@dataclass(frozen=True)
class Asked:
    """The noded graph of the lines, sites, None without any, and polygons of districts by their names, in a plane."""

    graph: Graph
    sites: Optional[Points]
    districts: Mapping[str, BaseGeometry]


def read_asked(job: RoadStatus, roads: RoadGraph, plane: pyproj.CRS, reporter: Reporter) -> Asked:
    """Read sites and districts, and node the lines: what may be refused is so before the images are looked at.

    Raises LayerError if a layer cannot be read, has other geometry or lacks a field; or none of its features lies on a
    known road; or as `node_lines` does.
    """
    graph, _ = node_lines(roads.lines, job.join_m, f"known roads ({job.lines})")
    sites: Optional[Points] = None
    districts: dict[str, BaseGeometry] = {}
    if job.sites:
        sites = read_points({"sites": (job.sites, job.sites_name_field)}, plane, reporter)
        check_near(snap(roads, sites.points, job.place_m), sites, job.place_m, reporter)
    if job.districts:
        layer, names = read_named(job.districts, "districts", job.districts_name_field, "polygons", reporter)
        shapes = areas_in(plane, layer)
        if not shapely.STRtree(roads.lines.shapes).query(shapes, predicate="intersects").size:
            raise LayerError(
                f"No known road ({job.lines}) lies in the districts ({job.districts}).",
                "Choose layers of the same place, and check their coordinate systems.",
            )
        for name, shape in zip(names, shapes):
            districts[name] = shapely.union(districts[name], shape) if name in districts else shape
    return Asked(graph, sites, districts)


@dataclass(frozen=True)
class Results:
    """Fields of the layer of states, (n,) each by name, and the layer of sites with their paths: None without sites."""

    fields: Mapping[str, Any]
    reached: Optional[geopandas.GeoDataFrame]

    @property
    def numbers(self) -> dict[str, Any]:
        """The mean length of road that a site reaches, and the sites by the status of their paths to others."""
        if self.reached is None:
            return {}
        means = {name: float(self.reached[name].mean()) for name in ("reached_before_m", "reached_after_m")}
        return {"paths": {"sites": len(self.reached), **means, **counts(self.reached)}}


def find_results(job: RoadStatus, asked: Asked, roads: RoadGraph, stretches: Stretches, reporter: Reporter) -> Results:
    """Return what stretches of lines, as drawn, mean."""
    network = network_of(asked.graph, roads, stretches.intervals)
    is_closed, is_doubtful = (np.isin(stretches.state.astype(str), states) for states in (CLOSED, DOUBTFUL))
    lost = np.where(np.isnan(stretches.lost_probability), LOST_FRACTION, stretches.lost_probability)
    points = np.zeros((0, 2)) if asked.sites is None else asked.sites.points
    known = np.where(is_doubtful, lost, is_closed)
    meaning = find_meaning(network, points, job.place_m, is_closed, is_doubtful, known, reporter)
    fields = {PATHS_SHARE: meaning.paths_share, DECIDES: meaning.decides, CHECK: _numbered(meaning.decides)}
    if asked.sites is None:
        return Results(fields, None)
    ways, rules = ways_of(network, is_closed), RouteRules(job.place_m, _LONGER_PERCENT)
    before, after = (reached_m(snap(each, points, job.place_m)) for each in (ways.before, ways.after))
    reached = {"reached_before_m": before, "reached_after_m": after}
    routes = find_routes(ways, asked.sites, rules, reporter.silent()).drop(columns="origin")
    if len(routes) == 1:  # which has no path to another site
        routes["status"] = np.select([before == 0, after == 0], [NO_ROAD, CUT_OFF], REACHABLE)
    return Results(fields, to_table(routes.assign(**reached), asked.sites.layer, reporter))


def _numbered(decides: np.ndarray) -> Any:
    """Return the number of each check, from 1, the one that decides most first; empty for all but the first ones."""
    numbers = pandas.Series(-decides).where(decides > 0).rank(method="first")
    return numbers.where(numbers <= MAX_CHECKS).astype("Int64").array


@dataclass(frozen=True)
class Summary:
    """The stretches, (n,) object lines in meters and their states, and what they add up to: lists of rows.

    `attribution` is what the license of the lines demands, or empty.
    """

    shapes: np.ndarray
    state: np.ndarray
    by_class: Sequence[dict[str, Any]]
    by_district: Sequence[dict[str, Any]]
    lost: Sequence[dict[str, Any]]
    checks: Sequence[dict[str, Any]]
    attribution: str = ""

    @property
    def lengths_m(self) -> dict[str, float]:
        """Length of the roads of each state."""
        return {each: float(shapely.length(self.shapes[self.state == each]).sum()) for each in STATES}

    @property
    def check_places(self) -> np.ndarray:
        """The middle of each stretch to check: (k, 2) float64."""
        chosen = self.shapes[[row["row"] for row in self.checks]]
        return shapely.get_coordinates(shapely.line_interpolate_point(chosen, 0.5, normalized=True))


def summarize(
    job: RoadStatus, layer: geopandas.GeoDataFrame, table: geopandas.GeoDataFrame, shapes: np.ndarray, asked: Asked
) -> Summary:
    """Return what the report lists of a layer of states, of the known roads that it is made from, and its lines."""
    classes, state = np.full(len(table), "", dtype=object), table[STATE].to_numpy(dtype=object)
    if job.class_field:
        classes = layer[job.class_field].loc[table["line"] - 1].map(word_in).to_numpy(dtype=object)
    by_district = _lengths_in(asked.districts, shapes, state) if asked.districts else []
    by_class = _lengths_by(classes, state, shapely.length(shapes))
    attribution = ATTRIBUTION if is_extract(layer) else ""
    return Summary(shapes, state, by_class, by_district, _lost_links(table), _checks(table), attribution)


def _lengths_by(group: np.ndarray, state: np.ndarray, length_m: np.ndarray) -> list[dict[str, Any]]:
    """Return a row for each of (n,) object groups with its name, its total length and those of its states, in meters.

    States are (n,) object, and lengths (n,) float64. The longest group comes first.
    """
    table = pandas.DataFrame({"group": group, STATE: state, "length_m": length_m})
    sums = table.pivot_table("length_m", "group", STATE, "sum", fill_value=0.0).reindex(columns=STATES, fill_value=0.0)
    sums = sums.loc[sums.sum(axis=1).sort_values(ascending=False, kind="stable").index]
    return [{"name": name or "-", "length_m": row.sum(), "by_state": row.to_dict()} for name, row in sums.iterrows()]


def _lengths_in(districts: Mapping[str, BaseGeometry], shapes: np.ndarray, state: np.ndarray) -> list[dict[str, Any]]:
    """Return the rows of `_lengths_by` for districts, polygons in the plane of (n,) object lines."""
    areas = np.array(list(districts.values()), dtype=object)
    district, line = shapely.STRtree(shapes).query(areas, predicate="intersects")
    inside_m = shapely.length(shapely.intersection(shapes[line], areas[district]))
    names = np.array(list(districts), dtype=object)
    return _lengths_by(names[district], state[line], inside_m)


def _lost_links(table: geopandas.GeoDataFrame) -> list[dict[str, Any]]:
    """Return the closed stretches of a layer of states that most shortest paths need, the first first."""
    lost = table[table[STATE].isin(CLOSED) & (table[PATHS_SHARE] > 0)]
    return _rows(lost.sort_values([PATHS_SHARE, "length_m"], ascending=False, kind="stable").head(MAX_ROWS))


def _checks(table: geopandas.GeoDataFrame) -> list[dict[str, Any]]:
    """Return the stretches of a layer of states to check, in their order."""
    return _rows(table[table[CHECK].notna()].sort_values(CHECK))


def _rows(table: geopandas.GeoDataFrame) -> list[dict[str, Any]]:
    """Return rows of lists: numbers, the number of the row in the layer, the road's name and the place in degrees."""
    middles = shapely.line_interpolate_point(table.geometry.to_numpy(), 0.5, normalized=True)
    places = geopandas.GeoSeries(middles, crs=table.crs).to_crs(_WGS84)
    named = [each for each in _NAMES if each in table]
    fields = (STATE, "length_m", LOST_PROBABILITY, PATHS_SHARE, DECIDES, CHECK)
    rows = []
    for (number, row), place in zip(table.iterrows(), places):
        texts = (row[each] for each in named)
        name = next((text for text in texts if isinstance(text, str) and text), f"line {row['line']}")
        known = {each: None if pandas.isna(row[each]) else row[each] for each in fields}
        rows.append({**known, "row": number, "name": name, "longitude": place.x, "latitude": place.y})
    return rows
