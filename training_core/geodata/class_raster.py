"""Rasters of road classes, read beside the mask or probability that they belong to.

Scope: rasters of class numbers, and the classes' names and speeds in their tags. Independent of lines.
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

# How far apart, in pixels, corners of equal grids may be.
_SAME_PX = 0.01
_REMEDY = "Give the raster of classes that Segment roads wrote along with this mask or probability."


@dataclass(frozen=True)
class ClassRaster:
    """A raster of class numbers.

    Parameters
    ----------
    height, width : int
        Size in pixels.
    read : callable
        Takes a first row and a number of rows; returns class numbers, (rows, width), an integer type, from 1. Any other
        number means that the class is unknown.
    """

    height: int
    width: int
    read: Callable[[int, int], np.ndarray]
    classes: tuple[RoadClass, ...]


def class_array(numbers: np.ndarray, classes: tuple[RoadClass, ...]) -> ClassRaster:
    """Wrap class numbers in memory, (height, width), uint8, as a raster."""
    return ClassRaster(*numbers.shape, lambda first_row, count: numbers[first_row : first_row + count], classes)


def class_band(dataset: DatasetReader, grid: Grid, of: str) -> ClassRaster:
    """Open a raster's first band as class numbers, to be read by strips.

    Parameters
    ----------
    grid : Grid
        The grid of the mask or probability that it belongs to.
    of : str
        The name of that raster, for messages.

    Raises
    ------
    ImageryError
        It is on another grid, or lacks the names and speeds of classes; or, when it is read, it holds numbers that are
        no classes.
    """
    name, classes = dataset.name, _tagged_classes(dataset)
    if not _is_same(grid_of(dataset), grid):
        raise ImageryError(f"{name} and {of} are not on the same grid.", _REMEDY)

    def read(first_row: int, count: int) -> np.ndarray:
        values, known = read_rows(dataset, first_row, count)
        numbers = np.where(known, values, 0)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() <= len(classes)):
            raise ImageryError(
                f"{name} holds numbers from {numbers.min()} to {numbers.max()}, but has {len(classes)} classes.",
                _REMEDY,
            )
        return numbers

    return ClassRaster(dataset.height, dataset.width, read, classes)


def _tagged_classes(dataset: DatasetReader) -> tuple[RoadClass, ...]:
    try:
        classes = from_document(json.loads(dataset.tags()[CLASSES_TAG]))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ImageryError(
            f"{dataset.name} has no names and speeds of road classes (in its tag {CLASSES_TAG}).", _REMEDY
        ) from error
    if not classes or not np.issubdtype(np.dtype(dataset.dtypes[0]), np.integer):
        raise ImageryError(f"{dataset.name} holds no numbers of road classes.", _REMEDY)
    return classes


def _is_same(one: Grid, other: Grid) -> bool:
    if one.crs != other.crs or (one.width, one.height) != (other.width, other.height):
        return False
    corners = [(0, 0), (one.width, 0), (0, one.height)]
    return all(
        np.hypot(*np.subtract(~other.transform @ (one.transform @ corner), corner)) <= _SAME_PX for corner in corners
    )
