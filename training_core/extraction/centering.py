"""Centering: lines moved along their normals to the middle of their roads, to a fraction of a pixel.

Scope: lines in meters and profiles of values across them. Independent of what the values are, of maps and files.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from scipy.ndimage import map_coordinates

from ..geodata.road_raster import RoadRaster
from ..networks.graph import Graph
from ..networks.surroundings import Surroundings
from ..system.processor import core_count
from .compact_masks import BitMask

# A profile reaches from one road's width on one side to one on the other: so far, and no farther, a road that is half
# as wide on either side of its line can be distinguished from the ground beside it.
_PROFILE = np.linspace(-1, 1, 25)
# Shifts (not lines, as in `skeletons`) are smoothed by passes of (1, 2, 1) / 4: the variance of a pass is half a vertex
# squared, and of both of them 1, as of a Gaussian with a standard deviation of a vertex, some four pixels.
_SHIFT_SMOOTHING_PASSES = 2
_BATCH = 1 << 16  # vertices at a time: 13 MB for each array of profiles
_THREADS = 4  # each with a block


def center(graph: Graph, values: Callable[[np.ndarray], np.ndarray], surroundings: Surroundings) -> Graph:
    """Return the graph with lines in the middle of their roads; nodes stay.

    A skeleton is the middle of a mask's pixels and so off the road's by up to a pixel, with stairs. Here each vertex
    moves along its line's normal to the centroid of the profile across the road above half of the value at the vertex.
    Steger, "An unbiased detector of curvilinear structures", IEEE Transactions on Pattern Analysis and Machine
    Intelligence 20 (1998), derives how far a line is from its road's middle where the sides differ. For a mask it is
    the middle between both sides. Where a profile does not end within the road's width, as at a side road, the shift is
    unknown; smoothing the shifts along the line bridges such places. No shift is more than half the road's width.

    The graph has vertices a few pixels apart and smoothed stairs. `values` leads from (n, 2) float64 points in meters
    to (n,) float32 values such as a probability.
    """
    if not len(graph.points):
        return graph
    tangent = tangents(graph)
    normal = np.column_stack([-tangent[:, 1], tangent[:, 0]])
    shift, weight = np.zeros(len(graph.points)), np.zeros(len(graph.points))
    inner = np.flatnonzero(~graph.is_end)
    inner = inner[np.argsort(graph.points[inner, 1], kind="stable")]  # so that values are read row by row
    blocks = [inner[begin : begin + _BATCH] for begin in range(0, len(inner), _BATCH)]

    def measure(block: np.ndarray) -> None:
        points = graph.points[block]
        shift[block], weight[block] = _shifts(points, normal[block], values, surroundings.width_m(points))

    with ThreadPoolExecutor(min(_THREADS, core_count())) as pool:
        list(pool.map(measure, blocks))
    # Normalized smoothing: unknown shifts have no weight and take those of their neighbors.
    shift = _smoothed(graph, shift * weight) / np.maximum(_smoothed(graph, weight), 1e-9)
    shift[graph.is_end] = 0
    return replace(graph, points=graph.points + shift[:, None] * normal)


def tangents(graph: Graph) -> np.ndarray:
    """Return the direction of each line at each of its vertices, as unit vectors: (p, 2) float64."""
    before, after = graph.neighbors()
    step = graph.points[after] - graph.points[before]
    return step / np.maximum(np.hypot(*step.T), 1e-12)[:, None]


def _shifts(
    points: np.ndarray, normal: np.ndarray, values: Callable[[np.ndarray], np.ndarray], width_m: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far along its normal each point's road has its middle, and 1 where that is known, else 0: (n,)."""
    # Values across the road, at 25 places on the normal.
    known = np.isfinite(width_m)
    aside = np.where(known, width_m, 1)[:, None] * _PROFILE
    places = points[:, None] + aside[:, :, None] * normal[:, None]
    profile = values(places.reshape(-1, 2)).reshape(aside.shape)
    # The road is where the values around the line exceed half of the value on it.
    middle = len(_PROFILE) // 2
    above = profile - profile[:, [middle]] / 2
    right = np.logical_and.accumulate(above[:, middle:] > 0, axis=1)
    left = np.logical_and.accumulate(above[:, middle::-1] > 0, axis=1)[:, ::-1]
    is_road = np.concatenate([left[:, :-1], right], axis=1)
    weight = np.where(is_road, above, 0)
    # Its middle is the centroid, known only if the road ends within the profile on both sides.
    total = weight.sum(axis=1)
    known &= (total > 0) & ~is_road[:, 0] & ~is_road[:, -1]
    shift = np.divide((weight * aside).sum(axis=1), total, out=np.zeros(len(points)), where=known)
    return np.clip(shift, -width_m / 2, width_m / 2, out=shift, where=known), known.astype(np.float64)


def _smoothed(graph: Graph, values: np.ndarray) -> np.ndarray:
    """Return values of vertices, (p,) float64, smoothed along the lines."""
    before, after = graph.neighbors()
    for _ in range(_SHIFT_SMOOTHING_PASSES):
        values = (values[before] + 2 * values + values[after]) / 4
    return values


def between_pixels(raster: RoadRaster, road: BitMask, pixel_m: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from (n, 2) float64 points in meters to the raster's (n,) float32 probability.

    It interpolates linearly between the centers of pixels, with 0 where there are no data, and beyond the border as on
    it. For a mask it uses 0 and 1, where the clean mask has road. Points in the order of rows read the fewest strips.
    Several threads may call it. The (2,) float64 `pixel_m` is the ground size of a pixel along columns and along rows.
    """
    reading = threading.Lock()  # an open file is one thread's at a time

    def read(first_row: int, count: int) -> np.ndarray:
        if raster.threshold is None:
            return road.read(first_row, count).astype(np.float32)
        with reading:
            values, known = raster.read(first_row, count)
        return np.where(known, values, np.float32(0))

    def values_at(points: np.ndarray) -> np.ndarray:
        columns, rows = points[:, 0] / pixel_m[0], points[:, 1] / pixel_m[1]
        np.clip(rows, 0, raster.height - 1, out=rows)
        found = np.zeros(len(points), dtype=np.float32)
        # Strip by strip, with the first row of the next one, since points lie between two rows.
        for first_row, count in raster.strips():
            chosen = np.flatnonzero((rows >= first_row) & (rows < first_row + count))
            if chosen.size:
                strip = read(first_row, min(count + 1, raster.height - first_row))
                at = rows[chosen] - first_row, columns[chosen]
                found[chosen] = map_coordinates(strip, at, order=1, mode="nearest", output=np.float32)
        return found

    return values_at
