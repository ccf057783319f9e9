"""Paths through a line: what the shortest ones between places of a network would cost if they ran along it.

Scope: places, and costs between them. Independent of what the line is: a gap, a road that may be lost.
"""

from __future__ import annotations

import numpy as np

from .road_graph import Places

# Number of places between which shortest paths run; of sources, and of lines, at a time, which bounds memory.
PLACES, SOURCES, LINES = 128, 16, 64


def places_evenly(length_m: np.ndarray, count: int) -> Places:
    """Return places evenly along all edges of a network, of the (m,) float64 lengths, as if they were one line."""
    total_m, until_m = length_m.sum(), np.cumsum(length_m)
    at_m = (np.arange(count) + 0.5) / count * total_m
    edge = np.minimum(np.searchsorted(until_m, at_m), len(length_m) - 1)
    return Places(edge, at_m - until_m[edge] + length_m[edge])


def paths_through(to_first: np.ndarray, to_last: np.ndarray, length_m: np.ndarray) -> np.ndarray:
    """Return the cost of the path between each two of n places through each of k lines: (k, n, n) float64.

    Costs lead from the places to the first and to the last end of the lines, (k, n) each, which are `length_m` long.
    """
    # To one end, along the line, and on from its other end, in the better of both directions.
    through = to_first[:, :, None] + to_last[:, None] + length_m[:, None, None]
    return np.minimum(through, through.transpose(0, 2, 1))
