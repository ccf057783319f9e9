"""Local thresholds: areas in which another threshold holds, as a change of the probability on a raster.

A pixel whose odds p / (1 - p) are changed by the ratio of the odds of a raster's threshold and an area's reaches the
one where it reached the other. So all that follows still has one threshold, and lines run across an area's border.

Scope: layers of areas, and road rasters as data. Independent of how lines are traced.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import shapely
from scipy.ndimage import distance_transform_edt
from shapely.geometry.base import BaseGeometry

from ..errors import LayerError
from ..events import Reporter
from ..jobs.shared import THRESHOLDS
from ..system import large_arrays
from .fields import check_numbers, numbers_in
from .grid import Grid, Window
from .road_raster import RoadRaster
from .shapes import burn_shapes, pixel_window, shapes_on
from .vectors import read_polygons, require_fields, with_names

_PURPOSE, _FIELD = "threshold areas", "threshold"
# From an area's border outwards, its threshold passes into the one around it. Pixels of a few centimeters have a
# shorter way, since memory and time grow with its square.
PASSAGE_M = 30.0
_LONGEST_PX = 512
_BLOCK_PX = 1024
# Polygons in the ground meters of a grid, and the threshold that holds there.
ThresholdArea = tuple[BaseGeometry, float]


def read_threshold_areas(path: str, grid: Grid, reporter: Reporter) -> list[ThresholdArea]:
    """Return the areas of a layer that have an effect on a grid, in the layer's order.

    Raises LayerError if the layer cannot be used, has an area without a threshold, or lies elsewhere.
    """
    layer = with_names(read_polygons(path, _PURPOSE, reporter), [_FIELD], path, _PURPOSE)
    require_fields(layer, [_FIELD], path, _PURPOSE)
    check_numbers(layer, _FIELD, path, _PURPOSE, reporter)
    thresholds = numbers_in(layer[_FIELD])
    lowest, highest = THRESHOLDS
    is_wrong = ~((thresholds >= lowest) & (thresholds <= highest))
    if is_wrong.any():
        first = layer[_FIELD][is_wrong].iloc[0]
        raise LayerError(
            f"{is_wrong.sum():,} of {len(layer):,} {_PURPOSE} ({path}) have no threshold from {lowest} to {highest}: "
            f"the field {_FIELD!r} of the first is {first}.",
            "Correct the field, or delete these areas.",
        )
    shapes = shapes_on(layer, grid, PASSAGE_M)
    is_here = np.array([all(_zone(shape, grid)[2:]) for shape in shapes])
    if not is_here.any():
        raise LayerError(
            f"None of the {_PURPOSE} ({path}) lies on the raster.",
            "Give areas on the raster, or set the correct coordinate reference systems.",
        )
    if not is_here.all():
        reporter.warning(
            f"{(~is_here).sum():,} of {len(layer):,} {_PURPOSE} lie beyond the raster. They have no effect."
        )
    return list(zip(shapes[is_here], thresholds[is_here].tolist()))


def with_threshold_areas(raster: RoadRaster, grid: Grid, areas: Sequence[ThresholdArea]) -> RoadRaster:
    """Return a probability on a grid, changed so that its threshold means those of the areas within them.

    Where areas overlap, the last one holds. Beyond the passage around them, no value changes.
    """
    if raster.threshold is None:
        return raster
    # Each window with its change of the log odds, and the area's share in the threshold there.
    held = [
        (window, math.log(_odds(raster.threshold) / _odds(threshold)), _shares(shape, grid, window))
        for shape, threshold in areas
        if all((window := _zone(shape, grid))[2:])
    ]

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        values, known = raster.read(first_row, count)
        change = np.zeros_like(values)
        for (column, row, width, height), wanted, shares in held:
            begin, end = max(first_row, row), min(first_row + count, row + height)
            if begin < end:
                part = change[begin - first_row : end - first_row, column : column + width]
                part += shares[begin - row : end - row] * (np.float32(wanted) - part)
        is_changed = change != 0
        if is_changed.any():
            values, probability = values.copy(), np.clip(values[is_changed], 0, 1)
            odds = probability * np.exp(change[is_changed])
            values[is_changed] = odds / (1 - probability + odds)
        return values, known

    return replace(raster, read=read)


def _odds(probability: float) -> float:
    return probability / (1 - probability)


def _passage_m(grid: Grid) -> float:
    return min(PASSAGE_M, _LONGEST_PX * min(grid.pixel_m))


def _zone(shape: BaseGeometry, grid: Grid) -> Window:
    """Return the window of a grid in which an area has an effect; its size is 0 where it has none."""
    if shape.is_empty:
        return 0, 0, 0, 0
    around = shapely.box(*shape.bounds).buffer(_passage_m(grid), join_style="mitre")
    return pixel_window(np.array([around]), grid)


def _shares(shape: BaseGeometry, grid: Grid, window: Window) -> np.ndarray:
    """Return an area's share in the threshold: 1 within, and smoothly down to 0 outside: (height, width) float32."""
    column, row, width, height = window
    shares = large_arrays.allocate((height, width), np.float32)
    for top, left in itertools.product(range(0, height, _BLOCK_PX), range(0, width, _BLOCK_PX)):
        block = shares[top : top + _BLOCK_PX, left : left + _BLOCK_PX]
        block[:] = _shares_in(shape, grid, (column + left, row + top, block.shape[1], block.shape[0]))
    return shares


def _shares_in(shape: BaseGeometry, grid: Grid, window: Window) -> np.ndarray:
    column, row, width, height = window
    reach_m, (column_m, row_m) = _passage_m(grid), grid.pixel_m
    aside, above = math.ceil(reach_m / column_m) + 1, math.ceil(reach_m / row_m) + 1
    grown = column - aside, row - above, width + 2 * aside, height + 2 * above
    inside = burn_shapes([shape], grid, grown)
    own = inside[above : above + height, aside : aside + width]
    if own.all() or not inside.any():
        return own.astype(np.float32)
    distance_m = distance_transform_edt(~inside, sampling=(row_m, column_m))[above:-above, aside:-aside]
    share = np.clip(1 - distance_m / reach_m, 0, 1).astype(np.float32)
    return share**2 * (3 - 2 * share)
