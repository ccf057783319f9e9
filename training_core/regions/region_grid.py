"""The region's grid: one grid on which the roads of all scenes are extracted.

Scope: CRS, pixels and extents. Independent of files and of roads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from affine import Affine
from pyproj import Transformer
from shapely.geometry.base import BaseGeometry

from ..geodata.grid import Grid
from .part_grid import CELL_PX

# Points a side of an outline that is taken to another CRS, where straight lines are bent.
_POINTS_A_SIDE = 16
# Grids share their pixels if these are off by no more than this share of a pixel.
_SAME_PX = 0.01


def region_grid(grids: Sequence[Grid]) -> Grid:
    """Return the grid of a region: that of the largest of several grids, extended to all of them.

    Parameters
    ----------
    grids : sequence of Grid
        Those of the mosaics, at the model's resolution.

    Returns
    -------
    Grid
        Its first pixel is a multiple of a cell away from the largest grid's.
    """
    main = max(grids, key=lambda grid: grid.width * grid.height)
    bounds = np.array([outline_on(main, grid).bounds for grid in grids])
    first = np.floor(bounds[:, :2].min(axis=0) / CELL_PX + _SAME_PX) * CELL_PX
    size = np.ceil(bounds[:, 2:].max(axis=0) - first - _SAME_PX)
    return Grid(main.crs, main.transform @ Affine.translation(*first), *size.astype(int).tolist())


def outline_on(grid: Grid, other: Grid) -> BaseGeometry:
    """Return the outline of another grid in columns and rows of a grid."""
    outline = other.outline
    if other.crs != grid.crs:
        longest = max(outline.bounds[2] - outline.bounds[0], outline.bounds[3] - outline.bounds[1])
        transformer = Transformer.from_crs(other.crs, grid.crs, always_xy=True)
        outline = shapely.transform(
            shapely.segmentize(outline, longest / _POINTS_A_SIDE),
            lambda points: np.column_stack(transformer.transform(*points.T)),
        )
    return shapely.transform(outline, lambda points: np.column_stack(~grid.transform @ tuple(points.T)))


def shared_offset(grid: Grid, other: Grid) -> tuple[int, int] | None:
    """Return the column and row of a grid at which another one begins; None where they do not share their pixels."""
    if other.crs != grid.crs:
        return None
    between = ~grid.transform @ other.transform
    scale = np.array([between.a, between.b, between.d, between.e])
    # A difference in scale adds up over all pixels.
    drift_px = np.abs(scale - [1, 0, 0, 1]).max() * max(other.width, other.height)
    column, row = round(between.c), round(between.f)
    if max(drift_px, abs(between.c - column), abs(between.f - row)) > _SAME_PX:
        return None
    return column, row
