"""The antimeridian: shapes across it are in one piece where they are worked with, and cut there in files in degrees.

Scope: coordinates that repeat after a turn, in degrees and in cylindrical projections such as Web Mercator. Independent
of rasters and fields. A place may be written as 190 or -170, and a shape across 180 with a jump to -180, in parts on
both sides, or running on. All of these mean the same ground. Output in degrees follows RFC 7946, 3.1.9 and 5.2.
"""

from __future__ import annotations

from functools import lru_cache

import geopandas
import numpy as np
import pyproj
import shapely
from shapely.geometry.base import BaseGeometry

_GEOGRAPHIC = pyproj.CRS("EPSG:4326")
# A polygon with a jump is read as one across the antimeridian if that makes it a part of the Earth, at most so much of
# a turn each way; larger ones go around the world, as that of a whole world map.
_WIDEST_TURN = 0.125
# What is nearer to the antimeridian than this fraction of a turn lies on it: GeoJSON has seven decimals of a degree.
_ROUNDING = 1.5e-10


@lru_cache(maxsize=64)
def turn_of(crs: pyproj.CRS) -> float:
    """Return after how many units of x the map of a CRS begins again: 360 in degrees; 0 where it does not."""
    if crs.is_geographic:
        return float(2 * np.pi / crs.axis_info[0].unit_conversion_factor)
    # In cylindrical projections alone x is proportional to longitude, at any latitude, but for a jump.
    longitude = np.arange(-170.0, 180.0, 20.0)
    to_map = pyproj.Transformer.from_crs(_GEOGRAPHIC, crs, always_xy=True)
    x, _ = to_map.transform(np.tile(longitude, (2, 1)), np.repeat([[0.0], [50.0]], len(longitude), axis=1))
    steps = np.diff(x) if np.isfinite(x).all() else np.zeros((2, 1))
    step = float(np.median(steps))
    is_even = np.isclose(steps, step, rtol=1e-9).sum(axis=1) >= steps.shape[1] - 1
    return abs(step) * 360 / 20 if is_even.all() else 0.0


def in_one_piece(shapes: np.ndarray, turn: float, middle_x: float) -> np.ndarray:
    """Return shapes, (n,) object, without jumps from one edge of the map to the other.

    Each part is moved by whole turns to where it is nearest to `middle_x`. A turn of 0 changes nothing.
    """
    points, owner = shapely.get_coordinates(shapes, return_index=True)
    x = points[:, 0]
    away = np.abs(x - middle_x).max(initial=0)
    jumps = np.diff(owner) == 0
    jumps &= np.abs(np.diff(x)) > turn / 2
    if not turn or away <= turn / 4 or (away <= turn / 2 and not jumps.any()):
        return shapes
    # Lines, rings and points, ordered as the vertices are, and the number of the part that each belongs to.
    parts = shapely.get_parts(shapely.get_parts(shapes))
    rings, of_ring = shapely.get_rings(parts, return_index=True)
    others = np.flatnonzero(shapely.get_dimensions(parts) < 2)
    part = np.concatenate([others, of_ring])
    order = np.argsort(part, kind="stable")
    pieces, part = np.concatenate([parts[others], rings])[order], part[order]
    piece = shapely.get_coordinates(pieces, return_index=True)[1]
    begin = np.flatnonzero(np.diff(piece, prepend=-1))
    end, part = np.append(begin[1:], len(x)) - 1, part[piece[begin]]
    # Whole turns that a vertex is off from the first one of its piece. Rings around the world keep their jumps.
    off = np.rint(np.diff(x, prepend=0) / turn)
    off[begin] = 0
    off = np.cumsum(off)
    off -= np.repeat(off[begin], end - begin + 1)
    low, high = _extremes(np.column_stack([x - turn * off, points[:, 1]]), begin)
    is_world = (off[end] != 0) | ((high - low).max(axis=1) > _WIDEST_TURN * turn)
    is_world |= (high - low)[:, 0] <= _ROUNDING * turn
    is_world &= shapely.get_dimensions(parts[part]) == 2
    off[np.repeat(is_world, end - begin + 1)] = 0
    low, high = _extremes(x - turn * off, begin)
    # Holes go with the outer ring, which is the first piece of a polygon.
    middle, first = (low + high) / 2, np.searchsorted(part, part)
    moved = np.rint((middle_x - middle[first]) / turn) + np.rint((middle[first] - middle) / turn)
    points[:, 0] = x + turn * (np.repeat(moved, end - begin + 1) - off)
    return shapely.set_coordinates(shapes.copy(), points)


def _extremes(values: np.ndarray, begin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest values of the pieces that begin at some rows."""
    return np.minimum.reduceat(values, begin), np.maximum.reduceat(values, begin)


def clipped_in_turns(shapes: np.ndarray, turn: float, bounds: tuple[float, float, float, float]) -> np.ndarray:
    """Return the parts of lines or polygons, (n,) object, that lie in a box or whole turns beside it, all within it."""
    left, bottom, right, top = bounds
    clipped = [
        shapely.transform(
            shapely.clip_by_rect(shapes, left + by, bottom, right + by, top), lambda points, by=by: points - (by, 0)
        )
        for by in (turn * np.arange(-2, 3) if turn else np.zeros(1))
    ]
    collected = np.full(len(shapes), shapely.GeometryCollection(), dtype=object)
    for number, dimension in enumerate(shapely.get_dimensions(shapes)):
        parts = shapely.get_parts([each[number] for each in clipped])
        parts = parts[shapely.get_dimensions(parts) == dimension]
        if len(parts):
            several = shapely.multilinestrings if dimension == 1 else shapely.multipolygons
            collected[number] = several(parts) if len(parts) > 1 else parts[0]
    return collected


def nearest_turn(x: np.ndarray, turn: float, middle_x: float) -> np.ndarray:
    """Return x of points, (n,) float64, each moved by whole turns to be nearest to another x."""
    return x - turn * np.rint((x - middle_x) / turn)


def middle_of(layer: geopandas.GeoDataFrame) -> float:
    """Return the x around which a layer lies, in its CRS, by the mean direction of its vertices."""
    x, turn = shapely.get_coordinates(layer.geometry.to_numpy())[:, 0], turn_of(layer.crs)
    if not turn or not len(x):
        return 0.0
    middle = float(np.angle(np.exp(2j * np.pi * x / turn).sum())) / (2 * np.pi) * turn
    return middle + turn * round((float(np.median(x)) - middle) / turn)


def settled(layer: geopandas.GeoDataFrame, middle_x: float) -> geopandas.GeoDataFrame:
    """Return a layer with its shapes in one piece, nearest to an x in its CRS."""
    return layer.set_geometry(in_one_piece(layer.geometry.to_numpy(), turn_of(layer.crs), middle_x), crs=layer.crs)


def cut_at_antimeridian(shapes: np.ndarray, turn: float = 360.0) -> np.ndarray:
    """Return shapes in longitude and latitude, (n,) object, between -180 and 180.

    Lines and polygons across the antimeridian have several parts.
    """
    edge = turn / 2

    def onto_edge(points: np.ndarray) -> np.ndarray:
        is_near = np.abs(np.abs(points) - edge) < (_ROUNDING * turn, 0)
        return np.where(is_near, np.copysign(edge, points), points)

    whole = in_one_piece(shapes, turn, 0.0)
    left, _, right, _ = shapely.bounds(whole).T
    if not (np.maximum(-left, right) > (0.5 - _ROUNDING) * turn).any():
        return whole
    whole = shapely.transform(whole, onto_edge)
    left, _, right, _ = shapely.bounds(whole).T
    crosses = np.flatnonzero(np.maximum(-left, right) > edge)
    whole[crosses] = clipped_in_turns(whole[crosses], turn, (-edge, -turn, edge, turn))
    return whole


def touches(shape: BaseGeometry, other: BaseGeometry, within: float = 0.0) -> bool:
    """Return whether two shapes in degrees come within a distance; the first one is in one piece."""
    west, _, east, _ = shape.bounds
    (other,) = in_one_piece(np.array([other]), 360.0, (west + east) / 2)
    # What is as wide as the world may reach the shape from either side.
    moved = [shapely.transform(other, lambda points, by=by: np.add(points, (by, 0))) for by in (-360, 0, 360)]
    return bool(shapely.dwithin(shape, moved, within).any())


def as_written(layer: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    """Return a layer as files have it: in degrees cut at the antimeridian, in other units in one piece."""
    if not layer.crs.is_geographic:
        return settled(layer, middle_of(layer))
    return layer.set_geometry(cut_at_antimeridian(layer.geometry.to_numpy(), turn_of(layer.crs)), crs=layer.crs)


def bounding_box(shape: BaseGeometry) -> list[float]:
    """Return west, south, east and north of a shape in one piece, in degrees; west is greater if it crosses 180."""
    west, south, east, north = shape.bounds
    if east - west >= 360:
        return [-180.0, south, 180.0, north]
    west, east = west - 360 * np.floor((west + 180) / 360), east - 360 * np.ceil((east - 180) / 360)
    return [float(west), south, float(east), north]
