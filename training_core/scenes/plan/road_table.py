"""Topology of a table of roads: noding where roads meet, clipping, connected components.

Scope: lines with attributes. Independent of why they run where they run.
"""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
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
    """Drop what cuts leave over: short dead ends, then short groups of roads that are tied to no other."""
    _, node, degree = nodes_of(roads)
    is_dead_end = (degree[node] == 1).any(axis=0)
    roads = roads[~(is_dead_end & (roads.length < _STUB_M))].reset_index(drop=True)
    group = groups(roads)
    return roads[np.bincount(group, roads.length)[group] > _FRAGMENT_M].reset_index(drop=True)


def nodes_of(roads: gpd.GeoDataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes of roads: (M, 2) float64 places in meters, starts and ends of roads, and (M,) int64 degrees.

    The (2, N) int64 starts and ends are rows of the places.
    """
    lines = roads.geometry.to_numpy()
    points = np.round([shapely.get_coordinates(shapely.get_point(lines, k)) for k in (0, -1)], 2)
    place, node, degree = np.unique(points.reshape(-1, 2), axis=0, return_inverse=True, return_counts=True)
    return place, node.reshape(2, -1), degree


def groups(roads: gpd.GeoDataFrame) -> np.ndarray:
    """Return the connected component of each road: (N,) int32."""
    _, (start, end), degree = nodes_of(roads)
    links = coo_array((np.ones(len(roads)), (start, end)), shape=(len(degree), len(degree)))
    return connected_components(links, directed=False)[1][start]


def exploded(roads: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return the table with a row for each single line, and none without a line."""
    table = roads.explode(ignore_index=True)
    return table[(table.geom_type == "LineString") & (table.length > SNAP_M)].reset_index(drop=True)


def stack(*tables: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return the rows of all tables, which have the same columns, one after the other."""
    columns = {name: np.concatenate([table[name].to_numpy() for table in tables]) for name in tables[0].columns}
    return gpd.GeoDataFrame(columns, geometry="geometry")
