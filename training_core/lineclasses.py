"""The class and the speed of each line, by what the pixels along it say.

Knows rasters of classes and graphs over their pixels; knows nothing of networks that tell classes, or of maps.

The speed of a line is the 85th percentile of the speeds that its pixels tell, as Etten, "City-scale road extraction
from satellite imagery v2", WACV 2020, has it, and its class is the one that this speed is of.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rasterio.io import DatasetReader

from .errors import ImageryError
from .graph import Graph
from .grid import Grid, grid_of
from .roadclasses import CLASSES_TAG, RoadClass, from_document
from .roadraster import pixels_at, read_rows

PERCENTILE = 85
# How far, in pixels, corners of two grids may lie from each other that are the same.
_SAME_PX = 0.01
_REMEDY = "Give the raster of classes that Segment roads wrote along with this mask or probability."


@dataclass(frozen=True)
class ClassRaster:
    """What class the roads of a raster are of.

    Parameters
    ----------
    height, width : int
        Size in pixels.
    read : callable
        Takes a first row and a number of rows; returns numbers of classes, (rows, width), from 1. What is none of them
        is not known.
    classes : tuple of RoadClass
    """

    height: int
    width: int
    read: Callable[[int, int], np.ndarray]
    classes: tuple[RoadClass, ...]


def class_array(numbers: np.ndarray, classes: tuple[RoadClass, ...]) -> ClassRaster:
    """Return numbers of classes in memory, (height, width), uint8, as a raster."""
    return ClassRaster(*numbers.shape, lambda first_row, count: numbers[first_row : first_row + count], classes)


def class_band(dataset: DatasetReader, grid: Grid, of: str) -> ClassRaster:
    """Return a raster's first band as classes.

    Parameters
    ----------
    dataset : DatasetReader
    grid : Grid
        That of the mask or probability whose roads it tells of.
    of : str
        The name of that.

    Raises
    ------
    ImageryError
        It lies on another grid, or does not tell names and speeds of classes; or, later, as it is read, it holds other
        numbers than those of classes.
    """
    name, classes = dataset.name, _told_classes(dataset)
    if not _is_same(grid_of(dataset), grid):
        raise ImageryError(f"{name} does not lie on {of} pixel by pixel.", _REMEDY)

    def read(first_row: int, count: int) -> np.ndarray:
        values, known = read_rows(dataset, first_row, count)
        numbers = np.where(known, values, 0)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() <= len(classes)):
            raise ImageryError(
                f"{name} holds numbers from {numbers.min()} to {numbers.max()}, but tells of {len(classes)} classes.",
                _REMEDY,
            )
        return numbers

    return ClassRaster(dataset.height, dataset.width, read, classes)


def _told_classes(dataset: DatasetReader) -> tuple[RoadClass, ...]:
    try:
        classes = from_document(json.loads(dataset.tags()[CLASSES_TAG]))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ImageryError(
            f"{dataset.name} does not tell names and speeds of classes of roads (in its tag {CLASSES_TAG}).", _REMEDY
        ) from error
    if not classes or not np.issubdtype(np.dtype(dataset.dtypes[0]), np.integer):
        raise ImageryError(f"{dataset.name} holds no numbers of classes of roads.", _REMEDY)
    return classes


def _is_same(one: Grid, other: Grid) -> bool:
    if one.crs != other.crs or (one.width, one.height) != (other.width, other.height):
        return False
    corners = [(0, 0), (one.width, 0), (0, one.height)]
    return all(
        np.hypot(*np.subtract(~other.transform @ (one.transform @ corner), corner)) <= _SAME_PX for corner in corners
    )


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
