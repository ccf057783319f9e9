"""The lines of a view: those that vectorize would find there, from a window of the probability with a margin.

Scope: the window, its pixels and lines. Independent of sessions. A wide view is read in larger pixels, so that each
takes about a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Optional

import numpy as np
import shapely
from rasterio.io import DatasetReader
from rasterio.windows import Window as PixelWindow
from shapely.geometry.base import BaseGeometry

from ..events import Reporter
from ..geodata.grid import Grid, grid_of
from ..geodata.local_thresholds import with_threshold_areas
from ..geodata.road_raster import array_raster, read_probability
from ..jobs import NetworkOptions
from ..networks import cleaning
from .road_extraction import trace_roads

# A larger view is read in larger pixels, but not in such as are as wide as half a road.
_MAX_PX, _COARSEST_M = 1600**2, 2.0
# Around the view, so that its lines are connected as they are in the whole; with fine pixels at most so many.
_MARGIN_M, _MARGIN_PX = 100.0, 256
# As `road_extraction.trace_roads` wants windows to begin.
_MULTIPLE = 8

_Bounds = tuple[float, float, float, float]


def lines_in_view(
    dataset: DatasetReader,
    view: _Bounds,
    threshold: float,
    areas: Sequence[tuple[BaseGeometry, float]],
    options: NetworkOptions,
    reporter: Reporter,
) -> Optional[np.ndarray]:
    """Return the center-lines of a probability in a view, (n,) object; None if it is too wide to show roads.

    View (left, bottom, right, top), areas with thresholds of their own, and lines are in the CRS of the raster. Raises
    Cancelled.
    """
    grid = grid_of(dataset)
    columns, rows = ~grid.transform @ (np.array(view)[[0, 0, 2, 2]], np.array(view)[[1, 3, 1, 3]])
    left, right = np.clip([columns.min(), columns.max()], 0, grid.width)
    top, bottom = np.clip([rows.min(), rows.max()], 0, grid.height)
    if right <= left or bottom <= top or view[2] <= view[0] or view[3] <= view[1]:
        return np.zeros(0, dtype=object)
    side = max(1, math.ceil(math.sqrt((right - left) * (bottom - top) / _MAX_PX)))
    if side > 1 and side * max(grid.pixel_m) > _COARSEST_M:
        return None
    cells, values, known = _read(dataset, grid, (left, top, right, bottom), side)
    held = [(cells.to_metric(shape), value) for shape, value in areas]
    raster = with_threshold_areas(array_raster(values, known, threshold), cells, held)
    graph = trace_roads(raster, cells.pixel_m, options, reporter).graph
    graph = cleaning.simplify(cleaning.drop_short_components(graph, options.min_length_m), options.simplify_m)
    points = np.column_stack(cells.transform @ tuple((graph.points / cells.pixel_m + 0.5).T))
    lines = shapely.clip_by_rect(shapely.linestrings(points, indices=graph.owner), *view)
    return shapely.get_parts(lines[~shapely.is_empty(lines)])


def _read(dataset: DatasetReader, grid: Grid, within: _Bounds, side: int) -> tuple[Grid, np.ndarray, np.ndarray]:
    """Return the cells of `side` pixels about columns and rows, and their margin, with probability and data."""
    size = np.array([grid.width, grid.height]) // side
    margin = np.minimum(np.ceil(_MARGIN_M / np.array(grid.pixel_m) / side), _MARGIN_PX)
    first = np.maximum(np.floor(np.array(within[:2]) / side) - margin, 0) // _MULTIPLE * _MULTIPLE
    last = np.minimum(np.ceil(np.array(within[2:]) / side) + margin, size)
    first = np.minimum(first, last - 1)
    column, row, width, height = map(int, (*first, *(last - first)))
    window = PixelWindow(column * side, row * side, width * side, height * side)
    values, known = read_probability(dataset, window, side)
    cells = Grid(grid.crs, grid.transform @ type(grid.transform).scale(side), *size.tolist())
    return cells.window(column, row, width, height), values, known
