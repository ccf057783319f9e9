"""Least-cost paths: the likeliest road between two places, through the probability around the straight line.

Scope: places in meters and the probability at points. Independent of graphs, of why a path is sought, and of files.

A lattice lies over the straight line. Its columns run across the line and are as far apart as its rows along it. A path
goes from column to column, straight on or to a neighboring row, and never turns back. Dynamic programming finds the
cheapest one for all lattices of a size at once, as in Amini, Weymouth and Jain, "Using dynamic programming for solving
variational problems in vision", IEEE Transactions on Pattern Analysis and Machine Intelligence 12 (1990).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.ndimage import gaussian_filter1d

from ..geodata.parallel_arrays import offsets_of
from ..networks.surroundings import Paths, log_odds

# Columns are so far apart, about: half of the narrowest road.
_STEP_M = 1.0
_MAX_COLUMNS = 128
# A meter costs the negative logarithm of its probability, and this much more, so that a path through certain road is
# short, too. Below the least probability all meters cost the same: a model is certain even where it sees nothing.
_LENGTH_COST, _MIN_PROBABILITY = 0.1, 0.02
# Rows aside in each column, and how much longer that step is.
_MOVES = np.array([0, -1, 1])
_STEP_LENGTH = np.array([1.0, np.sqrt(2), np.sqrt(2)])
_SMOOTHING_PASSES = 4
# Probability is smoothed across the path, with this standard deviation in rows: so the middle of a road is cheapest.
_ACROSS = 2.0
_MAX_PLACES = 1 << 21  # at a time: 16 MB for each array


def least_cost_paths(
    starts: np.ndarray, ends: np.ndarray, probability_at: Callable[[np.ndarray], np.ndarray], threshold: float
) -> Paths:
    """Return the likeliest path between each pair of (k, 2) float64 places in meters.

    It has a vertex about every meter. None is farther from the straight line than half of its length. `probability_at`
    leads from (n, 2) float64 points to the (n,) float64 road probability; NaN where nothing is known. Road begins at
    `threshold`, 0 to 1.
    """
    columns = np.clip(np.rint(np.hypot(*(ends - starts).T) / _STEP_M), 2, _MAX_COLUMNS).astype(np.int64)
    offsets = offsets_of(columns + 1)
    points, probability = np.empty((offsets[-1], 2)), np.empty(offsets[-1])
    for block in _blocks(columns, starts[:, 1]):
        # The lattices of paths with the same number of columns are one array.
        groups = [block[columns[block] == count] for count in np.unique(columns[block])]
        step = [(ends[group] - starts[group]) / columns[group][:, None] for group in groups]
        lattices = [_lattices(starts[group], each, columns[group[0]]) for group, each in zip(groups, step)]
        # One call for all lattices of a block, so that the raster is read once.
        seen = probability_at(np.concatenate([places.reshape(-1, 2) for places in lattices]))
        parts = np.split(seen, np.cumsum([places.size // 2 for places in lattices])[:-1])
        for group, step_m, places, part in zip(groups, (np.hypot(*each.T) for each in step), lattices, parts):
            values = part.reshape(places.shape[:3])
            # Unknown places count as improbable.
            across = gaussian_filter1d(np.nan_to_num(values, nan=0.0), _ACROSS, axis=2, mode="nearest")
            row = cheapest_rows(across, step_m)
            path, column = np.ogrid[: row.shape[0], : row.shape[1]]
            vertex = offsets[group][:, None] + column
            points[vertex] = _smoothed(places[path, column, row])
            probability[vertex] = values[path, column, row]
    return Paths(points, offsets, log_odds(probability) - log_odds(np.array(threshold)))


def _blocks(columns: np.ndarray, y: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the numbers of paths whose lattices fit into memory together, from top to bottom."""
    order = np.argsort(y, kind="stable")
    block = np.cumsum((columns[order] + 1) ** 2) // _MAX_PLACES
    yield from np.split(order, np.flatnonzero(np.diff(block)) + 1) if len(order) else []


def _lattices(starts: np.ndarray, step: np.ndarray, columns: int) -> np.ndarray:
    """Return the places of lattices around straight lines from starts in steps: (k, columns + 1, rows, 2) float64."""
    # Along the line in steps of a column; aside in steps as long, half as many rows to either side.
    half = columns // 2
    aside = np.column_stack([-step[:, 1], step[:, 0]])
    along = starts[:, None] + np.arange(columns + 1)[:, None] * step[:, None]
    return along[:, :, None] + np.arange(-half, half + 1)[:, None] * aside[:, None, None]


def cheapest_rows(probability: np.ndarray, step_m: np.ndarray) -> np.ndarray:
    """Return the row of the cheapest path in each column of lattices, (k, columns) int64.

    It begins and ends in the middle row. The road probability at the places is (k, columns, rows) float64. The (k,)
    float64 `step_m` is the distance between neighboring columns and between neighboring rows.
    """
    cost = _LENGTH_COST - np.log(np.clip(probability, _MIN_PROBABILITY, 1.0))
    count, columns, rows = cost.shape
    cost = np.pad(cost, ((0, 0), (0, 0), (1, 1)))  # with a row beyond either side, which no path uses
    # `total` is the cost of the cheapest path from the first column's middle to each row of the current column.
    total = np.full((count, rows + 2), np.inf)
    total[:, rows // 2 + 1] = 0
    came_by = np.zeros((columns, count, rows), dtype=np.int8)
    for column in range(1, columns):
        # By each of the three moves: the cost so far, and half of a step through either place.
        reached = np.stack([
            total[:, 1 + move : 1 + move + rows]
            + (cost[:, column - 1, 1 + move : 1 + move + rows] + cost[:, column, 1:-1]) * (length * step_m / 2)[:, None]
            for move, length in zip(_MOVES, _STEP_LENGTH)
        ])  # fmt: skip
        came_by[column] = reached.argmin(axis=0)
        total[:, 1:-1] = reached.min(axis=0)
    # Back from the middle of the last column, by the move that was cheapest.
    row = np.full((count, columns), rows // 2)
    each = np.arange(count)
    for column in range(columns - 1, 0, -1):
        row[:, column - 1] = row[:, column] + _MOVES[came_by[column, each, row[:, column]]]
    return row


def _smoothed(points: np.ndarray) -> np.ndarray:
    """Return paths without the stairs of the lattice; their ends stay: (k, columns, 2)."""
    for _ in range(_SMOOTHING_PASSES):
        points = np.concatenate(
            [points[:, :1], (points[:, :-2] + 2 * points[:, 1:-1] + points[:, 2:]) / 4, points[:, -1:]], axis=1
        )
    return points
