"""The division of a region into parts for road extraction: a grid, cores without gap or overlap, and their margins.

Scope: pixels of the region's grid. Independent of scenes' files, of probability and of roads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import shapely
from shapely.geometry.base import BaseGeometry

from ..geodata.grid import Grid
from ..jobs import NetworkOptions
from ..networks.cleaning import UNLIKELY_ROUNDS
from ..networks.gaps import WAY_AROUND

# Parts and their margins are made of whole cells, so that every place is seen the same by all parts that show it.
CELL_PX = 256
# Far enough for thinning in wide places, and the widths of roads, in meters; and how far other carriageways are seen.
_LOCAL_M, _ALONGSIDE_M = 100.0, 120.0
# A patch of the smallest area that is kept is at least so wide.
_NARROWEST_M = 3.0
_WIDEST_MARGIN_PX = 4096


@dataclass(frozen=True, order=True)
class Part:
    """A part of the region's grid.

    Parameters
    ----------
    row, column : int
        Its first pixel.
    height, width : int
        Its size in pixels.
    """

    row: int
    column: int
    height: int
    width: int

    def grown(self, margin_px: int, grid: Grid) -> "Part":
        """Return the part with a margin, clipped at the border of the grid."""
        top, left = max(0, self.row - margin_px), max(0, self.column - margin_px)
        bottom = min(grid.height, self.row + self.height + margin_px)
        right = min(grid.width, self.column + self.width + margin_px)
        return Part(top, left, bottom - top, right - left)


def margin_px(options: NetworkOptions, pixel_m: tuple[float, float]) -> int:
    """Return the margin with which a part has the roads of the undivided region, in whole cells.

    Every step of extraction looks no farther around than the lengths among its options allow, one after the other.

    Parameters
    ----------
    pixel_m : tuple of float
        Ground size of a pixel in meters along columns and along rows.
    """
    area_m = options.min_area_m2 / _NARROWEST_M
    linked_m = (1 + WAY_AROUND) * options.likely_gap_m  # the link, and the way around it along the network
    pruned_m = options.spur_m + UNLIKELY_ROUNDS * options.stub_m
    joined_m = options.gap_m + options.snap_m + options.close_m + linked_m
    reach_m = _LOCAL_M + max(area_m, pruned_m + joined_m) + _ALONGSIDE_M
    return min(_WIDEST_MARGIN_PX, CELL_PX * math.ceil(reach_m / min(pixel_m) / CELL_PX))


def divide(grid: Grid, side_px: int, footprints: Sequence[BaseGeometry]) -> Iterator[Part]:
    """Yield the parts that show anything, row by row.

    Parameters
    ----------
    grid : Grid
        Of the region.
    side_px : int
        Of a part, about: it is rounded to whole cells.
    footprints : sequence of geometry
        Where there may be data, in columns and rows of the grid.
    """
    tree = shapely.STRtree(list(footprints))
    rows, columns = _spans(grid.height, side_px), _spans(grid.width, side_px)
    for row, height in rows:
        for column, width in columns:
            if len(tree.query(shapely.box(column, row, column + width, row + height), predicate="intersects")):
                yield Part(row, column, height, width)


def _spans(size_px: int, side_px: int) -> list[tuple[int, int]]:
    """Return start and length of each part along one side, all about as long, in whole cells but for the last."""
    count = max(1, round(size_px / side_px))
    step_px = CELL_PX * math.ceil(size_px / count / CELL_PX)
    return [(begin, min(step_px, size_px - begin)) for begin in range(0, size_px, step_px)]
