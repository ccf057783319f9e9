"""Projection of layers: shapes in another CRS, with those that reach beyond that one's area clipped.

Scope: CRSs and vertices. Independent of what the shapes mean.
"""

from __future__ import annotations

import geopandas
import numpy as np
import pyproj
import shapely
from pyproj.exceptions import ProjError

from .crossings import valid

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
