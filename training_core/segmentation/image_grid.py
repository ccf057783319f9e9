"""Predictions on another grid than the model's, such as the image's own, resampled as their tiles come.

Probability is interpolated (bilinear) onto finer pixels and averaged (triangle filter) onto coarser ones, before any
threshold, so that the edges of roads are smooth on fine pixels. Classes, and where there are no data, are those of the
nearest pixel. Scope: two grids of one CRS with parallel axes. Independent of files and models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Optional

import numpy as np
from scipy import sparse

from ..geodata.grid import Grid, Window
from ..geodata.pixel_codes import NO_DATA
from ..geodata.tiling import Tile
from .inference import Prediction

# Approximate number of pixels that are resampled at once, few enough for a processor's cache.
_STRIP_PX = 1 << 20
# Axes are parallel if they deviate by less than this fraction of a pixel over a pixel.
_PARALLEL = 1e-9
# Pixels of the target may lie beyond the edge of the source by this fraction of its pixels: a scene of a mosaic has the
# pixels of the model's grid whose centers it shows.
_BEYOND_PX = 0.499
_ROUNDING_PX = 1e-6


def are_parallel(source: Grid, target: Grid) -> bool:
    """Return whether two grids have one CRS, and axes in the same directions, as `on_grid` needs them."""
    step = ~source.transform @ target.transform
    return source.crs == target.crs and max(abs(step.b), abs(step.d)) < _PARALLEL * min(step.a, step.e)


def covering_window(source: Grid, target: Grid) -> Window:
    """Return the window of a grid that covers another one, as far as they have ground in common."""
    step = ~source.transform @ target.transform
    begin, end = np.array([step @ (0, 0), step @ (target.width, target.height)])
    first = np.maximum(np.floor(begin + _ROUNDING_PX), 0).astype(int)
    last = np.minimum(np.ceil(end - _ROUNDING_PX), (source.width, source.height)).astype(int)
    return (*first.tolist(), *(last - first).tolist())


def on_grid(
    tiles: Iterable[tuple[Tile, Prediction]],
    source: Grid,
    target: Grid,
    window: Optional[Window] = None,
    has_classes: bool = False,
) -> Iterator[tuple[Tile, Prediction]]:
    """Yield predictions on a grid, resampled from tiles on another one; see `are_parallel`.

    Tiles come row by row and cover a window of the source; None for all of it. They are passed on as they are if the
    grids are the same. Otherwise strips of the target's pixels whose centers lie in the window are yielded, from top to
    bottom, with classes if asked.
    """
    if source == target:
        yield from tiles
        return
    left, top, width, height = window or (0, 0, source.width, source.height)
    step = ~source.transform @ target.transform
    across = _axis(step.a, step.c, target.width, source.width, (left, left + width))
    down = _axis(step.e, step.f, target.height, source.height, (top, top + height))
    planes, begin, row = np.empty((1 + has_classes, 0, width), dtype=np.uint8), 0, 0
    for rows in _joined_rows(tiles, left, width, has_classes):
        planes = np.concatenate([planes, rows], axis=1)
        end = begin + planes.shape[1]
        # Rows wait for the rows below that they are made of.
        ready = int(np.searchsorted(down.taps.max(axis=1, initial=0), end))
        while row < ready:
            strip = slice(row, min(ready, row + max(1, _STRIP_PX // max(1, len(across.taps)))))
            tile = Tile(across.begin, down.begin + row, len(across.taps), strip.stop - row, 0, 0, 0, 0)
            yield tile, _resampled(planes, begin, across, down, strip)
            row = strip.stop
        if row < len(down.taps):
            needed = int(down.taps[row].min())
            planes, begin = planes[:, needed - begin :], needed


def resampled(probability: np.ndarray, source: Grid, target: Grid) -> np.ndarray:
    """Return probability bytes of a grid, (height, width) uint8, on another one: (height, width) uint8."""
    values = np.full((target.height, target.width), NO_DATA, dtype=np.uint8)
    whole = Tile(0, 0, source.width, source.height, 0, 0, 0, 0), Prediction(probability, None)
    for tile, prediction in on_grid([whole], source, target):
        values[tile.destination] = prediction.probability
    return values


def _joined_rows(
    tiles: Iterable[tuple[Tile, Prediction]], left: int, width: int, has_classes: bool
) -> Iterator[np.ndarray]:
    """Yield each row of tiles as one array of probability and classes: (planes, height, width) uint8."""
    for _, row in groupby(tiles, key=lambda pair: pair[0].row):
        for number, (tile, prediction) in enumerate(row):
            if not number:
                planes = np.full((1 + has_classes, tile.height, width), NO_DATA, dtype=np.uint8)
            columns = slice(tile.column - left, tile.column - left + tile.width)
            planes[0, :, columns] = prediction.probability
            if has_classes and prediction.classes is not None:
                planes[1, :, columns] = prediction.classes
        yield planes


@dataclass(frozen=True)
class _Axis:
    """How the target's pixels along an axis, from `begin` on, are made of those of the source in a window.

    The `nearest` pixel, (n,), and the `taps`, (n, m), int64, that are summed with `weights`, (n, m) float32. They count
    from the beginning of the window.
    """

    begin: int
    nearest: np.ndarray
    taps: np.ndarray
    weights: np.ndarray

    def matrix(self, part: slice = slice(None), begin: int = 0, count: int = 0) -> sparse.csr_array:
        """Return the weights of some pixels as a matrix, (pixels, count), for the source's pixels from `begin` on."""
        taps, weights = self.taps[part] - begin, self.weights[part]
        ends = np.arange(len(taps) + 1) * taps.shape[1]
        return sparse.csr_array((weights.ravel(), taps.ravel(), ends), shape=(len(taps), count))


def _axis(step: float, offset: float, size: int, source_size: int, window: tuple[int, int]) -> _Axis:
    """Return an axis of `size` pixels, each `step` pixels of the source long, that begins at an `offset` in these."""
    begin, end = window
    centers = step * (np.arange(size) + 0.5) + offset
    low, high = begin - _BEYOND_PX * (begin == 0), end + _BEYOND_PX * (end == source_size)
    first, last = np.searchsorted(centers, (low, high))
    centers = centers[first:last] - begin
    # A triangle filter as wide as the larger of both pixels, of the pixels within the window.
    reach = max(1.0, step)
    around = np.arange(1 - math.ceil(reach), math.ceil(reach) + 1)
    taps = np.floor(centers - 0.5).astype(np.int64)[:, None] + around
    most = end - begin - 1
    weights = np.maximum(0, 1 - np.abs(taps + 0.5 - centers[:, None]) / reach) * ((taps >= 0) & (taps <= most))
    weights /= weights.sum(axis=1, keepdims=True)
    nearest = np.clip(np.floor(centers).astype(np.int64), 0, most)
    return _Axis(int(first), nearest, np.clip(taps, 0, most), weights.astype(np.float32))


def _resampled(planes: np.ndarray, begin: int, across: _Axis, down: _Axis, part: slice) -> Prediction:
    """Return a part of the target's rows, made of rows of the source from `begin` on, (planes, rows, width) uint8."""
    first, last = down.taps[part].min(), down.taps[part].max() + 1
    source = planes[0, first - begin : last - begin]
    columns, rows = across.matrix(count=source.shape[1]), down.matrix(part, first, last - first)

    def interpolated(values: np.ndarray) -> np.ndarray:
        wide = columns @ np.ascontiguousarray(values.T, dtype=np.float32)
        return rows @ np.ascontiguousarray(wide.T)

    known = source != NO_DATA
    nearest = np.ix_(down.nearest[part] - begin, across.nearest)
    if known.all():
        probability = np.rint(interpolated(source)).astype(np.uint8)
    elif known.any():
        # Pixels without data have no weight.
        weights = np.maximum(interpolated(known), np.finfo(np.float32).tiny)
        probability = np.rint(interpolated(np.where(known, source, 0)) / weights).astype(np.uint8)
        probability[planes[0][nearest] == NO_DATA] = NO_DATA
    else:
        probability = np.full((rows.shape[0], columns.shape[0]), NO_DATA, dtype=np.uint8)
    return Prediction(probability, planes[1][nearest] if len(planes) > 1 else None)
