"""Placing things in a scene: random spots along roads, offsets, rectangles, collision checks.

Scope: shapes on a plane in meters. Independent of what they stand for.
"""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import shapely


def table(geometry: np.ndarray, **columns: np.ndarray) -> gpd.GeoDataFrame:
    """Return a table of (N,) object geometries with (N,) columns of any dtype by name."""
    return gpd.GeoDataFrame(columns, geometry=np.asarray(geometry, dtype=object))


def aside(points: np.ndarray, along: np.ndarray, by_m: np.ndarray) -> np.ndarray:
    """Return points in meters moved to the left of their directions or by negative distances right: (N, 2) float64.

    Directions in radians from east and distances are (N,) float64. Distances may be a single one.
    """
    return points + np.reshape(by_m, (-1, 1)) * np.column_stack([-np.sin(along), np.cos(along)])


def rectangles(
    center: np.ndarray, length_m: float | np.ndarray, breadth_m: float | np.ndarray, angle: np.ndarray
) -> np.ndarray:
    """Return rectangles about their (N, 2) float64 centers in meters as polygons: (N,) object.

    `length_m` is along `angle` and `breadth_m` across it. The angle is radians from east. All are (N,) float64.
    """
    ahead = np.column_stack([np.cos(angle), np.sin(angle)]) * np.reshape(length_m, (-1, 1)) / 2
    left = np.column_stack([-np.sin(angle), np.cos(angle)]) * np.reshape(breadth_m, (-1, 1)) / 2
    corners = [center - ahead - left, center + ahead - left, center + ahead + left, center - ahead + left]
    return shapely.polygons(np.stack(corners, axis=1))


def moved(shapes: np.ndarray, by_m: np.ndarray) -> np.ndarray:
    """Return shapes, (N,) object, moved east and north by `by_m`, (N, 2) float64: (N,) object."""
    points, shape = shapely.get_coordinates(shapes, return_index=True)
    return shapely.set_coordinates(shapes.copy(), points + by_m[shape])


def spots(
    roads: gpd.GeoDataFrame, spacing_m: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random places on roads (a Poisson process), one for each `spacing_m` on average.

    They are (N,) int64 rows of the table, (N, 2) float64 points in meters and (N,) float64 directions of the roads in
    radians from east.
    """
    length_m = roads.length.to_numpy()
    row = np.repeat(np.arange(len(roads)), rng.poisson(length_m / spacing_m))
    at_m = rng.uniform(0, length_m[row])
    lines = roads.geometry.to_numpy()[row]
    # Kept on the line: less than nothing would count from its end.
    near_m = (np.clip(at_m + step_m, 0, length_m[row]) for step_m in (-0.5, 0.5))
    start, end = (shapely.get_coordinates(shapely.line_interpolate_point(lines, each_m)) for each_m in near_m)
    step = end - start
    return row, (start + end) / 2, np.arctan2(step[:, 1], step[:, 0])


def is_clear(shapes: np.ndarray, taken: gpd.GeoDataFrame) -> np.ndarray:
    """Return which shapes, (N,) object, touch none of the taken ground: (N,) bool."""
    hit, _ = taken.sindex.query(shapes, predicate="intersects")
    return ~np.isin(np.arange(len(shapes)), hit)
