"""Tiling with a halo: overlapping tiles of one size that cover a raster without seams.

Scope: windows, strides, halos, in pixels. Independent of files and models.

A tile's core is its part of the result; its halo is context that is computed and discarded. A model of stride 32
computes the same in a tile as in the whole image if the tile begins at a multiple of 32 and the halo covers the
receptive field (NIST, Exact Tile-Based Segmentation Inference, 2021). At the raster's edge the halo is clipped, not
padded. Only right and bottom are padded to a multiple of 32 as for the whole image.

All tiles of an image have one size, because an engine takes as long to prepare for a new size as for a tile or two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from .grid import Window

# The model's stride: sides of its input are multiples of this, for five halvings of the resolution.
STRIDE_PX = 32

# The default halo, if none was measured: wider ones hardly change a mask.
USUAL_HALO_PX = 128


def round_up(px: int) -> int:
    """Round a number of pixels up to a multiple of the model's stride."""
    return -(-px // STRIDE_PX) * STRIDE_PX


@dataclass(frozen=True)
class Tile:
    """A tile, in pixels of the grid: the core, and the width of the halo on each side."""

    column: int
    row: int
    width: int
    height: int
    left: int
    top: int
    right: int
    bottom: int

    @property
    def read_window(self) -> Window:
        """Column, row, width and height of core and halo together."""
        column, row = self.column - self.left, self.row - self.top
        return column, row, self.left + self.width + self.right, self.top + self.height + self.bottom

    @property
    def destination(self) -> tuple[slice, slice]:
        """Rows and columns of the core in the raster."""
        return slice(self.row, self.row + self.height), slice(self.column, self.column + self.width)

    @property
    def core(self) -> tuple[slice, slice]:
        """Rows and columns of the core in the pixels of `read_window`."""
        return slice(self.top, self.top + self.height), slice(self.left, self.left + self.width)


def tile_grid(width: int, height: int, core_px: int, halo: int, window: Optional[Window] = None) -> Iterator[Tile]:
    """Divide a raster or a window (column, row, width, height) into tiles row by row.

    Their cores cover it without gap or overlap. All tiles with their halos have one size, at most `core_px + 2 * halo`
    a side. At the raster's edge, where the halo is clipped, the core is larger. `core_px` and `halo` are multiples of
    32.
    """
    columns, rows = _spans_of(width, height, core_px, halo, window)
    for top, down, above, below in rows:
        for first, across, left, right in columns:
            yield Tile(first, top, across, down, left, above, right, below)


def tile_count(width: int, height: int, core_px: int, halo: int, window: Optional[Window] = None) -> int:
    """Count the tiles that `tile_grid` yields for the same arguments, without making them."""
    columns, rows = _spans_of(width, height, core_px, halo, window)
    return len(columns) * len(rows)


_Span = tuple[int, int, int, int]


def _spans_of(
    width: int, height: int, core_px: int, halo: int, window: Optional[Window]
) -> tuple[list[_Span], list[_Span]]:
    column, row, window_width, window_height = window or (0, 0, width, height)
    columns = _spans(width, column, column + window_width, core_px, halo)
    return columns, _spans(height, row, row + window_height, core_px, halo)


def _spans(size: int, begin: int, end: int, core_px: int, halo: int) -> list[_Span]:
    """Return start and length of each core, and the halo before and after it, along one side of a raster."""
    # Core and halo together are divided, as multiples of the stride, into spans of one length.
    start, stop = max(0, begin - halo) // STRIDE_PX * STRIDE_PX, round_up(min(size, end + halo))
    count, side_px = 1, stop - start
    if stop - start > core_px + 2 * halo:
        count = -(-(stop - start - 2 * halo) // core_px)
        side_px = round_up(-(-(stop - start - 2 * halo) // count)) + 2 * halo
    spans, first = [], begin
    for number in range(count):
        is_last = number == count - 1
        left = stop - side_px if is_last else start + number * (side_px - 2 * halo)
        last = end if is_last else left + side_px - halo
        spans.append((first, last - first, first - left, min(left + side_px, size) - last))
        first = last
    return spans
