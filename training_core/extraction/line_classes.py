"""Road class and speed of each line, by a percentile of the classes of the pixels along it.

Scope: class rasters, and graphs with columns and rows as coordinates. Independent of the model that predicted the
classes, and of maps.

The speed of a line is the 85th percentile of the speeds of its pixels' classes, as in Van Etten, "City-scale road
extraction from satellite imagery v2", WACV 2020; its class is the one with that speed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..geodata.road_classes import RoadClass
from ..geodata.road_raster import ClassRaster, pixels_at
from ..networks.graph import Graph

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
    chosen = percentile_class(votes, np.array([each.speed_kmh for each in classes]))
    is_known = votes.any(axis=1)
    names = np.array([road_class.name for road_class in classes], dtype=object)[chosen]
    speed_kmh = np.array([road_class.speed_kmh for road_class in classes], dtype=np.float64)[chosen]
    names[~is_known], speed_kmh[~is_known] = None, np.nan
    return names, speed_kmh


def _samples(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return the points at which classes are sampled, (n, 2), and the line of each.

    The ends of lines are left out because in a junction they lie on another road as well. A line without other vertices
    has its middle.
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
