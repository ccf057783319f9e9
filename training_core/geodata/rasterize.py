"""Rasterization: vector shapes as pixels of a grid, and the windows that hold them.

Scope: geometries and grids. Independent of what the shapes mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Optional

import geopandas
import numpy as np
import pyproj
import shapely
from affine import Affine
from pyproj import CRS
from pyproj.exceptions import ProjError
from rasterio.features import rasterize
from shapely.geometry import box
from shapely.geometry.base import BaseGeometry

from ..errors import LayerError
from .grid import Grid
from .shapes import projected, valid


def ground_shapes(layer: geopandas.GeoDataFrame, grid: Grid) -> np.ndarray:
    """Return a layer's geometries in the ground meters of a grid, (n,) object, with valid polygons.

    Shapes without a place in the grid's CRS are empty.
    """
    shapes = _in_meters(layer, grid)
    is_area = shapely.get_dimensions(shapes) == 2
    shapes[is_area] = valid(shapes[is_area])
    return shapes


def shapes_on(layer: geopandas.GeoDataFrame, grid: Grid, margin_m: float = 0.0) -> np.ndarray:
    """Return a layer's geometries as `ground_shapes` does, (n,) object, with polygons clipped to the grid and a margin.

    So each image takes only its part of an area with very many vertices. The layer's polygons must be valid, as
    `read_layer` returns them.
    """
    shapes = _in_meters(layer, grid)
    is_area = shapely.get_dimensions(shapes) == 2
    # The grid with the margin around it, in whole pixels, and one more against rounding.
    column, row = (math.ceil(margin_m / side_m) + 1 for side_m in grid.pixel_m)
    window = (-column, -row, grid.width + 2 * column, grid.height + 2 * row)
    shapes[is_area] = valid(shapely.clip_by_rect(shapes[is_area], *_ground_bounds(grid, window)))
    return shapes


def _in_meters(layer: geopandas.GeoDataFrame, grid: Grid) -> np.ndarray:
    shapes = projected(layer, crs_of(grid), grid.outline.bounds)
    return np.array([grid.to_metric(geometry) for geometry in shapes], dtype=object)


def _ground_bounds(grid: Grid, window: tuple[int, int, int, int]) -> tuple[float, float, float, float]:
    """Return left, bottom, right and top, in a grid's ground meters, of a window (column, row, width, height)."""
    return grid.to_metric(grid.window(*window).outline).bounds


def translated(layer: geopandas.GeoDataFrame, grid: Grid, east_m: float, north_m: float) -> geopandas.GeoDataFrame:
    """Return a layer in the CRS of a grid, its shapes moved on the ground; those without a place there are empty."""
    moved = shapely.transform(ground_shapes(layer, grid), lambda points: points + np.array([east_m, north_m]))
    return layer.set_geometry(geopandas.GeoSeries(grid.from_metric(moved), layer.index, crs_of(grid)))


def near(layer: geopandas.GeoDataFrame, grid: Grid, margin_m: float = 0.0) -> np.ndarray:
    """Return the rows of a layer, (n,) int64, whose bounding boxes come within a distance of a grid.

    With thousands of shapes and thousands of images, each image then takes only its own. The layer keeps its index.
    """
    surroundings = box_around(grid, layer.crs, margin_m)
    return np.arange(len(layer)) if surroundings is None else np.sort(layer.sindex.query(surroundings))


def box_around(grid: Grid, crs: CRS, margin_m: float) -> Optional[BaseGeometry]:
    """Return the bounding box, in a CRS, of all within a distance of a grid; None if there is none in that CRS."""
    column, row = (math.ceil(margin_m / side_m) + 1 for side_m in grid.pixel_m)
    outline = grid.window(-column, -row, grid.width + 2 * column, grid.height + 2 * row).outline
    try:
        to_crs = pyproj.Transformer.from_crs(crs_of(grid), crs, always_xy=True)
        west, south, east, north = to_crs.transform_bounds(*outline.bounds)
    except ProjError:
        west = south = east = north = np.nan
    if not np.isfinite([west, south, east, north]).all() or west > east:  # beyond the CRS, or the antimeridian
        return None
    return box(west, south, east, north)


def limit_to(
    grid: Grid, aoi: geopandas.GeoDataFrame, image: str = "the image"
) -> tuple[tuple[int, int, int, int], BaseGeometry]:
    """Return the window (column, row, width, height) that holds an area of interest, and its shape in ground meters.

    The area is polygons in any CRS. `image` names the grid's raster in messages. Raises LayerError if the area of
    interest is outside the grid.
    """
    shape = shapely.union_all(shapes_on(aoi, grid))
    window = pixel_window(np.array([shape]), grid)
    if not window[2] or not window[3]:
        raise LayerError(f"The area of interest lies outside {image}.", "Check both layers' coordinate systems.")
    return window, shape


def burn_shapes(shapes: Iterable[BaseGeometry], grid: Grid, window: tuple[int, int, int, int]) -> np.ndarray:
    """Return which pixel centers of a window lie in any of some shapes in ground meters: (height, width) bool.

    The window is column, row, width and height.
    """
    column, row, width, height = window
    # Clipped to the window and a pixel around it, so that no cut edge runs through a pixel center of the window.
    bounds = _ground_bounds(grid, (column - 1, row - 1, width + 2, height + 2))
    parts = shapely.clip_by_rect(np.array(list(shapes), dtype=object), *bounds)
    parts = parts[~shapely.is_empty(parts)]
    if not len(parts):
        return np.zeros((height, width), dtype=bool)
    transform = grid.metric_transform @ Affine.translation(column, row)
    return rasterize(parts, out_shape=(height, width), transform=transform, dtype=np.uint8) > 0


def crs_of(grid: Grid) -> CRS:
    """Return a grid's CRS as pyproj has it."""
    epsg = grid.crs.to_epsg()
    return CRS.from_epsg(epsg) if epsg else CRS.from_wkt(grid.crs.to_wkt())


def pixel_window(shapes: np.ndarray, grid: Grid) -> tuple[int, int, int, int]:
    """Return the window (column, row, width, height) of the pixels that polygons touch; size 0 where they touch none.

    Polygons are (n,) object in ground meters.
    """
    on_grid = shapely.clip_by_rect(grid.from_metric_to_pixels(shapes), 0, 0, grid.width, grid.height)
    on_grid = on_grid[shapely.area(on_grid) > 0]
    if not len(on_grid):
        return 0, 0, 0, 0
    left, top, right, bottom = shapely.total_bounds(on_grid)
    # Touching a pixel by less than rounding errors does not count.
    column, row = math.floor(left + 1e-6), math.floor(top + 1e-6)
    return column, row, math.ceil(right - 1e-6) - column, math.ceil(bottom - 1e-6) - row
