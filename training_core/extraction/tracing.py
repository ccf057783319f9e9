"""Tracing: the likeliest paths from one place to all others in a window of road probability.

Scope: arrays of probability and places in their cells. Independent of maps, files and of who asks for a path.

A path follows the cells of least cost, from each to one of its eight neighbors. Once those from a place are known, that
to the pointer is read off at once: the live-wire of Mortensen and Barrett, "Interactive segmentation with intelligent
scissors", Graphical Models and Image Processing 60 (1998).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import shapely
from scipy.ndimage import distance_transform_edt, gaussian_filter, maximum_filter
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

# A cell costs 1 / (probability + _FLOOR), so that a detour along certain road may be ten times as long as the way
# across ground without any. Cells without data cost yet more: paths lead around them.
_FLOOR, _UNKNOWN_COST = 0.1, 100.0
# Probability is smoothed with this standard deviation in cells: so the middle of a road is cheapest.
_BLUR = 1.0
# Passes of (1, 2, 1) / 4 along a path that leave no stairs of cells, and how far from it, in cells, a line may be.
_SMOOTHING_PASSES, _TOLERANCE = 4, 0.5
# Probability from which a cell counts as road where its width is measured.
_ROAD = 0.5
_STEPS = np.array([(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)])


@dataclass(frozen=True)
class PathTree:
    """The likeliest paths from a start, or from several, to all cells of a window.

    `cost` is that of the path to each cell, (height, width) float64. The path comes from the cell `came_from`, (height,
    width) int32, numbered by rows in a window with a border of one cell; a start has a negative number there.
    """

    probability: np.ndarray
    cost: np.ndarray
    came_from: np.ndarray

    def cells_to(self, row: int, column: int) -> np.ndarray:
        """Return the cells of the path to a cell, from its start: (n, 2) int64 rows and columns."""
        stride = self.cost.shape[1] + 2
        cells = [(row, column)]
        while (number := self.came_from[cells[-1]]) >= 0:
            cells.append((int(number) // stride - 1, int(number) % stride - 1))
        return np.array(cells[::-1])

    @cached_property
    def width(self) -> np.ndarray:
        """The width in cells of the road in whose middle a cell lies, (height, width) float64; 0 where no road is."""
        clearance = distance_transform_edt(np.pad(self.probability >= _ROAD, 1))[1:-1, 1:-1]
        # At the middle of a road of n cells it is n / 2, or (n + 1) / 2 if n is odd. Paths are a cell beside it.
        return np.maximum(2 * maximum_filter(clearance, 3) - 0.5, 0) * (clearance > 0)


def continue_paths(probability: np.ndarray, start_cost: np.ndarray, pixel: tuple[float, float]) -> PathTree:
    """Return the likeliest paths through a window, (height, width) float32 with NaN where it is unknown.

    They begin in cells at a cost, (height, width) float64: infinite in all others. `pixel` is the height and width of a
    cell, in any unit.
    """
    height, width = probability.shape
    known = np.isfinite(probability)
    likely = gaussian_filter(np.where(known, probability, np.float32(0)), _BLUR)
    # Cells of the border, by which none has fewer neighbors, cost infinitely much.
    cost = np.pad(np.where(known, 1 / (likely + _FLOOR), _UNKNOWN_COST), 1, constant_values=np.inf).ravel()
    steps = _STEPS @ (width + 2, 1)
    weights = np.empty((len(cost), len(steps)))
    for weight, step, length in zip(weights.T, steps, np.hypot(*(_STEPS * pixel).T)):
        weight[:] = (cost + np.roll(cost, -step)) * (length / 2)
    # One more node leads to the starts.
    starts = np.flatnonzero(np.pad(np.isfinite(start_cost), 1))
    ends, row_ends = _neighbors(height, width)
    graph = csr_array(
        (
            np.concatenate([weights.ravel(), start_cost[np.isfinite(start_cost)]]),
            np.concatenate([ends, starts.astype(np.int32)]),
            np.append(row_ends, row_ends[-1] + np.int32(len(starts))),
        ),
        shape=(len(cost) + 1, len(cost) + 1),
    )
    reached, came_from = dijkstra(graph, indices=len(cost), return_predecessors=True)
    came_from[came_from == len(cost)] = -1
    inner = [each[:-1].reshape(height + 2, width + 2)[1:-1, 1:-1] for each in (reached, came_from)]
    return PathTree(probability, *inner)


@lru_cache(maxsize=4)
def _neighbors(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the neighbors of all cells of a window with its border, and where those of each end."""
    count = (height + 2) * (width + 2)
    ends = np.arange(count)[:, None] + _STEPS @ (width + 2, 1)
    row_ends = np.arange(0, (count + 1) * len(_STEPS), len(_STEPS))
    return np.clip(ends, 0, count - 1).astype(np.int32).ravel(), row_ends.astype(np.int32)


def as_drawn(cells: np.ndarray) -> np.ndarray:
    """Return a path of cells, (n, 2), as a person would draw it: without stairs, with few vertices, its ends kept."""
    points = cells.astype(np.float64)
    for _ in range(_SMOOTHING_PASSES):
        points[1:-1] = (points[:-2] + 2 * points[1:-1] + points[2:]) / 4
    if len(points) == 1:
        points = np.repeat(points, 2, axis=0)
    return shapely.get_coordinates(shapely.simplify(shapely.LineString(points), _TOLERANCE))
