"""Measures of lines: evidence on and next to them, width, dead ends, carriageways, class, speed, and being a road.

Scope: graphs, and the rasters around them. Independent of maps, and of decisions based on the measures.

The speed of a line is the 85th percentile of the speeds of its pixels' classes, as in Van Etten, "City-scale road
extraction from satellite imagery v2", WACV 2020; its class is the one with that speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
import pandas

from ..geodata.grid import Grid
from ..geodata.road_classes import ClassRaster, RoadClass
from ..geodata.road_raster import pixels_at
from ..jobs.review import MACHINE, STATUS
from ..networks.cleaning import median_of_lines
from ..networks.dual_carriageways import ParallelLines, carriageway_tags, left_fraction, other_carriageway, runs_against
from ..networks.graph import Graph, reversed_edges, scaled, select_edges
from ..networks.link_prediction import logistic
from ..networks.network_tables import SPEED, osm_tags
from ..networks.surroundings import Surroundings
from .centering import tangents

PERCENTILE = 85


def class_votes(graph: Graph, raster: ClassRaster) -> np.ndarray:
    """Return the number of pixels of each class along each line: (m, classes) int64.

    The graph is in columns and rows. Its vertices, evenly spaced but in closed gaps and junctions, are the samples.
    """
    points, line = _samples(graph)
    numbers = pixels_at(points, raster.height, raster.width, raster.read).astype(np.int64)
    count = len(raster.classes)
    has_class = (numbers >= 1) & (numbers <= count)
    at = line[has_class] * count + numbers[has_class] - 1
    return np.bincount(at, minlength=len(graph.edges) * count).reshape(-1, count)


def elected(votes: np.ndarray, classes: Sequence[RoadClass]) -> tuple[np.ndarray, np.ndarray]:
    """Return the name of each line's class, (m,) object, and its (m,) float64 speed in km/h.

    Where a line has no (m, classes) int64 votes they are None and NaN.
    """
    speeds_kmh = np.array([road_class.speed_kmh for road_class in classes], dtype=np.float64)
    chosen, is_known = percentile_class(votes, speeds_kmh), votes.any(axis=1)
    names, speed_kmh = np.array([road_class.name for road_class in classes], dtype=object)[chosen], speeds_kmh[chosen]
    names[~is_known], speed_kmh[~is_known] = None, np.nan
    return names, speed_kmh


def _samples(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return the points at which classes are sampled, (n, 2), and the line of each.

    Ends are left out, since they lie on another road as well; a line without other vertices has its middle.
    """
    inner, short = ~graph.is_end, np.flatnonzero(graph.sizes == 2)
    middle = (graph.points[graph.offsets[short]] + graph.points[graph.offsets[short] + 1]) / 2
    return np.concatenate([graph.points[inner], middle]), np.concatenate([graph.owner[inner], short])


def percentile_class(votes: np.ndarray, speed_kmh: np.ndarray) -> np.ndarray:
    """Return the class at the 85th percentile of the speeds of each line's pixels: (m,) int64, from 0.

    It is the class of the least speed that 85 % of the (m, classes) int64 votes do not exceed (the inverted empirical
    distribution: never between two classes). Of classes with the same (classes,) float64 speed it is the one with the
    most votes.
    """
    speeds, rank = np.unique(speed_kmh, return_inverse=True)
    by_speed = votes @ (rank.ravel()[:, None] == np.arange(len(speeds)))
    passed = np.cumsum(by_speed, axis=1) * 100 >= votes.sum(axis=1, keepdims=True) * PERCENTILE
    is_candidate = rank.ravel() == passed.argmax(axis=1)[:, None]
    return np.where(is_candidate, votes, -1).argmax(axis=1)


# Coefficients of a logistic regression; see `road_features`. `scripts/networks/fit.py` prints them.
ROAD_COEFFICIENTS = {
    "constant": 0.212,
    "log_length": -0.116,
    "length": 0.043,
    "mean_evidence": 0.439,
    "low_evidence": 0.027,
    "beside": -0.310,
    "width": 0.611,
    "width_spread": -2.099,
    "bend": 0.514,
    "dead_end": -0.784,
    "alone": -1.775,
}
_LONG_M = 200.0  # beyond, length adds nothing
_LOWEST = 0.25  # quantile of the low evidence: above the part of a line that overshoots its road


# Measures of each vertex, NaN where it does not count: the probability of road; the log odds of road on it, less
# those of the threshold, and next to it (the lower, the clearer the road is); the width of the road, infinite where no
# roadside is known; whether a road ends there, except at the edge of the data; the vector to the other carriageway.
EVIDENCE = ("probability", "evidence", "beside", "width_m", "is_dead_end")
MEASURES = (*EVIDENCE, "other_x", "other_y")


def road_features(graph: Graph, seen: pandas.DataFrame) -> dict[str, np.ndarray]:
    """Return the features of each line of a graph in meters: (m,) float64, by name.

    Lengths and widths are in tens of meters, or logarithms; NaN without evidence. `seen` has a row for each vertex and
    the columns of EVIDENCE.
    """
    length_m = graph.lengths()
    chord_m = np.hypot(*(graph.points[graph.offsets[1:] - 1] - graph.points[graph.offsets[:-1]]).T)
    columns = seen.assign(square_m2=seen["width_m"] ** 2).replace(np.inf, np.nan)
    by_line = columns.groupby(graph.owner)
    mean = by_line.mean()
    mean_m, dead_ends = mean["width_m"].fillna(0), by_line["is_dead_end"].sum()
    # The lower quartile of each line's evidence, in which NaN comes last.
    evidence = columns["evidence"].to_numpy()
    order = np.lexsort((evidence, graph.owner))
    at = (_LOWEST * by_line["evidence"].count()).to_numpy().astype(np.int64)
    features = {
        "constant": np.ones(len(length_m)),
        "log_length": np.log(np.clip(length_m, 1, _LONG_M)),
        "length": np.minimum(length_m, _LONG_M) / 10,
        "mean_evidence": mean["evidence"],
        "low_evidence": evidence[order[graph.offsets[:-1] + at]],
        "beside": mean["beside"],
        "width": mean_m / 10,
        "width_spread": np.sqrt(np.maximum(mean["square_m2"].fillna(0) - mean_m**2, 0)) / 10,
        "bend": np.minimum(length_m / np.maximum(chord_m, 1), 3) - 1,
        "dead_end": dead_ends == 1,
        "alone": dead_ends > 1,
    }
    return {name: np.asarray(values, dtype=np.float64) for name, values in features.items()}


def road_probability(graph: Graph, seen: pandas.DataFrame) -> np.ndarray:
    """Return the probability that each line of a graph in meters is a road: (m,) float64; NaN without evidence."""
    return logistic(road_features(graph, seen), ROAD_COEFFICIENTS)


# Distance from a road's sides at which the ground beside it is sampled: beyond its blurred edge.
_BESIDE_M = 3.0


def seen_along(graph: Graph, surroundings: Surroundings) -> pandas.DataFrame:
    """Return the EVIDENCE at each vertex of lines."""
    tangent, width_m = tangents(graph), surroundings.width_m(graph.points)
    away_m = np.where(np.isfinite(width_m), width_m, 0) / 2 + _BESIDE_M
    aside = away_m[:, None] * np.column_stack([-tangent[:, 1], tangent[:, 0]])
    places = np.concatenate([graph.points, graph.points + aside, graph.points - aside])  # in one pass over the raster
    probability, left, right = surroundings.probability(places).reshape(3, -1)
    beside = (surroundings.evidence(left) + surroundings.evidence(right)) / 2
    columns = (probability, surroundings.evidence(probability), beside, width_m, _dead_ends(graph, surroundings))
    return pandas.DataFrame(dict(zip(EVIDENCE, columns)))


def seen_along_some(graph: Graph, chosen: np.ndarray, surroundings: Surroundings) -> tuple[Graph, pandas.DataFrame]:
    """Return some edges, (k,) int64 in order, as a graph, and the evidence along them.

    Dead ends are those of the whole graph.
    """
    kept = np.zeros(len(graph.edges), dtype=bool)
    kept[chosen] = True
    part = select_edges(graph, kept)
    is_dead_end = _dead_ends(graph, surroundings)[np.repeat(kept, graph.sizes)]
    return part, seen_along(part, surroundings).assign(is_dead_end=is_dead_end)


def _dead_ends(graph: Graph, surroundings: Surroundings) -> np.ndarray:
    """Return which vertices are dead ends, but for those at the edge of the data: (p,) bool."""
    is_end = (graph.degree == 1) & ~surroundings.is_data_edge(graph.nodes)
    found = np.zeros(len(graph.points), dtype=bool)
    found[graph.offsets[:-1]] = is_end[graph.edges[:, 0]]
    found[graph.offsets[1:] - 1] |= is_end[graph.edges[:, 1]]
    return found


@dataclass(frozen=True)
class LineMeasures:
    """Measures of lines by the pixels along them, kept by vertex so that the parts of a line can be put together.

    `vertices`, (p, MEASURES) float64, are NaN where a vertex does not count, or without a probability. `votes`, (m,
    classes) int64, are the pixels of each road class along each line; None without classes.
    """

    vertices: np.ndarray
    votes: Optional[np.ndarray]


def measure_lines(
    graph: Graph, around: Graph, surroundings: Surroundings, pixel_m: tuple[float, float],
    classes: Optional[ClassRaster],
) -> LineMeasures:  # fmt: skip
    """Measure lines, or parts of lines, by the pixels along them and by the lines around."""
    seen = seen_along(graph, surroundings)
    lines = ParallelLines(around.points, tangents(around), surroundings.width_m(around.points))
    to_other = other_carriageway(graph.points, tangents(graph), seen["width_m"].to_numpy(), lines)
    votes = None if classes is None else class_votes(scaled(graph, 1 / np.array(pixel_m)), classes)
    return LineMeasures(np.column_stack([seen.to_numpy(dtype=np.float64), to_other]), votes)


def attributes(
    graph: Graph, measures: LineMeasures, classes: Sequence[RoadClass], driving_side: str
) -> dict[str, np.ndarray]:
    """Return the attributes of lines by the names of columns: width, confidence, status, class, usual speed, tags.

    They are (m,) float64 or object with NaN and None where something is not known.
    """
    seen = pandas.DataFrame(measures.vertices, columns=MEASURES)
    width_m = median_of_lines(graph, seen["width_m"].to_numpy())
    columns = {
        "width_m": width_m,
        "confidence": seen["probability"].groupby(graph.owner).mean().to_numpy(),
        "road_probability": road_probability(graph, seen),
        STATUS: np.full(len(width_m), MACHINE, dtype=object),
    }
    tags = carriageway_tags(_other_on_left(graph, measures), driving_side)
    if measures.votes is None:
        return {**columns, **osm_tags(width_m), **tags}
    road_class, speed_kmh = elected(measures.votes, classes)
    return {**columns, "road_class": road_class, SPEED: speed_kmh, **osm_tags(width_m, road_class), **tags}


def along_traffic(graph: Graph, measures: LineMeasures, grid: Grid, driving_side: str) -> Graph:
    """Return the graph with the lines of dual carriageways in the direction of their traffic, where it is known.

    The grid shows whether its rows go down as usual or up.
    """
    left = np.sign(grid.transform.determinant) * _other_on_left(graph, measures)
    return reversed_edges(graph, runs_against(left, driving_side))


def _other_on_left(graph: Graph, measures: LineMeasures) -> np.ndarray:
    return left_fraction(graph, tangents(graph), measures.vertices[:, len(EVIDENCE) :])
