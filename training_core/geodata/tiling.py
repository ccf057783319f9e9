"""Tiles with a halo: how a raster of any size is worked through so that no seam shows.

Knows windows and receptive fields; knows nothing of files or networks.

A tile's core is what it contributes; its halo is context that is computed and thrown away. A network of stride 32 sees
the same thing in a tile as in the whole image where the tile begins at a multiple of 32 and the halo covers the
receptive field (NIST, Exact Tile-Based Segmentation Inference, 2021). At the raster's edge the halo is clipped, never
made up, and the right and bottom are padded once, to a multiple of 32, as the whole image would be.

All tiles of an image enter the network in one size. What runs networks prepares itself anew for each size that it
meets, which takes as long as a tile or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

# Sides of what enters the network are multiples of this: five halvings.
STRIDE_PX = 32

# Beyond this the deviation from the whole image hardly shows in a mask; where it was not measured.
USUAL_HALO_PX = 128


def round_up(px: int) -> int:
    """Return the next multiple of STRIDE_PX that is not below a number of pixels."""
    return -(-px // STRIDE_PX) * STRIDE_PX


@dataclass(frozen=True)
class Tile:
    """One piece of work, in pixels of the grid.

    Parameters
    ----------
    column, row, width, height : int
        The core: what the tile contributes.
    left, top, right, bottom : int
        The halo around it.
    """

    column: int
    row: int
    width: int
    height: int
    left: int
    top: int
    right: int
    bottom: int

    @property
    def read_window(self) -> tuple[int, int, int, int]:
        """Column, row, width and height of core and halo."""
        return (
            self.column - self.left,
            self.row - self.top,
            self.left + self.width + self.right,
            self.top + self.height + self.bottom,
        )

    @property
    def destination(self) -> tuple[slice, slice]:
        """Where the core lies in the raster, as rows and columns."""
        return slice(self.row, self.row + self.height), slice(self.column, self.column + self.width)

    @property
    def core(self) -> tuple[slice, slice]:
        """Where the core lies in what was read, as rows and columns."""
        return slice(self.top, self.top + self.height), slice(self.left, self.left + self.width)


def tile_grid(
    width: int, height: int, core_px: int, halo: int, window: Optional[tuple[int, int, int, int]] = None
) -> Iterator[Tile]:
    """Yield the tiles of a raster row by row; their cores cover it without gap or overlap.

    All tiles enter the network in one size, at most `core_px + 2 * halo` a side: what a halo does not take at the
    raster's edge, the core does.

    Parameters
    ----------
    width, height : int
        The raster's size in pixels.
    core_px, halo : int
        Largest side of the core of a tile with halos all around, and least width of a halo, in pixels, multiples of 32.
    window : tuple of int, optional
        Column, row, width and height of what is to be covered; else all of it.
    """
    column, row, window_width, window_height = window or (0, 0, width, height)
    columns = list(_spans(width, column, column + window_width, core_px, halo))
    for top, down, above, below in _spans(height, row, row + window_height, core_px, halo):
        for first, across, left, right in columns:
            yield Tile(first, top, across, down, left, above, right, below)


def tile_count(
    width: int, height: int, core_px: int, halo: int, window: Optional[tuple[int, int, int, int]] = None
) -> int:
    """Return how many tiles `tile_grid` yields, without making them."""
    column, row, window_width, window_height = window or (0, 0, width, height)
    columns, _, _ = _division(*_reach(width, column, column + window_width, halo), core_px, halo)
    rows, _, _ = _division(*_reach(height, row, row + window_height, halo), core_px, halo)
    return columns * rows


def _spans(size: int, begin: int, end: int, core_px: int, halo: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield begin, length and halo before and after of the cores from begin to end, along one side of a raster."""
    reach = _reach(size, begin, end, halo)
    count, side_px, step_px = _division(*reach, core_px, halo)
    first = begin
    for number in range(count):
        is_last = number == count - 1
        start = reach[1] - side_px if is_last else reach[0] + number * step_px
        last = end if is_last else start + side_px - halo
        yield first, last - first, first - start, min(start + side_px, size) - last
        first = last


def _reach(size: int, begin: int, end: int, halo: int) -> tuple[int, int]:
    """Return from where to where the network must see, as multiples of its stride."""
    return max(0, begin - halo) // STRIDE_PX * STRIDE_PX, round_up(min(size, end + halo))


def _division(start: int, stop: int, core_px: int, halo: int) -> tuple[int, int, int]:
    """Return in how many tiles to divide a stretch, how long each is, and how far apart they begin."""
    if stop - start <= core_px + 2 * halo:
        return 1, stop - start, 0
    count = -(-(stop - start - 2 * halo) // core_px)
    step_px = round_up(-(-(stop - start - 2 * halo) // count))
    return count, step_px + 2 * halo, step_px


def overhead(tiles: Iterable[Tile]) -> float:
    """Return how many pixels these tiles read for each one that they contribute."""
    tiles = list(tiles)
    read = sum(tile.read_window[2] * tile.read_window[3] for tile in tiles)
    return read / sum(tile.width * tile.height for tile in tiles)
