"""Road rasters: a mask, a probability, or class numbers, in memory or in a file, read by strips of rows.

Scope: reading, and what a file's numbers mean; for masks see `mask_values`. Independent of lines and maps. Nothing as
large as the image is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
from rasterio.enums import MaskFlags
from rasterio.io import DatasetReader
from rasterio.windows import Window

from ..errors import ImageryError
from ..events import Reporter
from ..jobs import MaskValueOptions
from ..jobs.json_fields import parse
from .grid import Grid, grid_of, shared_offset
from .mask_values import MaskValues, is_shown, mask_values_of, read_values
from .pixel_codes import CERTAIN, NO_DATA, ROAD, reaches
from .road_classes import CLASSES_TAG, RoadClass, from_document

_STRIP_PX = 1 << 22
# Strips begin at multiples of this, because masks of a bit per pixel are written by 8 rows.
STRIP_MULTIPLE = 8
# Names no values, so that they mean what they mean by convention.
_BY_CONVENTION = MaskValueOptions()
_CLASSES_REMEDY = "Give the raster of classes that Segment roads wrote along with this mask or probability."


@dataclass(frozen=True)
class RoadRaster:
    """A mask or probability of road, read by `strip_rows`, a multiple of 8; 0 for about four million pixels at a time.

    `read` leads from a first row and a number of rows to road, bool, or its probability from 0 to 1, float32, and to
    which pixels have data, bool: (rows, width) each.
    """

    height: int
    width: int
    read: Callable[[int, int], tuple[np.ndarray, np.ndarray]]
    threshold: Optional[float] = None  # probability from which a pixel is road; None for a mask
    strip_rows: int = 0
    mask_values: Optional[MaskValues] = None  # of a mask in a file

    def strips(self) -> Iterator[tuple[int, int]]:
        """Yield the first row and number of rows of each strip; first rows are multiples of 8."""
        return strips_of(self.height, self.width, self.strip_rows)

    def road(self, values: np.ndarray, known: np.ndarray, fraction: float = 1.0) -> np.ndarray:
        """Return which pixels are road, from what `read` returns, bool or float32, and bool: (rows, width) bool.

        `fraction` (0 to 1) is that of the threshold for the lower one of hysteresis. It means nothing for a mask.
        """
        return known & (values if self.threshold is None else reaches(values, self.threshold * fraction))

    def extremes(self) -> tuple[float, float]:
        """Return the lowest and the highest probability, or NaN without data."""
        lowest = highest = np.float32(np.nan)
        for strip in self.strips():
            values, known = self.read(*strip)
            if known.any():
                lowest, highest = np.fmin(lowest, values[known].min()), np.fmax(highest, values[known].max())
        return float(lowest), float(highest)

    def probability_at(self, points: np.ndarray) -> np.ndarray:
        """Return the probability at the pixels nearest to points, (n, 2) columns and rows: (n,) float64.

        NaN where there are no data, and everywhere in a mask.
        """
        if self.threshold is None:
            return np.full(len(points), np.nan)

        def read(first_row: int, count: int) -> np.ndarray:
            values, known = self.read(first_row, count)
            return np.where(known, values, np.float32(np.nan))

        return pixels_at(points, self.height, self.width, read, self.strip_rows).astype(np.float64)


def strips_of(height: int, width: int, strip_rows: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the first row and number of rows of the strips of an image; for `strip_rows` see `RoadRaster`."""
    rows = strip_rows or max(1, _STRIP_PX // width // STRIP_MULTIPLE) * STRIP_MULTIPLE
    for first_row in range(0, height, rows):
        yield first_row, min(rows, height - first_row)


def pixels_at(
    points: np.ndarray, height: int, width: int, read: Callable[[int, int], np.ndarray], strip_rows: int = 0
) -> np.ndarray:
    """Return the values of the pixels nearest to points, also beyond the border: (n,), same dtype as `read` returns.

    Points are column and row, (n, 2) float64; pixel centers are whole numbers. `read` leads from a first row and a
    number of rows to values, (rows, width). Only strips with points are read.
    """
    columns, rows = np.clip(np.rint(points).astype(np.int64), 0, (width - 1, height - 1)).T
    # In the order of their rows the points of a strip are a run, and each strip is read once.
    order = np.argsort(rows, kind="stable")
    parts = []
    for first_row, count in strips_of(height, width, strip_rows):
        first, last = np.searchsorted(rows, [first_row, first_row + count], sorter=order)
        if first < last:
            chosen = order[first:last]
            parts.append(read(first_row, count)[rows[chosen] - first_row, columns[chosen]])
    values = np.concatenate(parts) if parts else np.zeros(0)
    in_order_of_points = np.empty_like(values)
    in_order_of_points[order] = values
    return in_order_of_points


def array_raster(
    road: np.ndarray, known: np.ndarray, threshold: Optional[float] = None, strip_rows: int = 0
) -> RoadRaster:
    """Wrap a (height, width) bool mask or float32 probability in memory as a road raster.

    The (height, width) bool `known` is where there are data.
    """

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        rows = slice(first_row, first_row + count)
        return road[rows], known[rows]

    return RoadRaster(road.shape[0], road.shape[1], read, threshold, strip_rows)


def byte_raster(probability: np.ndarray, threshold: float) -> RoadRaster:
    """Wrap probability bytes in memory, (height, width) uint8, as a road raster; road is from `threshold`, 0 to 1."""

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        values = probability[first_row : first_row + count]
        return values / np.float32(CERTAIN), values != NO_DATA

    return RoadRaster(probability.shape[0], probability.shape[1], read, threshold)


def band_raster(
    dataset: DatasetReader, threshold: float, reporter: Reporter, options: MaskValueOptions = _BY_CONVENTION
) -> RoadRaster:
    """Open a raster as a road raster: a mask, or its first band as a probability; see `mask_values.values_of`.

    The road of a probability begins at `threshold`. In a mask that has only road and no data, these are background.
    Raises ImageryError if there are no data, or numbers that are not probabilities or mean nothing in a mask, also when
    it is read. Raises ResourceError if it is too large, see `mask_values.values_of`.
    """
    values = mask_values_of(dataset, options, reporter)
    if values is not None:
        return _with_background(_mask_raster(dataset, values), dataset.name)
    raster = _probability_raster(dataset, threshold)
    if not any(raster.read(*strip)[1].any() for strip in raster.strips()):
        raise _empty(dataset.name)
    return raster


def _mask_raster(dataset: DatasetReader, values: MaskValues) -> RoadRaster:
    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        window = Window(0, first_row, dataset.width, count)
        codes = values.codes(read_values(dataset, window, dataset.name), is_shown(dataset, window), dataset.name)
        return codes == ROAD, codes != NO_DATA

    return RoadRaster(dataset.height, dataset.width, read, mask_values=values)


def _probability_raster(dataset: DatasetReader, threshold: float) -> RoadRaster:
    scale, offset = np.float32(dataset.scales[0]), np.float32(dataset.offsets[0])

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        values, known = read_rows(dataset, first_row, count)
        if np.issubdtype(values.dtype, np.floating):
            known &= np.isfinite(values)
        elif np.isclose(scale, 1 / CERTAIN):  # as Segment roads writes it, also where its nodata entry is lost
            known &= values != NO_DATA
        probability = values.astype(np.float32) * scale + offset
        probability[~known] = 0.0
        low, high = (probability.min(), probability.max()) if probability.size else (0.0, 0.0)
        if not (low >= -1e-3 and high <= 1 + 1e-3):
            raise ImageryError(
                f"{dataset.name} holds numbers from {low:g} to {high:g}, which are not probabilities.",
                "Give a probability from 0 to 1, or a mask of whole numbers.",
            )
        return probability, known

    return RoadRaster(dataset.height, dataset.width, read, threshold)


def _with_background(mask: RoadRaster, name: str) -> RoadRaster:
    """Return a mask, with nodata as background if all of its data are road."""
    has_road = False
    for strip in mask.strips():
        road, known = mask.read(*strip)
        if (known & ~road).any():
            return mask
        has_road |= bool(known.any())
    if not has_road:
        raise _empty(name)

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        road, known = mask.read(first_row, count)
        return road & known, np.ones_like(known)

    return replace(mask, read=read)


def _empty(name: str) -> ImageryError:
    return ImageryError(f"{name} has no data anywhere.", "Choose another raster.")


def read_rows(dataset: DatasetReader, first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Read rows of the first band, in the dataset's dtype, and where there are data, bool: (rows, width) each."""
    window = Window(0, first_row, dataset.width, count)
    values = dataset.read(1, window=window)
    if MaskFlags.all_valid in dataset.mask_flag_enums[0]:
        return values, np.ones(values.shape, dtype=bool)
    return values, dataset.read_masks(1, window=window) > 0


@dataclass(frozen=True)
class ClassRaster:
    """A raster of road class numbers.

    `read` leads from a first row and a number of rows to class numbers from 1, (rows, width), an integer type. Any
    other number means that the class is unknown.
    """

    height: int
    width: int
    read: Callable[[int, int], np.ndarray]
    classes: tuple[RoadClass, ...]


def class_array(numbers: np.ndarray, classes: tuple[RoadClass, ...]) -> ClassRaster:
    """Wrap class numbers in memory, (height, width) uint8, as a raster."""
    height, width = numbers.shape
    return ClassRaster(height, width, lambda first_row, count: numbers[first_row : first_row + count], classes)


def class_band(dataset: DatasetReader, grid: Grid, of: str) -> ClassRaster:
    """Open a raster's first band as class numbers on the grid of a mask or probability, which `of` names in messages.

    Raises ImageryError if it is on another grid, lacks the names and speeds of classes, or, when it is read, holds
    numbers that are not classes.
    """
    name, classes, own = dataset.name, _tagged_classes(dataset), grid_of(dataset)
    is_alike = (own.crs, own.width, own.height) == (grid.crs, grid.width, grid.height)
    if not is_alike or shared_offset(grid, own) != (0, 0):
        raise ImageryError(f"{name} and {of} are not on the same grid.", _CLASSES_REMEDY)

    def read(first_row: int, count: int) -> np.ndarray:
        values, known = read_rows(dataset, first_row, count)
        numbers = np.where(known & (values != NO_DATA), values, 0)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() <= len(classes)):
            raise ImageryError(
                f"{name} holds numbers from {numbers.min()} to {numbers.max()}, but has {len(classes)} classes.",
                _CLASSES_REMEDY,
            )
        return numbers

    return ClassRaster(dataset.height, dataset.width, read, classes)


def _tagged_classes(dataset: DatasetReader) -> tuple[RoadClass, ...]:
    try:
        classes = from_document(parse(dataset.tags()[CLASSES_TAG]))
    except (KeyError, ValueError) as error:
        raise ImageryError(
            f"{dataset.name} has no names and speeds of road classes (in its tag {CLASSES_TAG}).", _CLASSES_REMEDY
        ) from error
    if not classes or not np.issubdtype(np.dtype(dataset.dtypes[0]), np.integer):
        raise ImageryError(f"{dataset.name} holds no numbers of road classes.", _CLASSES_REMEDY)
    return classes
