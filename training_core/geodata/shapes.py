"""Crossings: pairs of shapes that meet, found within a limit; lines and polygons that cross themselves.

Scope: shapes in any plane. Independent of layers and roads. Segments can meet in as many places as they have pairs; so
that time and memory are bounded by the size of a layer, far more than any drawing has are not even counted to the end.
"""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pyproj
import shapely
from pyproj.exceptions import ProjError

from .parallel_arrays import ranges

# What GEOS repairs in seconds.
MAX_CROSSINGS = 100_000
# A shape of fewer vertices cannot have so many.
_MIN_VERTICES = 400
_PIECE_SEGMENTS = 8


class TooManyCrossings(Exception):
    """Shapes meet in more than `limit` places."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


def meeting_pairs(
    tree: shapely.STRtree, shapes: np.ndarray, limit: int, **condition: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Query a tree with shapes, a few at a time, so that what is refused never fills the memory.

    Parameters
    ----------
    shapes : ndarray (n,), object
    limit : int
        Most meetings: each may be found twice, and each shape may meet itself.
    **condition
        Of `STRtree.query`.

    Returns
    -------
    shape, found : ndarray (k,), int64
        Positions in `shapes` and in the tree.

    Raises
    ------
    TooManyCrossings
        There are more.
    """
    at_once = max(1, limit // max(1, len(tree)))
    parts = [np.zeros((2, 0), dtype=np.int64)]
    count = 0
    for begin in range(0, len(shapes), at_once):
        shape, found = tree.query(shapes[begin : begin + at_once], **condition)
        parts.append(np.stack([begin + shape, found]))
        count += len(shape)
        if count > 2 * limit + len(shapes):
            raise TooManyCrossings(limit)
    shape, found = np.concatenate(parts, axis=1)
    return shape, found


def check_crossings(shapes: np.ndarray) -> None:
    """Check that no line or polygon crosses itself so often that to repair or clip it would take minutes or more.

    Parameters
    ----------
    shapes : ndarray (n,), object

    Raises
    ------
    TooManyCrossings
        One crosses itself in more than `MAX_CROSSINGS` places.
    """
    shapes = shapes[shapely.get_num_coordinates(shapes) > _MIN_VERTICES]
    is_area = shapely.get_dimensions(shapes) == 2
    for shape in shapes[~np.where(is_area, shapely.is_valid(shapes), shapely.is_simple(shapes))]:
        parts = shapely.get_parts(shape)
        rings = shapely.get_rings(parts) if shapely.get_dimensions(shape) == 2 else parts
        points, ring = shapely.get_coordinates(rings, return_index=True)
        first = np.flatnonzero(np.diff(ring) == 0)
        segments = shapely.linestrings(np.stack([points[first], points[first + 1]], axis=1))
        neighbors = len(segments)
        meeting_pairs(shapely.STRtree(segments), segments, MAX_CROSSINGS + neighbors, predicate="intersects")


def in_short_pieces(shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return shapes with their lines in pieces of a few segments each.

    The time that GEOS takes to buffer or to clip a line that crosses itself, as a track may, grows faster than the
    square of its length. The buffers of its pieces cover the same ground.

    Parameters
    ----------
    shapes : ndarray (n,), object
        Also of several parts.

    Returns
    -------
    pieces : ndarray (k,), object
        In the order of the shapes; what is no line stays as it is.
    shape : ndarray (k,), int64
        The shape that each is a part of.
    """
    is_line = shapely.get_dimensions(shapes) == 1
    lines, others = np.flatnonzero(is_line), np.flatnonzero(~is_line)
    parts, line = shapely.get_parts(shapes[lines], return_index=True)
    points, part = shapely.get_coordinates(parts, return_index=True)
    end = np.cumsum(np.bincount(part, minlength=len(parts))) - 1
    begin = np.append(0, end[:-1] + 1)[: len(parts)]
    counts = -(-(end - begin) // _PIECE_SEGMENTS)
    first = ranges(begin, counts, np.full(len(parts), _PIECE_SEGMENTS))
    sizes = np.minimum(first + _PIECE_SEGMENTS, np.repeat(end, counts)) - first + 1
    pieces = shapely.linestrings(points[ranges(first, sizes)], indices=np.repeat(np.arange(len(first)), sizes))
    shape = np.concatenate([np.repeat(lines[line], counts), others])
    order = np.argsort(shape, kind="stable")
    return np.concatenate([pieces, shapes[others]])[order], shape[order]


def valid(shapes: np.ndarray) -> np.ndarray:
    """Return polygons repaired where they cross themselves: all that a ring surrounds, but for holes, is inside.

    Parameters
    ----------
    shapes : ndarray (n,), object

    Returns
    -------
    ndarray (n,), object
    """
    return shapely.make_valid(shapes, method="structure", keep_collapsed=False)


# Wider shapes, in degrees or in meters, are clipped first: between vertices so far apart a line on the map is another.
_WIDEST_DEG, _WIDEST_M = 20.0, 2e6


def projected(layer: geopandas.GeoDataFrame, crs: pyproj.CRS, extent: tuple[float, float, float, float]) -> np.ndarray:
    """Return a layer's geometries in another CRS, all with finite coordinates.

    A shape that reaches so far that it has no place in the other CRS, or is as wide as a continent, is clipped to the
    surroundings of an extent first. What has no place even then is empty.

    Parameters
    ----------
    layer : GeoDataFrame
        As `vectors.read_layer` returns it.
    extent : tuple of float
        Left, bottom, right and top, in that CRS, of where the shapes are needed.

    Returns
    -------
    ndarray (n,), object
    """
    shapes = layer.geometry.to_crs(crs).to_numpy().copy()
    is_far = ~_are_finite(shapes) | _are_wide(layer)
    if is_far.any():
        own = layer.geometry.to_numpy()[is_far]
        own = np.where(shapely.get_dimensions(own) == 2, valid(own), own)
        near = geopandas.GeoSeries(_clipped(own, layer.crs, crs, extent), crs=layer.crs)
        shapes[is_far] = near.to_crs(crs).to_numpy()
        shapes[~_are_finite(shapes)] = shapely.GeometryCollection()
    return shapes


def _are_finite(shapes: np.ndarray) -> np.ndarray:
    """Return which shapes have finite coordinates alone: (n,), bool."""
    points, owner = shapely.get_coordinates(shapes, return_index=True)
    return np.bincount(owner, ~np.isfinite(points).all(axis=1), minlength=len(shapes)) == 0


def _are_wide(layer: geopandas.GeoDataFrame) -> np.ndarray:
    """Return which shapes are as wide as a continent: (n,), bool."""
    left, bottom, right, top = shapely.bounds(layer.geometry.to_numpy()).T
    widest = _WIDEST_DEG if layer.crs.is_geographic else _WIDEST_M / layer.crs.axis_info[0].unit_conversion_factor
    return np.maximum(right - left, top - bottom) > widest


def _clipped(
    shapes: np.ndarray, own: pyproj.CRS, crs: pyproj.CRS, extent: tuple[float, float, float, float]
) -> np.ndarray:
    """Return shapes in their own CRS, clipped to the surroundings of an extent in another one."""
    left, bottom, right, top = extent
    across, up = right - left, top - bottom
    wide = (left - across, bottom - up, right + across, top + up)
    try:
        bounds = pyproj.Transformer.from_crs(crs, own, always_xy=True).transform_bounds(*wide)
    except ProjError:
        return np.full(len(shapes), shapely.GeometryCollection(), dtype=object)
    if not np.isfinite(bounds).all():
        return np.full(len(shapes), shapely.GeometryCollection(), dtype=object)
    west, south, east, north = bounds
    if west > east:  # across the antimeridian
        west, east = -180.0, 180.0
    return shapely.clip_by_rect(shapes, west, south, east, north)
