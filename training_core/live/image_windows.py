"""Windows of an image, read when they are needed and kept in a bounded cache.

Scope: pixel values and masks of data. Independent of labels and of models. An image may be larger than memory, but a
session reads the same places again and again.
"""

from __future__ import annotations

from collections import OrderedDict

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
        self._image, self.grid, self.name = image, image.grid, image.name
        self._squares: OrderedDict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = OrderedDict()
        self.max_bytes = int(min(MAX_BYTES, MEMORY_FRACTION * available_bytes()))
        self.held_bytes = 0

    def read(self, column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Return values, (bands, height, width), dtype of the raster, and a mask of data, (height, width), bool.

        The window, in pixels of the grid, may reach beyond the image.
        """
        known = np.zeros((height, width), dtype=bool)
        values = None
        # Copy the part of each cached square that lies in the window; the rest stays without data.
        for down in range(max(0, row) // SQUARE_PX, -(-min(row + height, self.grid.height) // SQUARE_PX)):
            for across in range(max(0, column) // SQUARE_PX, -(-min(column + width, self.grid.width) // SQUARE_PX)):
                part, has_data = self._square(down, across)
                if values is None:
                    values = np.zeros((len(part), height, width), dtype=part.dtype)
                rows = _overlap(down * SQUARE_PX, has_data.shape[0], row, height)
                columns = _overlap(across * SQUARE_PX, has_data.shape[1], column, width)
                known[rows[1], columns[1]] = has_data[rows[0], columns[0]]
                values[:, rows[1], columns[1]] = part[:, rows[0], columns[0]]
        if values is None:
            values = np.zeros((len(self._image.indexes), height, width), dtype=np.float32)
        return values, known

    def _square(self, down: int, across: int) -> tuple[np.ndarray, np.ndarray]:
        square = self._squares.get((down, across))
        if square is None:
            column, row = across * SQUARE_PX, down * SQUARE_PX
            width, height = min(SQUARE_PX, self.grid.width - column), min(SQUARE_PX, self.grid.height - row)
            square = self._squares[down, across] = self._image.read(column, row, width, height)
            self.held_bytes += _bytes(square)
        self._squares.move_to_end((down, across))
        # Drop the squares that were not used for longest.
        while self.held_bytes > self.max_bytes and len(self._squares) > 1:
            self.held_bytes -= _bytes(self._squares.popitem(last=False)[1])
        return square


def _overlap(at: int, size: int, begin: int, length: int) -> tuple[slice, slice]:
    """Return the common part of a square and a span, as slices of each."""
    first = max(at, begin)
    last = max(first, min(at + size, begin + length))
    return slice(first - at, last - at), slice(first - begin, last - begin)


def _bytes(square: tuple[np.ndarray, np.ndarray]) -> int:
    return square[0].nbytes + square[1].nbytes
