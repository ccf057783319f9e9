"""The job vectorize: from a mask or probability to a road network.

Knows the order of steps from pixels to lines on the map, and what is told of each line; each step is a module's of
its own. Knows nothing of where a mask comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Optional

import geopandas
import numpy as np
import pyproj
import shapely
from rasterio.io import DatasetReader
from rasterio.warp import transform as transform_coordinates
from scipy.ndimage import map_coordinates

from . import crossings, gaps, network
from .errors import ImageryError
from .events import Reporter
from .graph import Graph, join_chains, trace
from .grid import ELLIPSOID, GEOGRAPHIC, Grid, grid_of
from .imagery import open_raster
from .jobs import NetworkOptions, Vectorize
from .outputs import Outputs
from .ridge import center
from .skeleton import Clearance, clean_mask, cut_ends, thin
from .tags import osm_tags
from .vectors import check_vector_output, write_layers

# Where along a gap its probability is looked at: not where it begins and ends, which still is road.
_GAP_SHARES = np.linspace(0.25, 0.75, 21)


@dataclass(frozen=True)
class Network:
    """A road network on the map.

    Parameters
    ----------
    roads : GeoDataFrame
        Lines with `length_m` on the ellipsoid, `width_m`, `confidence` from 0 to 1 (empty for a mask), `component`,
        the number of the connected part they belong to, 1 the longest, and tags of OpenStreetMap; see `tags`.
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
    with Outputs(inputs=[job.raster]) as outputs:
        roads_path = outputs.stage(job.roads)
        nodes_path = outputs.stage(job.nodes) if job.nodes else None
        reporter.progress(0, "Reading")
        with open_raster(job.raster) as dataset:
            grid = grid_of(dataset)
            road, known, probability = read_road(dataset, job.threshold)
        found = extract_network(road, known, probability, grid, job, reporter.part(0.1, 0.9))
        reporter.progress(0.9, "Writing")
        numbers = write_network(found, roads_path, nodes_path)
    return {"roads": job.roads, **({"nodes": job.nodes} if job.nodes else {}), **numbers}


def read_road(dataset: DatasetReader, threshold: float) -> tuple[np.ndarray, np.ndarray, Optional[np.ndarray]]:
    """Read a raster's first band as road.

    Numbers with a fraction, and whole numbers that the file says how to scale, are probabilities; all else is a mask,
    with road where it is above 0. A mask that has nothing but road and no data means by no data that there is no road.

    Returns
    -------
    road, known : ndarray (height, width), bool
    probability : ndarray (height, width), float32, or None
        From 0 to 1.

    Raises
    ------
    ImageryError
        There are no data at all, or the numbers are no probabilities.
    """
    values = dataset.read(1)
    known = dataset.read_masks(1) > 0
    if not known.any():
        raise ImageryError(f"{dataset.name} has no data anywhere.", "Choose another raster.")
    scale, offset = dataset.scales[0], dataset.offsets[0]
    if not np.issubdtype(values.dtype, np.floating) and scale == 1:
        road = known & (values > 0)
        return road, np.ones_like(known) if np.array_equal(road, known) else known, None
    known &= np.isfinite(values)
    probability = values.astype(np.float32) * np.float32(scale) + np.float32(offset)
    seen = probability[known]
    if seen.size and not (seen.min() >= -1e-3 and seen.max() <= 1 + 1e-3):
        raise ImageryError(
            f"{dataset.name} holds numbers from {seen.min():g} to {seen.max():g}, which are no probabilities.",
            "Give a probability from 0 to 1, or a mask of whole numbers.",
        )
    # A byte that stands for the threshold itself may come out below it by rounding.
    return known & (probability >= threshold - 1e-6), known, probability


def extract_network(
    road: np.ndarray,
    known: np.ndarray,
    probability: Optional[np.ndarray],
    grid: Grid,
    options: NetworkOptions,
    reporter: Reporter,
) -> Network:
    """Return the road network of a mask.

    Parameters
    ----------
    road : ndarray (height, width), bool
    known : ndarray (height, width), bool
        False where there is no data.
    probability : ndarray (height, width), float32, optional
        From 0 to 1; where there is none, lines have no confidence.
    grid : Grid
    options : NetworkOptions
    reporter : Reporter
    """
    pixel_m = grid.pixel_m

    def begin(fraction: float, message: str) -> None:
        reporter.check_cancelled()
        reporter.progress(fraction, message)

    def is_cut(points: np.ndarray) -> np.ndarray:
        return _sample(ends, points)

    begin(0, "Cleaning the mask")
    road = clean_mask(road, known, options.min_area_m2 / (pixel_m[0] * pixel_m[1]))
    begin(0.2, "Thinning roads to lines")
    clearance_m = Clearance(road, known, pixel_m)
    ends = cut_ends(road, known, clearance_m)
    skeleton = thin(road, ends)
    begin(0.6, "Tracing the network")
    graph = trace(skeleton)
    begin(0.7, "Cleaning the network")
    graph = network.prune_spurs(graph, pixel_m, options.spur_m, clearance_m.width_m, is_cut)
    graph = network.smooth(graph)
    if options.center:
        graph = _center(graph, road if probability is None else probability, clearance_m)
    graph = crossings.straighten_ends(graph, pixel_m, clearance_m, is_cut)
    is_likely = _evidence(probability, options.gap_probability)
    graph = gaps.join_gaps(graph, pixel_m, options.gap_m, options.gap_angle, is_cut, is_likely)
    graph = join_chains(gaps.snap_ends(graph, pixel_m, options.snap_m, is_cut, is_likely))
    graph = crossings.straighten_junctions(graph, pixel_m, clearance_m, is_cut)
    graph = crossings.merge_crossings(graph, pixel_m, clearance_m)
    graph = network.drop_short_components(graph, pixel_m, options.min_length_m)
    begin(0.85, "Measuring roads")
    width_m = network.median_of_lines(graph, clearance_m.width_m(graph.points))
    measures = {"width_m": width_m, "confidence": _mean_of_lines(graph, probability, known), **osm_tags(width_m)}
    graph = network.simplify(graph, pixel_m, options.simplify_m)
    found = to_tables(graph, partial(_map_points, grid), grid.crs, measures)
    if not len(found.roads):
        reporter.warning("No roads were found: the network is empty.")
    reporter.progress(1, f"{len(found.roads)} roads")
    return found


def _evidence(probability: Optional[np.ndarray], least: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return what tells whether the mean probability along straight ways is high enough for a road."""

    def is_likely(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        if probability is None or least == 0:
            return np.ones(len(starts), dtype=bool)
        places = starts + _GAP_SHARES[:, None, None] * (ends - starts)
        return _interpolate(probability, places.reshape(-1, 2)).reshape(places.shape[:2]).mean(axis=0) >= least

    return is_likely


def _center(graph: Graph, image: np.ndarray, clearance_m: Clearance) -> Graph:
    """Return the graph with its lines in the middle of their roads, as an image of probability or of road tells."""
    pixel_m = float(np.mean(clearance_m.pixel_m))
    return center(
        graph, lambda points: _interpolate(image, points), lambda points: clearance_m.width_m(points) / pixel_m
    )


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
        What is known of each edge; their length and component come before and after it.
    """
    points = place(graph.points)
    length_m = _geodesic_lengths(graph, points, crs)
    component = _rank(graph.component, np.bincount(graph.edge_component, length_m))
    roads = {"length_m": length_m, **columns, "component": component[graph.edges[:, 0]]}
    nodes = {"degree": graph.degree, "component": component}
    crs = pyproj.CRS.from_user_input(crs)
    return Network(
        geopandas.GeoDataFrame(roads, geometry=shapely.linestrings(points, indices=graph.owner), crs=crs),
        geopandas.GeoDataFrame(nodes, geometry=shapely.points(place(graph.nodes)), crs=crs),
    )


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


def _mean_of_lines(graph: Graph, image: Optional[np.ndarray], known: np.ndarray) -> np.ndarray:
    """Return the mean of an image along each line, where it has data: (m,), float64; else not a number."""
    mean = np.full(len(graph.edges), np.nan)
    if image is None:
        return mean
    weight = _sample(known, graph.points)
    values = np.where(weight, _sample(image, graph.points), 0)
    total, count = (np.bincount(graph.owner, each, minlength=len(mean)) for each in (values, weight))
    return np.divide(total, count, out=mean, where=count > 0)


def _interpolate(image: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return an image's values at points (n, 2) between its pixels' centers; outside, those of its border."""
    return map_coordinates(image, points.T[::-1], order=1, mode="nearest", output=np.float32)


def _sample(image: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return an image's values at points (n, 2) in pixels."""
    columns, rows = np.rint(points).astype(np.int64).T
    return image[rows, columns]
