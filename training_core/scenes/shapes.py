"""Tables of shapes: the topology of roads (noding, clipping, nodes), and placing things along them.

Scope: shapes on a plane in meters with attributes. Independent of what they stand for.
"""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import Polygon

SNAP_M = 0.01
_STUB_M, _FRAGMENT_M = 12.0, 90.0


def noded(roads: gpd.GeoDataFrame, snap_m: float) -> gpd.GeoDataFrame:
    """Return the roads cut where they meet, by snap rounding; a piece keeps the attributes of the line it lies on.

    Those with overpass meet others at their ends only.
    """
    above = roads[roads.overpass].copy()
    above.geometry = shapely.set_precision(above.geometry.to_numpy(), snap_m)
    return stack(_noded_on_the_ground(roads[~roads.overpass].reset_index(drop=True), snap_m), above)


def _noded_on_the_ground(roads: gpd.GeoDataFrame, snap_m: float) -> gpd.GeoDataFrame:
    pieces = shapely.get_parts(shapely.union_all(roads.geometry.to_numpy(), grid_size=snap_m))
    middles = shapely.line_interpolate_point(pieces, 0.5, normalized=True)
    # Where two lines lie on each other, the more important class, which comes first, is taken.
    piece, source = roads.sindex.query(middles, predicate="dwithin", distance=4 * snap_m, sort=True)
    piece, first = np.unique(piece, return_index=True)
    table = roads.iloc[source[first]].reset_index(drop=True)
    table.geometry = pieces[piece]
    return table


def clipped(roads: gpd.GeoDataFrame, area: Polygon) -> gpd.GeoDataFrame:
    """Return what of the roads lies within an area."""
    table = roads[roads.intersects(area)].copy()
    table.geometry = shapely.intersection(table.geometry.to_numpy(), area)
    return exploded(table)


def without_fragments(roads: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Drop what cuts leave over: short dead ends, and short roads that are tied to no other."""
    _, node, degree = nodes_of(roads)
    dead_ends = (degree[node] == 1).sum(axis=0)
    return roads[roads.length > np.array([0.0, _STUB_M, _FRAGMENT_M])[dead_ends]].reset_index(drop=True)


def nodes_of(roads: gpd.GeoDataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes of roads: (M, 2) float64 places in meters, starts and ends of roads, and (M,) int64 degrees.

    The (2, N) int64 starts and ends are rows of the places.
    """
    lines = roads.geometry.to_numpy()
    points = np.round([shapely.get_coordinates(shapely.get_point(lines, k)) for k in (0, -1)], 2)
    place, node, degree = np.unique(points.reshape(-1, 2), axis=0, return_inverse=True, return_counts=True)
    return place, node.reshape(2, -1), degree


def exploded(roads: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return the table with a row for each single line, and none without a line."""
    table = roads.explode(ignore_index=True)
    return table[(table.geom_type == "LineString") & (table.length > SNAP_M)].reset_index(drop=True)


def stack(*tables: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return the rows of all tables, which have the same columns, one after the other."""
    columns = {name: np.concatenate([table[name].to_numpy() for table in tables]) for name in tables[0].columns}
    return gpd.GeoDataFrame(columns, geometry="geometry")


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
