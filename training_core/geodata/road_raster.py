"""A raster that shows roads, as a mask or a probability, read by strips.

Knows what a file's numbers mean and which of them are there; knows nothing of shapes, lines or maps. Nothing as large
as the image is kept.
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
from .pixel_codes import reaches

_STRIP_PX = 1 << 22
# Strips begin at multiples of so many rows, which is what masks at a bit a pixel are written by.
STRIP_MULTIPLE = 8


@dataclass(frozen=True)
class RoadRaster:
    """What tells of each pixel whether it is road.

    Parameters
    ----------
    height, width : int
        Size in pixels.
    read : callable
        Takes a first row and a number of rows; returns road, bool, or its probability from 0 to 1, float32, and which
        of these are known, bool: two arrays (rows, width).
    threshold : float, optional
        Probability from which a pixel is road; none for a mask.
    strip_rows : int
        Rows that are read at a time, a multiple of 8; 0 takes about four million pixels.
    """

    height: int
    width: int
    read: Callable[[int, int], tuple[np.ndarray, np.ndarray]]
    threshold: Optional[float] = None
    strip_rows: int = 0

    def strips(self) -> Iterator[tuple[int, int]]:
        """Yield first row and number of rows of each strip; first rows are multiples of 8."""
        return strips_of(self.height, self.width, self.strip_rows)

    def road(self, values: np.ndarray, known: np.ndarray, share: float = 1.0) -> np.ndarray:
        """Return which pixels, as read, are road, (rows, width), bool: from a share of the threshold on."""
        return known & (values if self.threshold is None else reaches(values, self.threshold * share))

    def probability_at(self, points: np.ndarray) -> np.ndarray:
        """Return the probability at the pixels nearest to points, (n, 2) columns and rows: (n,), float64.

        It is not a number where there are no data, and everywhere in a mask.
        """
        if self.threshold is None:
            return np.full(len(points), np.nan)

        def read(first_row: int, count: int) -> np.ndarray:
            values, known = self.read(first_row, count)
            return np.where(known, values, np.float32(np.nan))

        return pixels_at(points, self.height, self.width, read, self.strip_rows).astype(np.float64)


def strips_of(height: int, width: int, strip_rows: int = 0) -> Iterator[tuple[int, int]]:
    """Yield first row and number of rows of the strips of an image; see `RoadRaster`."""
    rows = strip_rows or max(1, _STRIP_PX // width // STRIP_MULTIPLE) * STRIP_MULTIPLE
    for first_row in range(0, height, rows):
        yield first_row, min(rows, height - first_row)


def pixels_at(
    points: np.ndarray, height: int, width: int, read: Callable[[int, int], np.ndarray], strip_rows: int = 0
) -> np.ndarray:
    """Return the values of the pixels nearest to points, (n, 2) columns and rows: (n,). Beyond the border as on it.

    Parameters
    ----------
    points : ndarray (n, 2)
    height, width : int
        Size of the image in pixels.
    read : callable
        Takes a first row and a number of rows; returns values (rows, width). Only strips with points are read.
    strip_rows : int
        See `RoadRaster`.
    """
    columns, rows = np.clip(np.rint(points).astype(np.int64), 0, (width - 1, height - 1)).T
    order = np.argsort(rows, kind="stable")
    parts = []
    for first_row, count in strips_of(height, width, strip_rows):
        first, last = np.searchsorted(rows, [first_row, first_row + count], sorter=order)
        if first < last:
            chosen = order[first:last]
            parts.append(read(first_row, count)[rows[chosen] - first_row, columns[chosen]])
    found = np.concatenate(parts) if parts else np.zeros(0)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return found[back]


def array_raster(road: np.ndarray, known: np.ndarray, **options: float) -> RoadRaster:
    """Return what is in memory: road, bool, or its probability, float32, and which is known: (height, width), bool."""

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        rows = slice(first_row, first_row + count)
        return road[rows], known[rows]

    return RoadRaster(*road.shape, read, **options)


def byte_raster(probability: np.ndarray, certain: int, no_data: int, threshold: float) -> RoadRaster:
    """Return probability bytes in memory, (height, width), uint8: 0 to `certain` for 0 to 1, and `no_data`."""

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        values = probability[first_row : first_row + count]
        return values / np.float32(certain), values != no_data

    return RoadRaster(*probability.shape, read, threshold)


def band_raster(dataset: DatasetReader, threshold: float) -> RoadRaster:
    """Return a raster's first band as road.

    Numbers with a fraction, and whole numbers that the file says how to scale, are probabilities; all else is a mask,
    with road where it is above 0. A mask that has nothing but road and no data means by no data that there is no road.

    Raises
    ------
    ImageryError
        There are no data at all; or, later, as they are read, numbers that are no probabilities.
    """
    scale, offset = np.float32(dataset.scales[0]), np.float32(dataset.offsets[0])
    is_mask = not np.issubdtype(np.dtype(dataset.dtypes[0]), np.floating) and scale == 1

    def read_mask(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        values, known = read_rows(dataset, first_row, count)
        return values > 0, known

    def read_probability(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        values, known = read_rows(dataset, first_row, count)
        known &= np.isfinite(values)
        probability = values.astype(np.float32) * scale + offset
        _check_probability(probability[known], dataset.name)
        return probability, known

    if is_mask:
        return _with_background(RoadRaster(dataset.height, dataset.width, read_mask), dataset.name)
    raster = RoadRaster(dataset.height, dataset.width, read_probability, threshold)
    if not any(raster.read(*strip)[1].any() for strip in raster.strips()):
        raise _empty(dataset.name)
    return raster


def _with_background(mask: RoadRaster, name: str) -> RoadRaster:
    """Return a mask as it is, or, where all that is known of it is road, with the rest known to be no road."""
    has_road = False
    for strip in mask.strips():
        road, known = mask.read(*strip)
        if (known & ~road).any():
            return mask
        has_road |= known.any()
    if not has_road:
        raise _empty(name)

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        road, known = mask.read(first_row, count)
        return road & known, np.ones_like(known)

    return replace(mask, read=read)


def _empty(name: str) -> ImageryError:
    return ImageryError(f"{name} has no data anywhere.", "Choose another raster.")


def read_rows(dataset: DatasetReader, first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some rows of the first band and which of their pixels are known."""
    window = Window(0, first_row, dataset.width, count)
    values = dataset.read(1, window=window)
    if MaskFlags.all_valid in dataset.mask_flag_enums[0]:
        return values, np.ones(values.shape, dtype=bool)
    return values, dataset.read_masks(1, window=window) > 0


def _check_probability(seen: np.ndarray, name: str) -> None:
    if seen.size and not (seen.min() >= -1e-3 and seen.max() <= 1 + 1e-3):
        raise ImageryError(
            f"{name} holds numbers from {seen.min():g} to {seen.max():g}, which are no probabilities.",
            "Give a probability from 0 to 1, or a mask of whole numbers.",
        )
