"""Tiles with a halo: how a raster of any size is worked through so that no seam shows.

Knows windows and receptive fields; knows nothing of files or networks.

A tile's core is what it contributes; its halo is context that is computed and thrown away. A network of stride 32 sees
the same thing in a tile as in the whole image where the tile begins at a multiple of 32 and the halo covers the
receptive field (NIST, Exact Tile-Based Segmentation Inference, 2021). At the raster's edge the halo is clipped, never
made up, and the right and bottom are padded once, to a multiple of 32, as the whole image would be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Beyond this the deviation from the whole image hardly shows in a mask; where it was not measured.
USUAL_HALO_PX = 128


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


def tile_grid(width: int, height: int, core_px: int, halo: int) -> Iterator[Tile]:
    """Yield the tiles of a raster row by row; their cores cover it without gap or overlap.

    Parameters
    ----------
    width, height : int
        The raster's size in pixels.
    core_px, halo : int
        Side of a tile's core and width of its halo in pixels, multiples of 32.
    """
    for row in range(0, height, core_px):
        for column in range(0, width, core_px):
            core_width, core_height = min(core_px, width - column), min(core_px, height - row)
            yield Tile(
                column,
                row,
                core_width,
                core_height,
                left=min(halo, column),
                top=min(halo, row),
                right=min(halo, width - column - core_width),
                bottom=min(halo, height - row - core_height),
            )


def overhead(tiles: Iterable[Tile]) -> float:
    """Return how many pixels these tiles read for each one that they contribute."""
    tiles = list(tiles)
    read = sum(tile.read_window[2] * tile.read_window[3] for tile in tiles)
    return read / sum(tile.width * tile.height for tile in tiles)
