"""The region's grid, on which the roads of all scenes are extracted, and its division into parts.

Parts have cores without gap or overlap, and margins around them. Scope: CRS, pixels and extents. Independent of files,
of probability and of roads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from affine import Affine
from pyproj import Transformer
from shapely.geometry.base import BaseGeometry

from ..geodata.grid import SAME_PX, Grid
from ..jobs import NetworkOptions
from ..networks.cleaning import UNLIKELY_ROUNDS
from ..networks.gaps import WAY_AROUND

# Parts and their margins are made of whole cells, so that all parts that show a place see it the same.
CELL_PX = 256
# Far enough for thinning in wide places, and the widths of roads, in meters; and how far other carriageways are seen.
_LOCAL_M, _ALONGSIDE_M = 100.0, 120.0
# The smallest width of a patch of the smallest area that is kept.
_NARROWEST_M = 3.0
_WIDEST_MARGIN_PX = 4096
# Points for each side of an outline that is taken to another CRS, where straight lines are bent.
_POINTS_A_SIDE = 16


@dataclass(frozen=True, order=True)
class Part:
    """A part of the region's grid, by its first pixel and its size in pixels."""

    row: int
    column: int
    height: int
    width: int

    @property
    def bounds(self) -> tuple[int, int, int, int]:
        """Least column and row, greatest column and row."""
        return self.column, self.row, self.column + self.width, self.row + self.height

    def grown(self, margin_px: int, grid: Grid) -> "Part":
        """Return the part with a margin, clipped at the border of the grid."""
        left, top, right, bottom = self.bounds
        left, top = max(0, left - margin_px), max(0, top - margin_px)
        right, bottom = min(grid.width, right + margin_px), min(grid.height, bottom + margin_px)
        return Part(top, left, bottom - top, right - left)


def region_grid(grids: Sequence[Grid]) -> Grid:
    """Return the grid of the largest mosaic at the model's resolution, extended by whole cells to all mosaics."""
    main = max(grids, key=lambda grid: grid.width * grid.height)
    bounds = np.array([outline_on(main, grid).bounds for grid in grids])
    first = np.floor(bounds[:, :2].min(axis=0) / CELL_PX + SAME_PX) * CELL_PX
    size = np.ceil(bounds[:, 2:].max(axis=0) - first - SAME_PX)
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


def margin_px(options: NetworkOptions, pixel_m: tuple[float, float]) -> int:
    """Return the margin with which a part has the roads of the undivided region, in pixels of whole cells.

    Every step of extraction looks no farther around than the lengths among its options allow, one after the other.
    `pixel_m` is the size of a pixel along columns and along rows.
    """
    area_m = options.min_area_m2 / _NARROWEST_M
    linked_m = (1 + WAY_AROUND) * options.likely_gap_m  # the link, and the way around it along the network
    pruned_m = options.spur_m + UNLIKELY_ROUNDS * options.stub_m
    joined_m = options.gap_m + options.snap_m + options.close_m + linked_m
    reach_m = _LOCAL_M + max(area_m, pruned_m + joined_m) + _ALONGSIDE_M
    return min(_WIDEST_MARGIN_PX, CELL_PX * math.ceil(reach_m / min(pixel_m) / CELL_PX))


def divide(grid: Grid, side_px: int, footprints: Sequence[BaseGeometry]) -> Iterator[Part]:
    """Yield the parts of a region that may have data, row by row.

    `side_px` is their approximate side, rounded to whole cells. Footprints, in columns and rows of the grid, show where
    there may be data.
    """
    tree = shapely.STRtree(list(footprints))
    rows, columns = _spans(grid.height, side_px), _spans(grid.width, side_px)
    for row, height in rows:
        for column, width in columns:
            part = Part(row, column, height, width)
            if len(tree.query(shapely.box(*part.bounds), predicate="intersects")):
                yield part


def _spans(size_px: int, side_px: int) -> list[tuple[int, int]]:
    """Return start and length of parts of about equal length along one side, in whole cells but for the last."""
    count = max(1, round(size_px / side_px))
    step_px = CELL_PX * math.ceil(size_px / count / CELL_PX)
    return [(begin, min(step_px, size_px - begin)) for begin in range(0, size_px, step_px)]
