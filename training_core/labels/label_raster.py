"""Label rasters: drawn roads rasterized to 1 road, 0 background, 255 ignore.

Scope: lines, polygons and their ground widths. Independent of the image's values and of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import geopandas
import numpy as np
import shapely
from scipy.ndimage import binary_dilation, binary_erosion

from ..geodata.fields import numbers_in
from ..geodata.grid import Grid, Window, common_window
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..geodata.rasterize import burn_shapes, pixel_window, shapes_on
from ..geodata.shapes import around, in_short_pieces
from ..jobs import LabelOptions
from ..jobs.fields import METERS, NO, word_in
from ..system import large_arrays


@dataclass(frozen=True)
class Labels:
    """Labels, (height, width), uint8, BACKGROUND, ROAD or IGNORE, on the part of a grid from a column and row on.

    `classes`, uint8, are the numbers of the roads' classes, from 1; 0 without a road, or if its class is not known.
    """

    column: int
    row: int
    values: np.ndarray
    classes: Optional[np.ndarray] = None

    def within(self, window: Window) -> np.ndarray:
        """Return the labels of a window (column, row, width, height) of the grid: (height, width), uint8."""
        height, width = self.values.shape
        column, row, common_width, common_height = common_window(window, (self.column, self.row, width, height))
        values = np.full((window[3], window[2]), IGNORE, dtype=np.uint8)
        # Indexes of the common part, counted in the grid, and from there in either array.
        rows, columns = (
            np.arange(first, first + count) for first, count in ((row, common_height), (column, common_width))
        )
        values[np.ix_(rows - window[1], columns - window[0])] = self.values[
            np.ix_(rows - self.row, columns - self.column)
        ]
        return values


@dataclass(frozen=True)
class Ground:
    """Drawn shapes as polygons in the ground meters of a grid, in arrays (n,), object.

    `sure`, (n,), bool, are the roads that are certain. Pixels without road are background if they are `known`.
    `no_road` is background except on drawn roads.
    """

    roads: np.ndarray
    sure: np.ndarray
    known: np.ndarray
    no_road: np.ndarray

    def burn(self, grid: Grid, window: tuple[int, int, int, int]) -> np.ndarray:
        """Rasterize a window (column, row, width, height) to BACKGROUND, ROAD or IGNORE: (height, width), uint8."""
        # Later lines win: known ground is background, sure roads on it are road, and all unsure roads are ignored.
        is_known, no_road = burn_shapes(self.known, grid, window), burn_shapes(self.no_road, grid, window)
        values = np.where(is_known | no_road, BACKGROUND, IGNORE).astype(np.uint8)
        is_road = burn_shapes(self.roads[self.sure], grid, window)
        values[is_road] = np.where(is_known[is_road], ROAD, IGNORE)
        values[burn_shapes(self.roads[~self.sure], grid, window)] = IGNORE
        return values


def burn_labels(
    grid: Grid,
    roads: geopandas.GeoDataFrame,
    aoi: Optional[geopandas.GeoDataFrame],
    options: LabelOptions,
    class_numbers: Optional[np.ndarray] = None,
    no_road: Optional[geopandas.GeoDataFrame] = None,
) -> Optional[Labels]:
    """Rasterize drawn roads to labels on a grid; None if nothing on it is labeled.

    Lines are buffered on the ground by half their width. Unlabeled is not background: pixels outside the area of
    interest are ignored. Without one, those farther from a road than `background_m` are. So are roads marked unsure. In
    the polygons without a road, everything that no drawn road covers is background. Layers may be in any CRS. Class
    numbers, (roads,), uint8, are from 1, or 0 if not known. Where several classes meet, the last one wins.
    """
    shapes, road = _road_shapes(roads, grid, options)
    sure = is_sure(roads, options)[road]
    known = around(shapes, options.background_m) if aoi is None else shapes_on(aoi, grid)
    free = np.zeros(0, dtype=object) if no_road is None else shapes_on(no_road, grid)
    ground = Ground(shapes, sure, known, free)
    column, row, width, height = pixel_window(np.concatenate([known, free]), grid)
    if not width or not height:
        return None
    values = large_arrays.allocate((height, width), np.uint8)
    for rows in large_arrays.strips(height, width):
        values[rows] = ground.burn(grid, (column, row + rows.start, width, rows.stop - rows.start))
    numbers = np.zeros(len(road), dtype=np.uint8) if class_numbers is None else np.where(sure, class_numbers[road], 0)
    classes = _burn_classes(shapes, numbers, grid, (column, row, width, height)) if numbers.any() else None
    return Labels(column, row, values, classes)


def _burn_classes(shapes: np.ndarray, numbers: np.ndarray, grid: Grid, window: tuple[int, int, int, int]) -> np.ndarray:
    """Return the class of the road at each pixel of a window: (height, width), uint8."""
    column, row, width, height = window
    classes = large_arrays.allocate((height, width), np.uint8)
    for rows in large_arrays.strips(height, width):
        strip = (column, row + rows.start, width, rows.stop - rows.start)
        classes[rows] = 0
        for number in np.unique(numbers[numbers > 0]):
            classes[rows][burn_shapes(shapes[numbers == number], grid, strip)] = number
    return classes


def is_sure(roads: geopandas.GeoDataFrame, options: LabelOptions) -> np.ndarray:
    """Return which roads are not marked unsure in the sure field, all without one: (roads,), bool."""
    if not options.sure_field:
        return np.ones(len(roads), dtype=bool)
    return ~roads[options.sure_field].map(lambda value: word_in(value) in NO).to_numpy(dtype=bool)


def own_widths_m(roads: geopandas.GeoDataFrame, field: str) -> np.ndarray:
    """Return the roads' widths in a field, in meters: (roads,), float64; NaN where it has no number above 0."""
    widths_m = numbers_in(roads[field], METERS)
    return np.where(widths_m > 0, widths_m, np.nan)


def _road_shapes(roads: geopandas.GeoDataFrame, grid: Grid, options: LabelOptions) -> tuple[np.ndarray, np.ndarray]:
    """Return the roads as polygons in ground meters, (n,), object, and the road that each is of, (n,), int64.

    A line comes as the buffers of its pieces. Without a valid width in the field it gets the common one.
    """
    width_m = np.full(len(roads), options.width_m)
    if options.width_field:
        own = own_widths_m(roads, options.width_field)
        width_m = np.where(np.isnan(own), width_m, own)
    reach_m = width_m.max(initial=0) / 2 + options.background_m
    shapes, road = in_short_pieces(shapes_on(roads, grid, reach_m))
    is_line = shapely.get_dimensions(shapes) == 1
    shapes[is_line] = shapely.buffer(shapes[is_line], width_m[road[is_line]] / 2)
    return shapes, road


def near_edges(road: np.ndarray, known: np.ndarray, radius_px: int) -> np.ndarray:
    """Return which labeled pixels are near an edge of a road, of road and known ones, all (height, width), bool.

    Roads so narrow that nothing else of them would remain keep their pixels.
    """
    if not radius_px:
        return np.zeros(road.shape, dtype=bool)
    # The parts of roads that are a radius away from any edge. The border of the labels is not an edge.
    core = road & binary_erosion(road | ~known, _disk(radius_px), border_value=1)
    # Reaches any pixel of a road from its core, so pixels out of its reach belong to roads too narrow for a core.
    wide = binary_dilation(core, _disk(2 * radius_px))
    outside = known & ~road & binary_dilation(road, _disk(radius_px))
    return outside | (road & ~core & wide)


def _disk(radius_px: int) -> np.ndarray:
    rows, columns = np.ogrid[-radius_px : radius_px + 1, -radius_px : radius_px + 1]
    return rows**2 + columns**2 <= radius_px**2
