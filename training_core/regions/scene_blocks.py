"""Blocks of a scene: rectangles of about equal size that cover it, as tasks of a region.

Scope: windows in pixels. Independent of files, models and who computes. Blocks begin at multiples of the model's
stride on the mosaic's grid, where the tiles of the undivided mosaic would, so that no pixel is computed in vain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

import geopandas
import shapely
from shapely.geometry.base import BaseGeometry

from ..geodata.grid import Grid
from ..geodata.rasterize import ground_shapes, pixel_window
from ..geodata.tiling import STRIDE_PX, round_up
from .catalog import Scene
from .mosaic import Mosaic, Window


@dataclass(frozen=True)
class Block:
    """A part of a scene.

    Parameters
    ----------
    scene : str
        The scene's name.
    column, row, width, height : int
        In pixels of the mosaic's grid at the model's resolution.
    """

    scene: str
    column: int
    row: int
    width: int
    height: int

    @property
    def window(self) -> Window:
        """Column, row, width and height."""
        return self.column, self.row, self.width, self.height

    @property
    def megapixels(self) -> float:
        """Its pixels, in millions."""
        return self.width * self.height / 1e6


@dataclass(frozen=True, eq=False)
class MosaicArea:
    """The area of interest on a mosaic.

    Parameters
    ----------
    grid : Grid
        The mosaic's at the model's resolution.
    shape : BaseGeometry
        In ground meters; see `Grid.metric_transform`.
    window : tuple of int
        Column, row, width and height of the pixels that it touches; width and height are 0 if there are none.
    """

    grid: Grid
    shape: BaseGeometry
    window: Window

    def within(self, block: Block) -> Optional[str]:
        """Return the part of the area around a block, as hexadecimal WKB; None where all of the block lies in it."""
        corner = self.grid.metric_transform
        left, top = block.column - 1, block.row - 1
        right, bottom = block.column + block.width + 1, block.row + block.height + 1
        corners = [corner @ point for point in ((left, top), (right, top), (right, bottom), (left, bottom))]
        around = shapely.Polygon(corners)
        if shapely.covers(self.shape, around):
            return None
        return shapely.to_wkb(shapely.intersection(self.shape, around), hex=True)


def mosaic_area(mosaic: Mosaic, resolution_m: float, aoi: geopandas.GeoDataFrame) -> MosaicArea:
    """Return the area of interest on a mosaic.

    Parameters
    ----------
    resolution_m : float
        Ground size of the model's pixels in meters; 0 means the mosaic's own.
    aoi : GeoDataFrame
        Polygons in any CRS.
    """
    grid = mosaic.grid_at(resolution_m)
    shapes = ground_shapes(aoi, grid)
    shape = shapely.union_all(shapes)
    return MosaicArea(grid, shape, pixel_window(shapes, grid))


def scene_blocks(
    mosaic: Mosaic, scene: Scene, resolution_m: float, block_px: int, window: Optional[Window] = None
) -> list[Block]:
    """Divide a scene into blocks.

    Parameters
    ----------
    mosaic : Mosaic
        The one that the scene belongs to.
    resolution_m : float
        Ground size of the model's pixels in meters; 0 means the mosaic's own.
    block_px : int
        Largest side of a block in pixels, in steps of the model's stride.
    window : tuple of int, optional
        Column, row, width and height, on the mosaic's grid at that resolution, outside of which nothing is wanted.

    Returns
    -------
    list of Block
        Row by row, without gap or overlap. They are of about equal size, and begin at multiples of the stride, except
        where the scene or the window begins.
    """
    column, row, width, height = _common(mosaic.window_at(scene, resolution_m), window)
    rows = list(_spans(row, row + height, block_px))
    columns = list(_spans(column, column + width, block_px))
    return [Block(scene.name, left, top, across, down) for top, down in rows for left, across in columns]


def _common(window: Window, other: Optional[Window]) -> Window:
    """Return the common part of two windows; of no size where there is none."""
    if other is None:
        return window
    starts = [max(window[axis], other[axis]) for axis in (0, 1)]
    ends = [min(window[axis] + window[axis + 2], other[axis] + other[axis + 2]) for axis in (0, 1)]
    return (*starts, *(max(0, end - start) for start, end in zip(starts, ends)))


def _spans(begin: int, end: int, block_px: int) -> Iterator[tuple[int, int]]:
    """Yield start and length of blocks from begin to end."""
    if begin >= end:
        return
    first = begin // STRIDE_PX * STRIDE_PX
    most_px = max(STRIDE_PX, block_px // STRIDE_PX * STRIDE_PX)
    count = -(-(end - first) // most_px)
    step_px = round_up(-(-(end - first) // count))
    cuts = [begin, *range(first + step_px, end, step_px), end]
    for start, stop in zip(cuts, cuts[1:]):
        yield start, stop - start
