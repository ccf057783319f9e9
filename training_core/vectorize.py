"""The job vectorize: from a mask or probability to a road network.

Knows the order of steps from pixels to lines on the map, and what is told of each line; each step is a module's of
its own. Knows nothing of where a mask comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Optional

import geopandas
import numpy as np
import pandas
import pyproj
import shapely
from rasterio.warp import transform as transform_coordinates

from . import crossings, gaps, network
from .bitmask import BitMask
from .events import Reporter
from .geodata.class_raster import ClassRaster, class_band
from .geodata.grid import ELLIPSOID, GEOGRAPHIC, Grid, grid_of
from .geodata.rasters import open_raster
from .geodata.road_raster import RoadRaster, band_raster, between_pixels
from .geodata.vectors import check_vector_output, write_layers
from .graph import Graph, join_chains, trace_pixels
from .jobs import METERS_PER_SECOND, NetworkOptions, Vectorize
from .lineclasses import classes_along
from .ridge import center
from .roadmask import find_road
from .skeleton import Clearance, cut_ends, thin_bits
from .system.outputs import Outputs
from .tags import osm_tags

# Where along a gap its probability is looked at: not where it begins and ends, which still is road.
_GAP_SHARES = np.linspace(0.25, 0.75, 21)
# Columns of lines of which it is known how fast one drives there, and so how long it takes.
SPEED, TRAVEL_TIME = "speed_kmh", "travel_time_s"


@dataclass(frozen=True)
class Network:
    """A road network on the map.

    Parameters
    ----------
    roads : GeoDataFrame
        Lines with `length_m` on the ellipsoid, `width_m`, `confidence` from 0 to 1 (empty for a mask), `component`,
        the number of the connected part they belong to, 1 the longest, and tags of OpenStreetMap; see `tags`. Where
        classes are told, also `road_class`, `speed_kmh`, at which one usually drives there, and `travel_time_s`.
    nodes : GeoDataFrame
        Junctions and ends, with `degree`, the number of lines that end there, and `component`.
    """

    roads: geopandas.GeoDataFrame
    nodes: geopandas.GeoDataFrame

    @property
    def numbers(self) -> dict[str, Any]:
        """Count of lines, their length in meters in all, and count of components."""
        return {
            "count": len(self.roads),
            "length_m": float(self.roads["length_m"].sum()),
            "components": int(self.roads["component"].max()) if len(self.roads) else 0,
        }


def run(job: Vectorize, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.Vectorize`."""
    for path in filter(None, (job.roads, job.nodes)):
        check_vector_output(path, 2 if job.nodes == job.roads else 1)
    with Outputs(inputs=[job.raster, job.classes]) as outputs:
        roads_path = outputs.stage(job.roads)
        nodes_path = outputs.stage(job.nodes) if job.nodes else None
        with ExitStack() as stack:
            dataset = stack.enter_context(open_raster(job.raster))
            grid, classes = grid_of(dataset), None
            if job.classes:
                classes = class_band(stack.enter_context(open_raster(job.classes)), grid, job.raster)
            raster = band_raster(dataset, job.threshold)
            found = extract_network(raster, grid, job, reporter.part(0, 0.9), classes)
        reporter.progress(0.9, "Writing")
        numbers = write_network(found, roads_path, nodes_path)
    return {"roads": job.roads, **({"nodes": job.nodes} if job.nodes else {}), **numbers}


def extract_network(
    raster: RoadRaster,
    grid: Grid,
    options: NetworkOptions,
    reporter: Reporter,
    classes: Optional[ClassRaster] = None,
) -> Network:
    """Return the road network that a raster shows.

    Parameters
    ----------
    raster : RoadRaster
        A mask or a probability; lines from a mask have no confidence.
    grid : Grid
        Where its pixels lie.
    options : NetworkOptions
    reporter : Reporter
    classes : ClassRaster, optional
        Which classes the roads are of, on the same grid.
    """
    pixel_m = grid.pixel_m

    def begin(fraction: float, message: str) -> None:
        reporter.check_cancelled()
        reporter.progress(fraction, message)

    road, known = find_road(raster, pixel_m, options, reporter.part(0, 0.3))
    begin(0.3, "Thinning roads to lines")
    clearance_m = Clearance(road, known, pixel_m)
    ends = BitMask.empty(raster.height, raster.width).with_pixels(cut_ends(road, known, clearance_m))
    skeleton = thin_bits(road, ends)
    begin(0.6, "Tracing the network")
    graph = trace_pixels(skeleton.pixels())
    begin(0.7, "Cleaning the network")
    graph = network.prune_spurs(graph, pixel_m, options.spur_m, clearance_m.width_m, ends.at)
    graph = network.thin_out(network.smooth(graph))
    if options.center:
        pixel_mean_m = float(np.mean(pixel_m))
        graph = center(graph, between_pixels(raster, road), lambda points: clearance_m.width_m(points) / pixel_mean_m)
    graph = _within(crossings.straighten_ends(graph, pixel_m, clearance_m, ends.at), raster)
    begin(0.8, "Closing gaps")
    graph = _connect(graph, pixel_m, options, clearance_m, ends.at, _evidence(raster, options.gap_probability))
    graph = network.drop_short_components(graph, pixel_m, options.min_length_m)
    begin(0.85, "Measuring roads")
    measures = _measures(graph, raster, clearance_m, classes)
    graph = network.simplify(graph, pixel_m, options.simplify_m)
    found = to_tables(graph, partial(_map_points, grid), grid.crs, measures)
    if not len(found.roads):
        reporter.warning("No roads were found: the network is empty.")
    reporter.progress(1, f"{len(found.roads)} roads")
    return found


def _measures(
    graph: Graph, raster: RoadRaster, clearance_m: Clearance, classes: Optional[ClassRaster]
) -> dict[str, np.ndarray]:
    """Return what the pixels along lines tell of them, by the names of columns."""
    width_m = network.median_of_lines(graph, clearance_m.width_m(graph.points))
    confidence = _mean_of_lines(graph, raster.probability_at(graph.points))
    measures = {"width_m": width_m, "confidence": confidence}
    if classes is None:
        return {**measures, **osm_tags(width_m)}
    road_class, speed_kmh = classes_along(graph, classes)
    return {**measures, "road_class": road_class, SPEED: speed_kmh, **osm_tags(width_m, road_class)}


def _connect(
    graph: Graph,
    pixel_m: tuple[float, float],
    options: NetworkOptions,
    clearance_m: Clearance,
    is_cut: Callable[[np.ndarray], np.ndarray],
    is_likely: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Graph:
    """Return the graph with gaps closed and junctions put right; see `gaps` and `crossings`."""
    graph = gaps.join_gaps(graph, pixel_m, options.gap_m, options.gap_angle, is_cut, is_likely)
    graph = join_chains(gaps.snap_ends(graph, pixel_m, options.snap_m, is_cut, is_likely))
    graph = network.prune_spurs(graph, pixel_m, options.spur_m, clearance_m.width_m, is_cut)
    graph = crossings.straighten_junctions(graph, pixel_m, clearance_m, is_cut)
    return crossings.merge_crossings(graph, pixel_m, clearance_m)


def _within(graph: Graph, raster: RoadRaster) -> Graph:
    """Return the graph without what has come to lie outside of the image's outermost pixels' centers."""
    last = raster.width - 1, raster.height - 1
    return replace(graph, nodes=np.clip(graph.nodes, 0, last), points=np.clip(graph.points, 0, last))


def _evidence(raster: RoadRaster, least: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return what tells whether the mean probability along straight ways is high enough for a road."""

    def is_likely(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        if least == 0 or not len(starts):
            return np.ones(len(starts), dtype=bool)
        places = starts + _GAP_SHARES[:, None, None] * (ends - starts)
        probability = raster.probability_at(places.reshape(-1, 2)).reshape(places.shape[:2])
        return np.nan_to_num(probability, nan=least).mean(axis=0) >= least - 1e-9

    return is_likely


def write_network(found: Network, roads_path: str | Path, nodes_path: str | Path | None) -> dict[str, Any]:
    """Write a network, to one file where both paths are the same, and return its numbers."""
    files: dict[str, dict[str, geopandas.GeoDataFrame]] = {str(roads_path): {"roads": found.roads}}
    if nodes_path:
        files.setdefault(str(nodes_path), {})["nodes"] = found.nodes
    for path, layers in files.items():
        write_layers(path, layers, {"roads": "LineString", "nodes": "Point"})
    return found.numbers


def to_tables(graph: Graph, place: Callable[[np.ndarray], np.ndarray], crs: Any, columns: Mapping[str, Any]) -> Network:
    """Return a graph as tables.

    Parameters
    ----------
    graph : Graph
    place : callable
        Takes points (n, 2) of the graph to map coordinates.
    crs
        The map's CRS, as pyproj takes it.
    columns : mapping of str to array (m,)
        What is known of each edge; their length and component come before and after it, and the time that it takes
        to drive along it after its speed.
    """
    points = place(graph.points)
    length_m = _geodesic_lengths(graph, points, crs)
    component = _rank(graph.component, np.bincount(graph.edge_component, length_m))
    roads = {"length_m": length_m, **_with_travel_time(columns, length_m), "component": component[graph.edges[:, 0]]}
    nodes = {"degree": graph.degree, "component": component}
    crs = pyproj.CRS.from_user_input(crs)
    return Network(
        geopandas.GeoDataFrame(roads, geometry=shapely.linestrings(points, indices=graph.owner), crs=crs),
        geopandas.GeoDataFrame(nodes, geometry=shapely.points(place(graph.nodes)), crs=crs),
    )


def _with_travel_time(columns: Mapping[str, Any], length_m: np.ndarray) -> dict[str, Any]:
    """Return columns with the travel time behind the speed, where there is one."""
    timed: dict[str, Any] = {}
    for name, values in columns.items():
        timed[name] = values
        if name == SPEED:
            speed_kmh = pandas.to_numeric(pandas.Series(values), errors="coerce").to_numpy(dtype=np.float64)
            time_s = length_m / np.where(speed_kmh > 0, speed_kmh, np.nan) / METERS_PER_SECOND["km/h"]
            timed[TRAVEL_TIME] = time_s
    return timed


def _map_points(grid: Grid, points: np.ndarray) -> np.ndarray:
    """Return pixels, given by the column and row of their centers, in map coordinates: (n, 2), float64."""
    return np.column_stack(grid.transform @ (points[:, 0] + 0.5, points[:, 1] + 0.5))


def _geodesic_lengths(graph: Graph, points: np.ndarray, crs: Any) -> np.ndarray:
    """Return each line's length in meters on the ellipsoid, (m,) float64, from its map coordinates."""
    longitude, latitude = map(np.asarray, transform_coordinates(crs, GEOGRAPHIC, *points.T))
    steps = ELLIPSOID.inv(longitude[:-1], latitude[:-1], longitude[1:], latitude[1:])[2]
    is_within = np.diff(graph.owner) == 0
    return np.bincount(graph.owner[:-1][is_within], steps[is_within], minlength=len(graph.edges))


def _rank(component: np.ndarray, length_m: np.ndarray) -> np.ndarray:
    """Return component numbers from 1, the longest first."""
    number = np.empty(len(length_m), dtype=np.int64)
    number[np.argsort(-length_m, kind="stable")] = np.arange(1, len(length_m) + 1)
    return number[component]


def _mean_of_lines(graph: Graph, values: np.ndarray) -> np.ndarray:
    """Return the mean of each line's vertices that have a value: (m,), float64; not a number where none has."""
    has_value = np.isfinite(values)
    total = np.bincount(graph.owner, np.where(has_value, values, 0), minlength=len(graph.edges))
    count = np.bincount(graph.owner, has_value, minlength=len(graph.edges))
    return np.divide(total, count, out=np.full(len(graph.edges), np.nan), where=count > 0)
