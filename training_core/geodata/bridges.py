"""Bridges: where road is seen straight across an area, from one side to the other, and straight on beyond both.

Scope: an area and a road raster. Independent of what the area is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import shapely
from scipy.spatial import KDTree
from shapely.geometry.base import BaseGeometry

from .grid import Grid
from .road_raster import RoadRaster, pixels_at

# Maximum length of a bridge, and its maximum deviation from the perpendicular to the border of the area.
MAX_LENGTH_M, _MAX_TURN_RAD = 300.0, np.radians(45)
# A road goes on so far beyond a bridge, or nearer where it ends at another road and the bridge, unlike a river that
# looks like a road, is narrower than this on either side.
BEYOND_M, _NEAR_M, _HALF_WIDTH_M = 12.0, 5.0, 20.0
# Share of a bridge that is seen, at this fraction of the threshold, since parts lie in shadows; and of the road beyond.
_SEEN, _FRACTION, _BEYOND_FRACTION = 0.85, 0.5, 0.9
# Batch sizes of places and of pairs of places, and the number of directions that are tried at each place.
_AT_ONCE, _PAIRS_AT_ONCE, _DIRECTIONS = 256, 20_000, 11
_SAMPLES = (np.arange(96) + 0.5)[:, None] / 96
# Which of (..., 2) points are road at a fraction of the threshold: (...) bool.
Seen = Callable[[np.ndarray, float], np.ndarray]


def find_bridges(area: BaseGeometry, grid: Grid, raster: RoadRaster) -> np.ndarray:
    """Return the bridges across an area in the ground meters of a grid, polygons that hold all of their road.

    The raster is that of the grid. They are (n,) object.
    """
    step_m, seen = max(1.0, *grid.pixel_m), partial(seen_at, grid, raster)
    points, across = _ends(area, step_m, seen)
    found = [shapely.GeometryCollection()]
    for one, other in _pairs(points, across):
        begin, end = points[one], points[other]
        is_seen = seen(begin[:, None] + (end - begin)[:, None] * _SAMPLES, _FRACTION).mean(axis=1) >= _SEEN
        begin, end = begin[is_seen], end[is_seen]
        is_bridge = _goes_on(begin, end, BEYOND_M, step_m, seen)
        is_bridge |= _goes_on(begin, end, _NEAR_M, step_m, seen) & _is_narrow(begin, end, step_m, seen)
        lines = shapely.linestrings(np.stack([begin, end], axis=1)[is_bridge])
        found.append(shapely.union_all(shapely.buffer(lines, 2 * step_m)))
    return shapely.get_parts(shapely.union_all(found))


def seen_at(grid: Grid, raster: RoadRaster, points: np.ndarray, fraction: float) -> np.ndarray:
    """Return which (..., 2) points in ground meters are road on a grid at a fraction of the threshold: (...) bool."""
    places = np.column_stack(~grid.metric_transform @ tuple(points.reshape(-1, 2).T)) - 0.5
    found, last = np.zeros(len(places), dtype=bool), np.array([raster.width, raster.height]) - 0.5
    is_on = np.flatnonzero(((places >= -0.5) & (places < last)).all(axis=1))
    if len(is_on):
        found[is_on] = pixels_at(
            places[is_on],
            raster.height,
            raster.width,
            lambda first_row, count: raster.road(*raster.read(first_row, count), fraction),
            raster.strip_rows,
        )
    return found.reshape(points.shape[:-1])


def _goes_on(begin: np.ndarray, end: np.ndarray, distance_m: float, step_m: float, seen: Seen) -> np.ndarray:
    """Return which bridges, from (n, 2) to (n, 2), have a road straight on beyond both ends, (n,) bool."""
    way, beyond_m = unit(end - begin)[:, None], steps(distance_m, step_m)
    behind, ahead = begin[:, None] - way * beyond_m, end[:, None] + way * beyond_m
    shares = np.array([seen(places, _BEYOND_FRACTION).mean(axis=1) for places in (behind, ahead)])
    return np.asarray((shares >= _SEEN).all(axis=0))


def _is_narrow(begin: np.ndarray, end: np.ndarray, step_m: float, seen: Seen) -> np.ndarray:
    """Return which bridges, from (n, 2) to (n, 2), have an edge on both sides of their middle, (n,) bool."""
    middle, sideways = (begin + end)[:, None] / 2, turned(unit(end - begin))[:, None] * steps(_HALF_WIDTH_M, step_m)
    is_wide: np.ndarray = np.stack([seen(middle + sign * sideways, _FRACTION).all(axis=1) for sign in (-1, 1)])
    return np.asarray(~is_wide.any(axis=0))


def steps(distance_m: float, step_m: float) -> np.ndarray:
    """Return distances up to one, at least one of them: (n, 1) float64."""
    return np.arange(step_m, max(distance_m, step_m) + step_m / 2, step_m)[:, None]


def _ends(area: BaseGeometry, step_m: float, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
    """Return places on the border of an area at which a road leads away from it, and the way across, (n, 2) each."""
    # A border drawn by pixels has steps, which say nothing of its direction.
    border = shapely.get_parts(shapely.segmentize(shapely.boundary(shapely.simplify(area, step_m)), step_m))
    vertices, part = shapely.get_coordinates(border, return_index=True)
    first = np.flatnonzero(np.diff(part) == 0)
    points, across = (vertices[first] + vertices[first + 1]) / 2, turned(unit(vertices[first + 1] - vertices[first]))
    is_road = seen(points, _FRACTION)
    points, across = points[is_road], across[is_road]
    turns, away_m = np.linspace(-_MAX_TURN_RAD, _MAX_TURN_RAD, _DIRECTIONS)[:, None], steps(_NEAR_M, step_m)
    ways = across[:, None] * np.cos(turns) + turned(across)[:, None] * np.sin(turns)
    ways = np.concatenate([ways, -ways], axis=1)
    shares = seen(points[:, None, None] + ways[:, :, None] * away_m, _BEYOND_FRACTION).mean(axis=2)
    leads_on = (shares >= _SEEN).any(axis=1)
    return points[leads_on], across[leads_on]


def _pairs(points: np.ndarray, across: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield pairs of places as their numbers, (k,) int64 each, that lie across from each other."""
    if not len(points):
        return
    tree = KDTree(points)
    for begin in range(0, len(points), _AT_ONCE):
        near = tree.query_ball_point(points[begin : begin + _AT_ONCE], MAX_LENGTH_M)
        one = begin + np.repeat(np.arange(len(near)), [len(each) for each in near])
        other = np.concatenate(near).astype(np.int64)
        one, other = one[one < other], other[one < other]
        way = unit(points[other] - points[one])
        turns = [np.abs((way * across[end]).sum(axis=1)) for end in (one, other)]
        is_across = np.minimum(*turns) >= np.cos(_MAX_TURN_RAD)
        one, other = one[is_across], other[is_across]
        for first in range(0, len(one), _PAIRS_AT_ONCE):
            yield one[first : first + _PAIRS_AT_ONCE], other[first : first + _PAIRS_AT_ONCE]


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return (n, 2) vectors with the length 1, or 0."""
    return vectors / np.maximum(np.hypot(*vectors.T), 1e-9)[:, None]


def turned(vectors: np.ndarray) -> np.ndarray:
    """Return (n, 2) vectors turned by a right angle."""
    return vectors[:, ::-1] * (-1.0, 1.0)
