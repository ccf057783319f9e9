"""Rasters of road classes, read beside the mask or probability that they belong to.

Scope: rasters whose numbers are road classes. Independent of lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rasterio.io import DatasetReader

from ..errors import ImageryError
from .grid import Grid, grid_of
from .road_classes import CLASSES_TAG, RoadClass, from_document
from .road_raster import read_rows

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
