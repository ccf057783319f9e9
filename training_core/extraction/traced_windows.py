"""Traced windows: paths from a place through a raster of any size, in windows that are added where they are asked for.

Scope: which window comes next, and paths through several. Independent of maps, files and of who asks for a path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..geodata.grid import Window
from .tracing import PathTree, continue_paths

# Sides of the window around the start, whose paths take 0.12 s, and of the next ones, which take 0.02 s, in cells. On
# the way to a place that is more of these away than _FEW, wide ones follow, since a road may wind.
_FIRST, _NEXT, _FEW = 600, 256, 2
# Nearer to the border of a window the likeliest path may lie beyond it.
_MARGIN = 30
# When there are more windows (2 MB each), paths begin anew with the first one.
_MAX_WINDOWS = 100


@dataclass(frozen=True)
class _Traced:
    """The paths through a window; rows and columns of the raster, and its first cell."""

    first: np.ndarray
    paths: PathTree

    @property
    def end(self) -> np.ndarray:
        return self.first + self.paths.cost.shape

    def cost(self, cell: np.ndarray) -> float:
        """Return the cost of the path to a cell of the raster; infinite where it is not in the window."""
        inside = (cell >= self.first).all() and (cell < self.end).all()
        return float(self.paths.cost[tuple(cell - self.first)]) if inside else np.inf


class TracedWindows:
    """The likeliest paths from a cell (row and column) to others of a raster of a shape (rows and columns).

    `read` leads from a window to its probability, (height, width) float32 with NaN where it is unknown. `pixel` is the
    height and width of a cell, in any unit.
    """

    def __init__(
        self,
        read: Callable[[Window], np.ndarray],
        shape: tuple[int, int],
        start: tuple[int, int],
        pixel: tuple[float, float],
    ) -> None:
        self._read, self._shape, self._pixel = read, np.array(shape), pixel
        self._traced: list[_Traced] = []
        self._add(np.array(start), _FIRST, np.array(start))

    def reach(self, cell: tuple[int, int]) -> bool:
        """Return whether a cell is reached; if it is not, add the next window on the way, which takes a moment."""
        place = np.array(cell)
        # For each window the cell that is nearest to the place and not near to a border beyond which there is raster.
        lows = [np.where(each.first > 0, each.first + _MARGIN, 0) for each in self._traced]
        highs = [np.where(each.end < self._shape, each.end - _MARGIN, self._shape) - 1 for each in self._traced]
        nearest = min(np.clip(place, lows, highs), key=lambda each: np.abs(place - each).max())
        away = np.abs(place - nearest).max()
        if away:
            if len(self._traced) == _MAX_WINDOWS:
                del self._traced[1:]
            side = _NEXT if away <= _FEW * _NEXT // 2 else _FIRST
            part = min(1.0, (side // 2 - _MARGIN) / away)
            self._add(np.rint(nearest + part * (place - nearest)).astype(np.int64), side)
        return not away

    def path_to(self, cell: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the path to a cell that is reached: its cells, (n, 2) int64, and the probability and width at each.

        The probability is (n,) float32, NaN without data, and the width (n,) float64 in cells, 0 where no road is.
        """
        parts, place, earlier = [], np.array(cell), self._traced
        while True:
            # A path leaves a window for an earlier one, the one by which it was reached.
            number = int(np.argmin([each.cost(place) for each in earlier]))
            first, paths = earlier[number].first, earlier[number].paths
            cells = paths.cells_to(*(place - first))
            at = tuple(cells.T)
            parts.append((cells + first, paths.probability[at], paths.width[at]))
            place, earlier = cells[0] + first, earlier[:number]
            if not any(np.isfinite(each.cost(place)) for each in earlier):
                break
        cells, probability, width = (np.concatenate(each) for each in zip(*parts[::-1]))
        return cells, probability, width

    def _add(self, middle: np.ndarray, side: int, start: "np.ndarray | None" = None) -> None:
        first = np.maximum(middle - side // 2, 0)
        height, width = np.minimum(middle + side // 2, self._shape) - first
        probability = self._read((int(first[1]), int(first[0]), int(width), int(height)))
        start_cost = np.full((height, width), np.inf)
        if start is not None:
            start_cost[tuple(start - first)] = 0.0
        for each in self._traced:
            # The cells that both windows have.
            low, high = np.maximum(first, each.first), np.minimum(first + np.array([height, width]), each.end)
            if (low < high).all():
                mine, its = (tuple(map(slice, low - origin, high - origin)) for origin in (first, each.first))
                start_cost[mine] = np.minimum(start_cost[mine], each.paths.cost[its])
        self._traced.append(_Traced(first, continue_paths(probability, start_cost, self._pixel)))
