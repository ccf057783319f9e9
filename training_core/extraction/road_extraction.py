"""Road extraction: from a raster of roads to a road network by mask, skeleton, graph, cleaning and measures.

Scope: composes the steps of extraction and networks. Independent of jobs' inputs and output files.

Masks and skeletons are pixels. Once traced, the graph is in meters: x along the columns and y along the rows from the
center of the first pixel. A later step asks `Surroundings`, in meters too, about the raster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

import geopandas
import numpy as np
import shapely

from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.road_classes import ClassRaster
from ..geodata.road_raster import RoadRaster
from ..jobs import NetworkOptions
from ..networks import cleaning, gaps, junctions
from ..networks.graph import Graph, join_chains, scaled, select_edges
from ..networks.likely_breaks import likely_breaks
from ..networks.link_prediction import Links, join_likely
from ..networks.network_tables import Network, to_tables
from ..networks.surroundings import Paths, Surroundings, straight_paths
from .centering import between_pixels, center
from .clearance import Clearance, cut_ends
from .compact_masks import BitMask
from .least_cost_paths import least_cost_paths
from .line_measures import along_traffic, attributes, measure_lines, road_probability, seen_along_some
from .road_mask import find_road
from .skeletons import smooth, thin_bits, thin_out, trace_pixels

# Decimal digits of a pixel's fraction: with more, rounding errors would decide in which of two pixels a place lies.
_PLACE_DIGITS = 6
# Where along a gap its probability is sampled: not near its ends, which are still road.
_GAP_FRACTIONS = np.linspace(0.25, 0.75, 21)


def extract_network(
    raster: RoadRaster, grid: Grid, options: NetworkOptions, reporter: Reporter, classes: Optional[ClassRaster] = None
) -> Network:
    """Return the road network of a raster, with classes from one on the same grid.

    It is empty, after a warning, where no roads are found. Lines from a mask have no confidence.
    """
    traced = trace_roads(raster, grid.pixel_m, options, reporter.part(0, 0.85))
    graph = cleaning.drop_short_components(traced.graph, options.min_length_m)
    reporter.step(0.85, "Measuring roads")
    measures = measure_lines(graph, traced.graph, traced.surroundings, grid.pixel_m, classes)
    columns = attributes(graph, measures, classes.classes if classes else (), options.driving_side)
    graph = cleaning.simplify(along_traffic(graph, measures, grid, options.driving_side), options.simplify_m)

    def to_map(points: np.ndarray) -> np.ndarray:
        return np.column_stack(grid.transform @ tuple((points / grid.pixel_m + 0.5).T))

    def on_map(table: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
        return table.set_geometry(shapely.transform(table.geometry.to_numpy(), to_map)).set_crs(grid.crs)

    found = to_tables(graph, to_map, grid.crs, columns)
    reporter.check_cancelled()
    breaks = likely_breaks(traced.linked, traced.links, traced.removed, traced.surroundings)
    found = replace(found, links=on_map(traced.links.to_table()), breaks=on_map(breaks))
    if not len(found.roads):
        reporter.warning(nothing_found(raster))
    known_km2 = traced.known_px * float(np.prod(grid.pixel_m)) / 1e6
    road_fraction = traced.road_px / max(1, traced.known_px)
    for warning in sanity_warnings(raster, graph, columns["road_probability"], road_fraction, known_km2):
        reporter.warning(warning)
    reporter.progress(1, f"{len(found.roads)} roads")
    return found


@dataclass(frozen=True)
class TracedRoads:
    """The roads of a raster, in meters from the center of the first pixel, with vertices some pixels apart.

    A mask has neither links nor removed dead ends.
    """

    graph: Graph
    surroundings: Surroundings
    linked: Graph  # before anything was removed
    links: Links  # all that were considered, joined or not
    removed: cleaning.Removed  # dead ends that are unlikely to be roads
    road_px: int
    known_px: int  # with data


def trace_roads(
    raster: RoadRaster,
    pixel_m: tuple[float, float],
    options: NetworkOptions,
    reporter: Reporter,
    linked: Optional[np.ndarray] = None,
) -> TracedRoads:
    """Return the roads of a raster as a graph, with all of its components.

    Every step looks no farther around a place than some road widths and the lengths among the options. So a part of a
    raster has the roads of the whole except near where it is cut. It must begin at a multiple of 8 columns and rows.
    The shortest component and the simplification among the options are the caller's.

    The (n, 2) int64 `linked` are columns and rows of likely pixels that are connected to sure ones beyond the raster.
    """
    sides_m = np.array(pixel_m)
    road, known = find_road(raster, pixel_m, options, reporter.part(0, 0.35), linked)
    reporter.step(0.35, "Thinning roads to lines")
    clearance = Clearance(road, known, sides_m)
    ends = BitMask.empty(raster.height, raster.width).with_pixels(cut_ends(road, known, clearance))
    skeleton = thin_bits(road, ends)
    reporter.step(0.7, "Tracing the network")
    graph = scaled(trace_pixels(skeleton.pixels()), sides_m)
    surroundings = _surroundings(raster, clearance, ends, options.gap_probability)
    reporter.step(0.8, "Cleaning the network")
    graph = cleaning.prune_spurs(graph, options.spur_m, surroundings)
    graph = thin_out(smooth(graph), np.rint(graph.points / sides_m).astype(np.int64))
    if options.center:
        graph = center(graph, between_pixels(raster, road, sides_m), surroundings)
    graph = junctions.straighten_ends(graph, surroundings)
    last = sides_m * (raster.width - 1, raster.height - 1)  # nothing lies beyond the centers of the outermost pixels
    graph = replace(graph, nodes=np.clip(graph.nodes, 0, last), points=np.clip(graph.points, 0, last))
    reporter.step(0.95, "Closing gaps")
    graph, whole, links, removed = _connect(graph, options, surroundings, raster.threshold is not None)
    return TracedRoads(graph, surroundings, whole, links, removed, road.count, known.count)


def _surroundings(raster: RoadRaster, clearance: Clearance, data_edge: BitMask, least: float) -> Surroundings:
    """Return functions of places in a raster; a gap is likely road if its mean probability is at least `least`.

    `data_edge` are the pixels at which center-lines reach the edge of the data.
    """
    pixel_m = clearance.pixel_m

    def is_likely(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        if least == 0 or not len(starts):
            return np.ones(len(starts), dtype=bool)
        places = starts + _GAP_FRACTIONS[:, None, None] * (ends - starts)
        probability = raster.probability_at(places.reshape(-1, 2) / pixel_m).reshape(places.shape[:2])
        return np.nan_to_num(probability, nan=least).mean(axis=0) >= least - 1e-9

    def probability_at(points: np.ndarray) -> np.ndarray:
        return raster.probability_at(np.round(points / pixel_m, _PLACE_DIGITS))

    def paths(starts: np.ndarray, ends: np.ndarray) -> Paths:
        if raster.threshold is None:
            return straight_paths(starts, ends)
        return least_cost_paths(starts, ends, probability_at, raster.threshold)

    return Surroundings(
        clearance_m=clearance,
        width_m=clearance.width_m,
        is_data_edge=lambda points: data_edge.at(points / pixel_m),
        is_likely=is_likely,
        paths=paths,
        probability=probability_at,
        threshold=float("nan") if raster.threshold is None else raster.threshold,
        half_pixel_m=float(pixel_m.min()) / 2,
    )


def _connect(
    graph: Graph, options: NetworkOptions, surroundings: Surroundings, has_probability: bool
) -> tuple[Graph, Graph, Links, cleaning.Removed]:
    """Return the graph with gaps closed and junctions moved, and the next three fields of `TracedRoads`."""
    graph = gaps.join_gaps(graph, options.gap_m, options.gap_angle, surroundings)
    graph = join_chains(gaps.snap_ends(graph, options.snap_m, surroundings))
    links, removed = Links.none(), cleaning.Removed()
    if has_probability:
        graph, links = join_likely(graph, options.likely_gap_m, options.link_probability, surroundings)
        graph = join_chains(graph)
    linked = graph
    graph = cleaning.prune_spurs(graph, options.spur_m, surroundings)

    def likely(graph: Graph, chosen: np.ndarray) -> np.ndarray:
        return road_probability(*seen_along_some(graph, chosen, surroundings))

    if has_probability:
        graph, removed = cleaning.prune_unlikely(graph, options.stub_m, options.stub_probability, likely, surroundings)
    graph = junctions.merge_crossings(junctions.straighten_junctions(graph, surroundings), surroundings)
    # Where junctions have become one, the second of two straight edges between them has no length.
    return select_edges(graph, graph.lengths() > 0), linked, links, removed


# The densest towns have a fifth of road, and some 30 km of roads a square kilometer; noise has up to 130.
_MAX_ROAD, _MAX_PER_KM = 0.25, 60.0
# Checks of density and likelihood need at least this length of roads.
_MIN_KM = 5.0
# Difference between the highest and the lowest probability.
_MIN_CONTRAST = 0.2
# Fraction of the length of roads; sparse noise has less.
_MIN_LIKELY = 0.5


def nothing_found(raster: RoadRaster) -> str:
    """Return the warning that no roads were found; reads a probability once more for its maximum."""
    message = "No roads were found: the network is empty."
    if raster.threshold is None:
        return message
    _, highest = raster.extremes()
    if not highest < raster.threshold:  # or without any data
        return message
    return f"{message} No probability reaches the threshold of {raster.threshold:.2f}: the highest is {highest:.2f}."


def sanity_warnings(
    raster: RoadRaster, graph: Graph, probability: np.ndarray, road_fraction: float, area_km2: float
) -> list[str]:
    """Return a warning for each check that fails; reads a probability once more if too much of it is road.

    The (m,) float64 `probability` is each line's; NaN for a mask. Fraction and area are those of the known pixels.
    """
    warnings = []
    if road_fraction >= _MAX_ROAD:
        warnings.append(
            f"{road_fraction:.0%} of the raster is road, more than in any town. {_where_all_is_road(raster)}"
        )
    length_m = graph.lengths()
    length_km = float(length_m.sum()) / 1000
    if is_too_dense(length_km, area_km2):
        warnings.append(
            f"There are {length_km / area_km2:.0f} km of roads per square kilometer, more than in any town. The "
            "raster looks like noise: check it. A model that does not know this kind of image needs fine-tuning."
        )
    likely_fraction = float((length_m * probability).sum()) / max(1000 * length_km, 1.0)
    if length_km >= _MIN_KM and likely_fraction < _MIN_LIKELY and not warnings:
        warnings.append(
            f"Only {likely_fraction:.0%} of the lines are likely to be roads (field road_probability). The model may "
            "not know this kind of image, or the threshold may be too low. Check the probability."
        )
    return warnings


def _where_all_is_road(raster: RoadRaster) -> str:
    """Return what to do where too much is road."""
    if raster.threshold is None:
        return "Check that it is a road mask."
    lowest, highest = raster.extremes()
    if highest - lowest < _MIN_CONTRAST:
        return (
            f"Its probability has no contrast: all values lie between {lowest:.2f} and {highest:.2f}. Check that the "
            "model knows this kind of image, and that the raster is a road probability."
        )
    return "Raise the threshold, or check that the raster shows roads."


def is_too_dense(length_km: float, area_km2: float) -> bool:
    """Return whether an area has more roads than any town."""
    return length_km >= _MIN_KM and length_km > _MAX_PER_KM * area_km2
