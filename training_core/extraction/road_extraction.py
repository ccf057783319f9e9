"""From a raster of roads to a road network: mask, skeleton, graph, cleaning, measures.

Scope: composes the steps of extraction and networks. Independent of jobs' inputs and output files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Optional

import numpy as np

from ..events import Reporter
from ..geodata.class_raster import ClassRaster
from ..geodata.grid import Grid
from ..geodata.road_raster import RoadRaster
from ..jobs import NetworkOptions
from ..networks import cleaning, gaps, junctions
from ..networks.chains import join_chains
from ..networks.graph import Graph
from ..networks.network_tables import SPEED, Network, to_tables
from ..networks.osm_tags import osm_tags
from . import smoothing
from .bitmask import BitMask
from .centering import between_pixels, center
from .clearance import Clearance, cut_ends
from .line_classes import classes_along
from .road_mask import find_road
from .thinning import thin_bits
from .tracing import trace_pixels

# Where along a gap its probability is looked at: not where it begins and ends, which still is road.
_GAP_SHARES = np.linspace(0.25, 0.75, 21)


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
    graph = cleaning.prune_spurs(graph, pixel_m, options.spur_m, clearance_m.width_m, ends.at)
    graph = smoothing.thin_out(smoothing.smooth(graph))
    if options.center:
        pixel_mean_m = float(np.mean(pixel_m))
        graph = center(graph, between_pixels(raster, road), lambda points: clearance_m.width_m(points) / pixel_mean_m)
    graph = _within(junctions.straighten_ends(graph, pixel_m, clearance_m, ends.at), raster)
    begin(0.8, "Closing gaps")
    graph = _connect(graph, pixel_m, options, clearance_m, ends.at, _evidence(raster, options.gap_probability))
    graph = cleaning.drop_short_components(graph, pixel_m, options.min_length_m)
    begin(0.85, "Measuring roads")
    measures = _measures(graph, raster, clearance_m, classes)
    graph = cleaning.simplify(graph, pixel_m, options.simplify_m)
    found = to_tables(graph, partial(_map_points, grid), grid.crs, measures)
    if not len(found.roads):
        reporter.warning("No roads were found: the network is empty.")
    reporter.progress(1, f"{len(found.roads)} roads")
    return found


def _measures(
    graph: Graph, raster: RoadRaster, clearance_m: Clearance, classes: Optional[ClassRaster]
) -> dict[str, np.ndarray]:
    """Return what the pixels along lines tell of them, by the names of columns."""
    width_m = cleaning.median_of_lines(graph, clearance_m.width_m(graph.points))
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
    graph = cleaning.prune_spurs(graph, pixel_m, options.spur_m, clearance_m.width_m, is_cut)
    graph = junctions.straighten_junctions(graph, pixel_m, clearance_m, is_cut)
    return junctions.merge_crossings(graph, pixel_m, clearance_m)


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


def _map_points(grid: Grid, points: np.ndarray) -> np.ndarray:
    """Return pixels, given by the column and row of their centers, in map coordinates: (n, 2), float64."""
    return np.column_stack(grid.transform @ (points[:, 0] + 0.5, points[:, 1] + 0.5))


def _mean_of_lines(graph: Graph, values: np.ndarray) -> np.ndarray:
    """Return the mean of each line's vertices that have a value: (m,), float64; not a number where none has."""
    has_value = np.isfinite(values)
    total = np.bincount(graph.owner, np.where(has_value, values, 0), minlength=len(graph.edges))
    count = np.bincount(graph.owner, has_value, minlength=len(graph.edges))
    return np.divide(total, count, out=np.full(len(graph.edges), np.nan), where=count > 0)
