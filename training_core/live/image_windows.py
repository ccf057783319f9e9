"""Windows of an image, read when they are needed and kept in a bounded cache.

Scope: pixel values and masks of data. Independent of labels and of models. An image may be larger than memory, but a
session reads the same places again and again.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..geodata.rasters import Image
from ..system.memory import available_bytes

# Column, row, width and height in pixels of the grid.
Window = tuple[int, int, int, int]
# Side of the squares that are read and kept.
SQUARE_PX = 256
# Limits of the cache: bytes, and fraction of the free memory.
MAX_BYTES, MEMORY_FRACTION = 512 << 20, 1 / 8


class ImageWindows:
    """A cache of an image at the working resolution; the image must stay open."""

    def __init__(self, image: Image) -> None:
        self._image, self.grid, self.own_grid, self.name = image, image.grid, image.own_grid, image.name
        self.max_bytes = int(min(MAX_BYTES, MEMORY_FRACTION * available_bytes()))
        square_bytes = SQUARE_PX**2 * (len(image.indexes) * image.dtype.itemsize + 1)
        self._square = lru_cache(max(1, self.max_bytes // square_bytes))(self._read_square)

    def read(self, column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Return values, (bands, height, width), dtype of the raster, and a mask of data, (height, width), bool.

        The window, in pixels of the grid, may reach beyond the image.
        """
        values = np.zeros((len(self._image.indexes), height, width), dtype=self._image.dtype)
        known = np.zeros((height, width), dtype=bool)
        # Copy the part of each square that lies in the window; the rest stays without data.
        for down in range(max(0, row) // SQUARE_PX, -(-min(row + height, self.grid.height) // SQUARE_PX)):
            for across in range(max(0, column) // SQUARE_PX, -(-min(column + width, self.grid.width) // SQUARE_PX)):
                corner = across * SQUARE_PX - column, down * SQUARE_PX - row
                for target, square in zip((values, known), self._square(down, across)):
                    paste(target, square, *corner)
        return values, known

    def _read_square(self, down: int, across: int) -> tuple[np.ndarray, np.ndarray]:
        column, row = across * SQUARE_PX, down * SQUARE_PX
        width, height = min(SQUARE_PX, self.grid.width - column), min(SQUARE_PX, self.grid.height - row)
        return self._image.read(column, row, width, height)


def paste(target: np.ndarray, part: np.ndarray, column: int, row: int) -> None:
    """Copy a part into a target, with its corner at a column and row of it, as far as it lies inside.

    Both are (..., height, width), of the same dtype.
    """
    height, width = target.shape[-2:]
    top, left = max(0, row), max(0, column)
    bottom = max(top, min(height, row + part.shape[-2]))
    right = max(left, min(width, column + part.shape[-1]))
    target[..., top:bottom, left:right] = part[..., top - row : bottom - row, left - column : right - column]
