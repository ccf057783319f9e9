"""A road network as tables of lines and nodes with their attributes, and as vector files.

Scope: graphs, columns, and lengths on the ellipsoid. Independent of where the graph came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import pyproj
import shapely
from rasterio.warp import transform as transform_coordinates

from ..geodata.grid import ELLIPSOID, GEOGRAPHIC
from ..geodata.vectors import write_layers
from ..jobs import METERS_PER_SECOND
from .graph import Graph

# Columns of lines of which it is known how fast one drives there, and so how long it takes.
SPEED, TRAVEL_TIME = "speed_kmh", "travel_time_s"


@dataclass(frozen=True)
class Network:
    """A road network on the map.

    Parameters
    ----------
    roads : GeoDataFrame
        Lines with `length_m` on the ellipsoid, `width_m`, `confidence` from 0 to 1 (empty for a mask), `component`,
        the number of the connected part they belong to, 1 the longest, and tags of OpenStreetMap; see `tags`. Where
        classes are told, also `road_class`, `speed_kmh`, at which one usually drives there, and `travel_time_s`.
    nodes : GeoDataFrame
        Junctions and ends, with `degree`, the number of lines that end there, and `component`.
    """

    roads: geopandas.GeoDataFrame
    nodes: geopandas.GeoDataFrame

    @property
    def numbers(self) -> dict[str, Any]:
        """Count of lines, their length in meters in all, and count of components."""
        return {
            "count": len(self.roads),
            "length_m": float(self.roads["length_m"].sum()),
            "components": int(self.roads["component"].max()) if len(self.roads) else 0,
        }


def write_network(found: Network, roads_path: str | Path, nodes_path: str | Path | None) -> dict[str, Any]:
    """Write a network, to one file where both paths are the same, and return its numbers."""
    files: dict[str, dict[str, geopandas.GeoDataFrame]] = {str(roads_path): {"roads": found.roads}}
    if nodes_path:
        files.setdefault(str(nodes_path), {})["nodes"] = found.nodes
    for path, layers in files.items():
        write_layers(path, layers, {"roads": "LineString", "nodes": "Point"})
    return found.numbers


def to_tables(graph: Graph, place: Callable[[np.ndarray], np.ndarray], crs: Any, columns: Mapping[str, Any]) -> Network:
    """Return a graph as tables.

    Parameters
    ----------
    graph : Graph
    place : callable
        Takes points (n, 2) of the graph to map coordinates.
    crs
        The map's CRS, as pyproj takes it.
    columns : mapping of str to array (m,)
        What is known of each edge; their length and component come before and after it, and the time that it takes
        to drive along it after its speed.
    """
    points = place(graph.points)
    length_m = _geodesic_lengths(graph, points, crs)
    component = _rank(graph.component, np.bincount(graph.edge_component, length_m))
    roads = {"length_m": length_m, **_with_travel_time(columns, length_m), "component": component[graph.edges[:, 0]]}
    nodes = {"degree": graph.degree, "component": component}
    crs = pyproj.CRS.from_user_input(crs)
    return Network(
        geopandas.GeoDataFrame(roads, geometry=shapely.linestrings(points, indices=graph.owner), crs=crs),
        geopandas.GeoDataFrame(nodes, geometry=shapely.points(place(graph.nodes)), crs=crs),
    )


def _with_travel_time(columns: Mapping[str, Any], length_m: np.ndarray) -> dict[str, Any]:
    """Return columns with the travel time behind the speed, where there is one."""
    timed: dict[str, Any] = {}
    for name, values in columns.items():
        timed[name] = values
        if name == SPEED:
            speed_kmh = pandas.to_numeric(pandas.Series(values), errors="coerce").to_numpy(dtype=np.float64)
            time_s = length_m / np.where(speed_kmh > 0, speed_kmh, np.nan) / METERS_PER_SECOND["km/h"]
            timed[TRAVEL_TIME] = time_s
    return timed


def _geodesic_lengths(graph: Graph, points: np.ndarray, crs: Any) -> np.ndarray:
    """Return each line's length in meters on the ellipsoid, (m,) float64, from its map coordinates."""
    longitude, latitude = map(np.asarray, transform_coordinates(crs, GEOGRAPHIC, *points.T))
    steps = ELLIPSOID.inv(longitude[:-1], latitude[:-1], longitude[1:], latitude[1:])[2]
    is_within = np.diff(graph.owner) == 0
    return np.bincount(graph.owner[:-1][is_within], steps[is_within], minlength=len(graph.edges))


def _rank(component: np.ndarray, length_m: np.ndarray) -> np.ndarray:
    """Return component numbers from 1, the longest first."""
    number = np.empty(len(length_m), dtype=np.int64)
    number[np.argsort(-length_m, kind="stable")] = np.arange(1, len(length_m) + 1)
    return number[component]
