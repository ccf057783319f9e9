"""The prediction of the visible part of the map: in pieces, first coarsely, then in full from the middle outward.

Scope: windows of the image and their probability. Independent of training, commands and files.

Commands are handled between two pieces, so pieces are sized to take about PIECE_S. After a change of the model, old
predictions stay until they are replaced: nothing flickers, and the coarse pass is skipped. When the view moves, its
predictions move along, and only new parts are computed.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from itertools import product
from typing import cast

import numpy as np

from ..geodata.pixel_codes import NO_DATA, to_byte
from ..geodata.tiling import STRIDE_PX, Tile, round_up, tile_grid
from ..segmentation.inference import Predictor, predict_pieces, read_piece
from .image_windows import ImageWindows, Window, paste

# Context around a piece: seams are hardly visible, and more context would cost time without a visible effect.
HALO_PX = 32
# About the time of a piece, and limits of its side.
PIECE_S, MIN_PIECE_PX, USUAL_PIECE_PX, MAX_PIECE_PX = 0.5, 224, 416, 992
# Only the middle of a larger view is predicted.
MAX_PX = 16_000_000
# Ground resolution of the coarse pass, and the unpredicted fraction of the view from which it is worth its time.
COARSE_M, WORTH_COARSE = 1.2, 0.25
# Weight of the newest piece in the running mean of the time per pixel.
_NEWEST = 0.3


class MapPrediction:
    """The probability in view, the `window` of the image that the map shows; without one, all sides are 0.

    `values`, (height, width), uint8, cover the window, see `to_byte`; NO_DATA also where nothing was predicted. If the
    view `is_cut`, it is too large, and only its middle is predicted. A coarse pixel has `factor` pixels a side.
    `changed_s` is the `time.perf_counter` of the last change of view or model.
    """

    def __init__(self, windows: ImageWindows) -> None:
        self._windows = windows
        self.window: Window = (0, 0, 0, 0)
        self.values = np.full((0, 0), NO_DATA, dtype=np.uint8)
        # Pixels of the view that the current model, and any model, has predicted at full resolution.
        self._is_current = np.zeros((0, 0), dtype=bool)
        self._is_full = np.zeros((0, 0), dtype=bool)
        # Tiles to predict; windows, to predict coarsely.
        self._work: deque[Tile | Window] = deque()
        self._predictor: Predictor | None = None
        self.factor = max(2, round(COARSE_M / windows.grid.resolution_m))
        self._s_per_px = 0.0
        self._was_full = self.is_cut = False
        self.changed_s = time.perf_counter()

    @property
    def is_empty(self) -> bool:
        """Whether there is no view of the image."""
        return not self.values.size

    @property
    def is_complete(self) -> bool:
        """Whether the current model has predicted all of the view."""
        return not self._work

    @property
    def is_coarse(self) -> bool:
        """Whether the view holds only coarse predictions."""
        return not self._is_current.any() and not self._was_full

    @property
    def fraction(self) -> float:
        """Fraction of the view that the current model has predicted at full resolution, from 0 to 1."""
        return 0.0 if self.is_empty else float(self._is_current.mean())

    def move(self, extent: tuple[float, float, float, float]) -> None:
        """Move to another extent: left, bottom, right and top in the CRS of the image."""
        (column, row, _, _), former = self.window, (self.values, self._is_current, self._is_full)
        self.window, self.is_cut = self._window_of(extent)
        shape = self.window[3], self.window[2]
        self.values = np.full(shape, NO_DATA, dtype=np.uint8)
        self._is_current, self._is_full = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        # Keep the predictions that both views have in common.
        for new, old in zip((self.values, self._is_current, self._is_full), former):
            paste(new, old, column - self.window[0], row - self.window[1])
        self._begin()

    def renew(self, predictor: Predictor) -> None:
        """Predict again with another model."""
        self._predictor = predictor
        self._is_current[:] = False
        self._begin()

    def give_up(self) -> None:
        """Cancel all pieces until the view or the model changes."""
        self._work.clear()

    def advance(self) -> bool:
        """Predict the next piece; return whether the view has changed."""
        work, predictor = self._work.popleft(), cast(Predictor, self._predictor)
        if isinstance(work, Tile):
            self._predict(work, predictor)
            return True
        self._predict_coarsely(work, predictor)
        return not self._work or isinstance(self._work[0], Tile)

    def part(self, window: Window) -> np.ndarray | None:
        """Return the current model's prediction of a window, (height, width), uint8; None if it is incomplete."""
        rows, columns = part = self._slices(window)
        is_inside = rows.start >= 0 and columns.start >= 0 and self.values[part].shape == (window[3], window[2])
        return self.values[part] if is_inside and self._is_current[part].all() else None

    def _slices(self, window: Window) -> tuple[slice, slice]:
        """Return the rows and columns of a window in the arrays of the view."""
        column, row, width, height = window
        left, top = column - self.window[0], row - self.window[1]
        return slice(top, top + height), slice(left, left + width)

    def _window_of(self, extent: tuple[float, float, float, float]) -> tuple[Window, bool]:
        """Return the window of the image in an extent, and whether it was cut to its middle."""
        left, bottom, right, top = extent
        grid = self._windows.grid
        # The bounding box of the corners in pixels, since the grid may be turned, cut to the image.
        corners = np.array([~grid.transform @ corner for corner in product((left, right), (bottom, top))])
        size = grid.width, grid.height
        first = np.clip(np.floor(corners.min(axis=0)), 0, size).astype(int)
        sides = np.clip(np.ceil(corners.max(axis=0)), 0, size).astype(int) - first
        if sides.min() <= 0:
            return (0, 0, 0, 0), False
        # At most MAX_PX around the middle.
        scale = min(1.0, math.sqrt(MAX_PX / float(sides.prod())))
        kept = np.maximum(1, (sides * scale).astype(int))
        column, row = (first + (sides - kept) // 2).tolist()
        width, height = kept.tolist()
        return (column, row, width, height), scale < 1

    def _begin(self) -> None:
        """List the pieces to predict: coarse ones if worth it, then those of the view, from its middle outward."""
        self._was_full = bool(self._is_full.any())
        self.changed_s = time.perf_counter()
        self.give_up()
        if self.is_empty or self._predictor is None:
            return
        side = self._side_px()
        if self._is_full.mean() <= 1 - WORTH_COARSE:
            self._work.extend(_divided(self.window, side * self.factor, self.factor))
        column, row, width, height = self.window
        x, y = column + width / 2, row + height / 2
        size = self._windows.grid.width, self._windows.grid.height
        tiles: list[Tile] = []
        for piece in _divided(self.window, side):
            if missing := self._missing(piece):
                # One tile, though its sides are rounded to the stride.
                tiles += tile_grid(*size, side + 2 * STRIDE_PX, HALO_PX, missing)
        tiles.sort(key=lambda tile: (tile.column + tile.width / 2 - x) ** 2 + (tile.row + tile.height / 2 - y) ** 2)
        self._work.extend(tiles)

    def _side_px(self) -> int:
        """Return the side of a piece that takes about PIECE_S, a multiple of the stride."""
        if not self._s_per_px:
            return USUAL_PIECE_PX
        side = int(math.sqrt(PIECE_S / self._s_per_px)) - 2 * HALO_PX
        return min(MAX_PIECE_PX, max(MIN_PIECE_PX, side // STRIDE_PX * STRIDE_PX))

    def _missing(self, window: Window) -> Window | None:
        """Return the bounding window of the pixels in a window that the current model has not predicted, if any."""
        missing = ~self._is_current[self._slices(window)]
        rows, columns = np.flatnonzero(missing.any(axis=1)), np.flatnonzero(missing.any(axis=0))
        if not len(rows):
            return None
        return (
            window[0] + int(columns[0]), window[1] + int(rows[0]),
            int(columns[-1] - columns[0]) + 1, int(rows[-1] - rows[0]) + 1,
        )  # fmt: skip

    def _predict(self, tile: Tile, predictor: Predictor) -> None:
        began_s = time.perf_counter()
        piece = read_piece(tile, self._windows.read, predictor.bands, name=self._windows.name)
        ((_, prediction),) = predict_pieces(predictor, [piece], 0)
        self._note_time(began_s, piece.image[0].size)
        part = self._slices((tile.column, tile.row, tile.width, tile.height))
        self.values[part] = prediction.probability
        self._is_current[part] = self._is_full[part] = True

    def _predict_coarsely(self, window: Window, predictor: Predictor) -> None:
        """Predict a window at a lower resolution, and fill the pixels without a full prediction."""
        factor, grid, (column, row, width, height) = self.factor, self._windows.grid, window
        # The window with a halo within the image, as a whole number of coarse pixels.
        halo_px = HALO_PX * factor
        left, top = max(0, column - halo_px), max(0, row - halo_px)
        across = -(-(min(grid.width, column + width + halo_px) - left) // factor)
        down = -(-(min(grid.height, row + height + halo_px) - top) // factor)
        began_s = time.perf_counter()
        values, known = _pooled(*self._windows.read(left, top, across * factor, down * factor), factor)
        probability = to_byte(predictor.probability(values, known), known)
        self._note_time(began_s, round_up(across) * round_up(down))
        # Each coarse pixel becomes a square of full ones; the halo is cut off.
        full = np.repeat(np.repeat(probability, factor, axis=0), factor, axis=1)
        full = full[row - top : row - top + height, column - left : column - left + width]
        part = self._slices(window)
        self.values[part] = np.where(self._is_full[part], self.values[part], full)

    def _note_time(self, began_s: float, px: int) -> None:
        if px:
            s_per_px = (time.perf_counter() - began_s) / px
            self._s_per_px += (s_per_px - self._s_per_px) * (_NEWEST if self._s_per_px else 1)


def _divided(window: Window, side_px: int, multiple: int = 1) -> Iterator[Window]:
    """Yield equal parts of a window, of at most a side; their sides, except the last, are multiples of a number."""
    column, row, width, height = window
    # As many parts as the side demands, of equal size, rounded up to the multiple.
    steps = [-(-size // -(-size // side_px)) if size else 1 for size in (width, height)]
    across, down = (-(-step // multiple) * multiple for step in steps)
    for top in range(0, height, down):
        for left in range(0, width, across):
            yield column + left, row + top, min(across, width - left), min(down, height - top)


def _pooled(values: np.ndarray, known: np.ndarray, factor: int) -> tuple[np.ndarray, np.ndarray]:
    """Return means over squares of pixels, (bands, rows, columns), float32, and which squares have data, bool."""
    bands, height, width = values.shape
    split = height // factor, factor, width // factor, factor
    # Means over pixels with data alone: sums of values divided by their number.
    has_data = known.reshape(split)
    count = has_data.sum(axis=(1, 3))
    total = np.where(has_data, values.reshape(bands, *split), 0).sum(axis=(2, 4), dtype=np.float32)
    return total / np.maximum(1, count), count > 0
