"""Shapes of layers: repaired, cut into pieces and projected; and refused where they cross too often.

Scope: shapes in any plane. Independent of layers and roads. Segments can meet in as many places as they have pairs. To
bound time and memory by the size of a layer, the search stops at far more places than any drawing has.
"""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pyproj
import shapely
from pyproj.exceptions import ProjError

from .parallel_arrays import ranges

# GEOS repairs so many in seconds.
MAX_CROSSINGS = 100_000
# A shape of fewer vertices cannot cross itself that often.
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
    """Query a tree with (n,) object shapes, a few at a time so that a layer that is refused never fills the memory.

    Returns (k,) int64 positions in `shapes` and in the tree. `limit` is the largest number of meetings. Each may be
    counted twice, and each shape may meet itself. Raises TooManyCrossings.
    """
    at_once = max(1, limit // max(1, len(tree)))
    parts = [np.zeros((2, 0), dtype=np.int64)]
    count = 0
    for begin in range(0, len(shapes), at_once):
        shape, hit = tree.query(shapes[begin : begin + at_once], **condition)
        parts.append(np.stack([begin + shape, hit]))
        count += len(shape)
        if count > 2 * limit + len(shapes):
            raise TooManyCrossings(limit)
    shape, hit = np.concatenate(parts, axis=1)
    return shape, hit


def check_crossings(shapes: np.ndarray) -> None:
    """Check that repairing or clipping lines or polygons, (n,) object, takes seconds at most.

    Raises TooManyCrossings if one crosses itself in more than `MAX_CROSSINGS` places.
    """
    shapes = shapes[shapely.get_num_coordinates(shapes) > _MIN_VERTICES]
    is_area = shapely.get_dimensions(shapes) == 2
    for shape in shapes[~np.where(is_area, shapely.is_valid(shapes), shapely.is_simple(shapes))]:
        parts = shapely.get_parts(shape)
        rings = shapely.get_rings(parts) if shapely.get_dimensions(shape) == 2 else parts
        # All segments of all rings: each vertex whose successor lies in the same ring begins one.
        points, ring = shapely.get_coordinates(rings, return_index=True)
        first = np.flatnonzero(np.diff(ring) == 0)
        segments = shapely.linestrings(np.stack([points[first], points[first + 1]], axis=1))
        neighbors = len(segments)  # consecutive segments always meet, which is no crossing
        meeting_pairs(shapely.STRtree(segments), segments, MAX_CROSSINGS + neighbors, predicate="intersects")


def in_short_pieces(shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (k,) object shapes with lines in pieces of a few segments and the (k,) int64 shape of each.

    GEOS takes time that grows faster than the square of a line's length to buffer or clip a line that crosses itself,
    as a track may. The buffers of its pieces cover the same ground. The (n,) object shapes may have several parts. All
    but lines stay as they are.
    """
    is_line = shapely.get_dimensions(shapes) == 1
    lines, others = np.flatnonzero(is_line), np.flatnonzero(~is_line)
    parts, line = shapely.get_parts(shapes[lines], return_index=True)
    points, part = shapely.get_coordinates(parts, return_index=True)
    # First and last vertex of each part, and the pieces between them: their number, first vertex and size.
    end = np.cumsum(np.bincount(part, minlength=len(parts))) - 1
    begin = np.append(0, end[:-1] + 1)[: len(parts)]
    counts = -(-(end - begin) // _PIECE_SEGMENTS)
    first = ranges(begin, counts, np.full(len(parts), _PIECE_SEGMENTS))
    sizes = np.minimum(first + _PIECE_SEGMENTS, np.repeat(end, counts)) - first + 1
    pieces = shapely.linestrings(points[ranges(first, sizes)], indices=np.repeat(np.arange(len(first)), sizes))
    # Back in the order of the shapes, together with those that are not lines.
    shape = np.concatenate([np.repeat(lines[line], counts), others])
    order = np.argsort(shape, kind="stable")
    return np.concatenate([pieces, shapes[others]])[order], shape[order]


def around(shapes: np.ndarray, distance_m: float) -> np.ndarray:
    """Return (k,) object polygons that together cover all within a distance of (n,) object polygons.

    GEOS takes minutes and gigabytes to buffer a polygon of very many vertices that lie closer together than that. The
    polygon itself and the buffers of the pieces of its rings cover the same ground.
    """
    is_large = shapely.get_num_coordinates(shapes) > _MIN_VERTICES
    pieces, _ = in_short_pieces(shapely.boundary(shapes[is_large]))
    rims = shapely.get_parts(shapely.union_all(shapely.buffer(pieces, distance_m, quad_segs=4)))
    return np.concatenate([shapely.buffer(shapes[~is_large], distance_m, quad_segs=4), shapes[is_large], rims])


def parts_in(shapes: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Return the parts of shapes within any of some polygons, (n,) object; empty where there are none.

    Only shapes at the edge of an area are cut: cutting many shapes by an area of very many vertices takes long, as does
    the union of all areas.
    """
    tree = shapely.STRtree(shapes)
    inside = np.full(len(shapes), shapely.GeometryCollection(), dtype=object)
    # Shapes that one area covers stay as they are.
    _, whole = tree.query(areas, predicate="covers")
    inside[whole] = shapes[whole]
    # The others are cut: those that meet a single area by it, the few that meet several by the union of these.
    area, shape = tree.query(areas, predicate="intersects")
    is_cut = ~np.isin(shape, whole)
    area, shape = area[is_cut], shape[is_cut]
    inside[shape] = shapely.intersection(shapes[shape], areas[area])
    for number in np.flatnonzero(np.bincount(shape, minlength=len(shapes)) > 1):
        inside[number] = shapely.intersection(shapes[number], shapely.union_all(areas[area[shape == number]]))
    return inside


def valid(shapes: np.ndarray) -> np.ndarray:
    """Return (n,) object polygons repaired where they cross themselves.

    All that a ring surrounds is inside, except for holes.
    """
    return shapely.make_valid(shapes, method="structure", keep_collapsed=False)


# Wider shapes are clipped first: between distant vertices a straight line on one map is curved on the other.
_WIDEST_DEG, _WIDEST_M = 20.0, 2e6


def projected(layer: geopandas.GeoDataFrame, crs: pyproj.CRS, extent: tuple[float, float, float, float]) -> np.ndarray:
    """Return a layer's geometries in another CRS, (n,) object, all with finite coordinates.

    A shape that has no place in the other CRS, or is as wide as a continent, is first clipped to the surroundings of
    the extent where shapes are needed: left, bottom, right and top in the other CRS. If it still has no place it
    becomes empty.
    """
    shapes = layer.geometry.to_crs(crs).to_numpy().copy()
    # Far shapes: without a place in the other CRS, or too wide in their own for straight lines to stay straight.
    left, bottom, right, top = shapely.bounds(layer.geometry.to_numpy()).T
    widest = _WIDEST_DEG if layer.crs.is_geographic else _WIDEST_M / layer.crs.axis_info[0].unit_conversion_factor
    is_far = ~_are_finite(shapes) | (np.maximum(right - left, top - bottom) > widest)
    if is_far.any():  # projected again, clipped first
        far = layer.geometry.to_numpy()[is_far]
        far = np.where(shapely.get_dimensions(far) == 2, valid(far), far)
        near = geopandas.GeoSeries(_clipped(far, layer.crs, crs, extent), crs=layer.crs)
        shapes[is_far] = near.to_crs(crs).to_numpy()
        shapes[~_are_finite(shapes)] = shapely.GeometryCollection()
    return shapes


def _are_finite(shapes: np.ndarray) -> np.ndarray:
    """Return which shapes have only finite coordinates: (n,) bool."""
    points, owner = shapely.get_coordinates(shapes, return_index=True)
    return np.bincount(owner, ~np.isfinite(points).all(axis=1), minlength=len(shapes)) == 0


def _clipped(
    shapes: np.ndarray, shapes_crs: pyproj.CRS, crs: pyproj.CRS, extent: tuple[float, float, float, float]
) -> np.ndarray:
    """Return shapes clipped to the surroundings of an extent, which is in another CRS than theirs."""
    left, bottom, right, top = extent
    across, up = right - left, top - bottom
    wide = (left - across, bottom - up, right + across, top + up)
    try:
        west, south, east, north = pyproj.Transformer.from_crs(crs, shapes_crs, always_xy=True).transform_bounds(*wide)
    except ProjError:
        west = south = east = north = np.nan
    if not np.isfinite([west, south, east, north]).all():
        return np.full(len(shapes), shapely.GeometryCollection(), dtype=object)
    if west > east:  # across the antimeridian
        west, east = -180.0, 180.0
    return shapely.clip_by_rect(shapes, west, south, east, north)
