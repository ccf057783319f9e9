"""The class and the speed of each line, by what the pixels along it say.

Knows rasters of classes and graphs over their pixels; knows nothing of networks that tell classes, or of maps.

The speed of a line is the 85th percentile of the speeds that its pixels tell, as Etten, "City-scale road extraction
from satellite imagery v2", WACV 2020, has it, and its class is the one that this speed is of.
"""

from __future__ import annotations

import numpy as np

from ..geodata.class_raster import ClassRaster
from ..geodata.road_raster import pixels_at
from ..networks.graph import Graph

PERCENTILE = 85


def classes_along(graph: Graph, raster: ClassRaster) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of each line by name, (m,), object, and its speed in km/h, (m,), float64.

    Where no pixel of a line tells one, they are None and not a number.

    Parameters
    ----------
    graph : Graph
        Its lines have a vertex for each pixel that they cross, but where gaps were closed and junctions put right.
    raster : ClassRaster
    """
    points, line = _voters(graph)
    numbers = pixels_at(points, raster.height, raster.width, raster.read).astype(np.int64)
    count = len(raster.classes)
    tells = (numbers >= 1) & (numbers <= count)
    at = line[tells] * count + numbers[tells] - 1
    votes = np.bincount(at, minlength=len(graph.edges) * count).reshape(-1, count)
    chosen, is_told = elect(votes, np.array([each.speed_kmh for each in raster.classes])), votes.any(axis=1)
    names, speed_kmh = (
        np.array([getattr(each, part) for each in raster.classes], dtype)[chosen]
        for part, dtype in (("name", object), ("speed_kmh", np.float64))
    )
    return np.where(is_told, names, None), np.where(is_told, speed_kmh, np.nan)


def _voters(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return the places on the lines that tell their class, (n, 2), and the line of each.

    Not so the lines' ends, which in a junction lie on another road as well; a line without other vertices has its
    middle.
    """
    inner, short = ~graph.is_end, np.flatnonzero(graph.sizes == 2)
    middle = (graph.points[graph.offsets[short]] + graph.points[graph.offsets[short] + 1]) / 2
    return np.concatenate([graph.points[inner], middle]), np.concatenate([graph.owner[inner], short])


def elect(votes: np.ndarray, speed_kmh: np.ndarray) -> np.ndarray:
    """Return the class that the 85th percentile of votes falls on, for each line: (m,), int64, from 0.

    It is that of the least speed which 85 % of the votes are not above, so always the speed of a class, and never one
    between two. Of classes with the same speed, which have no order, it is the one with the most votes.

    Parameters
    ----------
    votes : ndarray (m, classes), int64
        How many pixels of each line tell each class.
    speed_kmh : ndarray (classes,), float64
    """
    speeds, rank = np.unique(speed_kmh, return_inverse=True)
    by_speed = votes @ (rank.ravel()[:, None] == np.arange(len(speeds)))
    passed = np.cumsum(by_speed, axis=1) * 100 >= votes.sum(axis=1, keepdims=True) * PERCENTILE
    is_candidate = rank.ravel() == passed.argmax(axis=1)[:, None]
    return np.where(is_candidate, votes, -1).argmax(axis=1)
