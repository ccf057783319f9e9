"""A road network as tables of lines and nodes with their attributes, and as vector files.

Scope: graphs, columns, geodesic lengths, travel times and OpenStreetMap's tags. Independent of the graph's origin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import geopandas
import numpy as np
import pandas
import shapely
from rasterio.warp import transform as transform_coordinates

from ..geodata.fields import numbers_in
from ..geodata.grid import ELLIPSOID, GEOGRAPHIC
from ..geodata.osm_layers import HIGHWAYS
from ..geodata.vector_output import check_vector_output, write_layers
from ..jobs import METERS_PER_SECOND
from .graph import Graph

# Columns of lines with a known speed.
SPEED, TRAVEL_TIME = "speed_kmh", "travel_time_s"
# A road of unknown class: https://wiki.openstreetmap.org/wiki/Tag:highway%3Droad.
HIGHWAY, SOURCE = "road", "RoadSeg"
# The layers that a network has, and their geometry.
LAYERS = {"roads": "LineString", "nodes": "Point", "links": "LineString", "breaks": "Point"}


@dataclass(frozen=True)
class Network:
    """A road network in map coordinates.

    Roads are lines with the columns given to `to_tables`. `length_m` is on the ellipsoid. `component` numbers connected
    components from 1, the longest. Extracted roads have `width_m`, `confidence` and `road_probability` from 0 to 1
    (empty for a mask) and tags of OpenStreetMap (`osm_tags`). With classes they also have `road_class`, the usual speed
    `speed_kmh` and `travel_time_s`. Nodes are junctions and ends with `component` and the number of lines that end
    there, `degree`. Links are lines with `outcome`, `probability` of a road and `length_m`. For breaks see
    `likely_breaks`. Both are None if there was no search for them.
    """

    roads: geopandas.GeoDataFrame
    nodes: geopandas.GeoDataFrame
    links: Optional[geopandas.GeoDataFrame] = None
    breaks: Optional[geopandas.GeoDataFrame] = None

    @property
    def numbers(self) -> dict[str, Any]:
        """Number of lines, their total length in meters, and number of components."""
        return {
            "count": len(self.roads),
            "length_m": float(self.roads["length_m"].sum()),
            "components": int(self.roads["component"].max()) if len(self.roads) else 0,
        }


def layer_paths(job: Any) -> dict[str, str]:
    """Return the files of the layers that a job writes, by the names of its fields, which are those of `Network`.

    Raises OutputError if RoadSeg cannot write one in this format.
    """
    paths = {layer: path for layer in LAYERS if (path := getattr(job, layer, ""))}
    for path in paths.values():
        check_vector_output(path, list(paths.values()).count(path))
    return paths


def write_network(network: Network, paths: Mapping[str, str | Path]) -> dict[str, Any]:
    """Write a network to vector files, and return its numbers.

    `paths` has the file of each layer by the fields of `Network`. Layers with the same file share it.
    """
    write_tables({layer: getattr(network, layer) for layer in paths}, paths, LAYERS)
    return network.numbers


def write_tables(
    tables: Mapping[str, geopandas.GeoDataFrame], paths: Mapping[str, str | Path], geometries: Mapping[str, str]
) -> None:
    """Write tables, by layer, to the files of the layers that have one; layers with the same file share it."""
    written = [layer for layer in tables if layer in paths]
    for path in dict.fromkeys(str(paths[layer]) for layer in written):
        write_layers(path, {layer: tables[layer] for layer in written if str(paths[layer]) == path}, geometries)


def to_tables(
    graph: Graph, to_map: Callable[[np.ndarray], np.ndarray], crs: Any, columns: Mapping[str, Any]
) -> Network:
    """Return a graph as tables, in a CRS that pyproj takes.

    `to_map` leads from (n, 2) float64 points of the graph to (n, 2) float64 map coordinates. Columns are attributes of
    the edges, (m,) each. Length and component are put before and after them, travel time after the speed.
    """
    points = to_map(graph.points)
    length_m = geodesic_lengths(graph, points, crs)
    component = rank(np.bincount(graph.edge_component, length_m))[graph.component]
    nodes = {"degree": graph.degree, "component": component}
    return Network(
        line_table(graph, points, crs, length_m, columns, component[graph.edges[:, 0]]),
        geopandas.GeoDataFrame(nodes, geometry=shapely.points(to_map(graph.nodes)), crs=crs),
    )


def line_table(
    graph: Graph, points: np.ndarray, crs: Any, length_m: np.ndarray, columns: Mapping[str, Any], component: np.ndarray
) -> geopandas.GeoDataFrame:
    """Return the lines of a network, or of a part of it; see `to_tables`.

    Of the graph, `points` are the (p, 2) float64 vertices in map coordinates, `length_m` the (m,) float64 lengths on
    the ellipsoid, and `component` the (m,) int64 components in the whole network.
    """
    roads: dict[str, Any] = {"length_m": length_m}
    for name, values in columns.items():
        roads[name] = values
        if name == SPEED:
            speed_kmh = numbers_in(pandas.Series(values))
            roads[TRAVEL_TIME] = length_m / np.where(speed_kmh > 0, speed_kmh, np.nan) / METERS_PER_SECOND["km/h"]
    roads["component"] = component
    return geopandas.GeoDataFrame(roads, geometry=shapely.linestrings(points, indices=graph.owner), crs=crs)


def geodesic_lengths(graph: Graph, points: np.ndarray, crs: Any) -> np.ndarray:
    """Return each line's length on the ellipsoid in meters, (m,) float64, from its (p, 2) float64 map coordinates."""
    longitude, latitude = map(np.asarray, transform_coordinates(crs, GEOGRAPHIC, *points.T))
    steps = ELLIPSOID.inv(longitude[:-1], latitude[:-1], longitude[1:], latitude[1:])[2]
    is_within = np.diff(graph.owner) == 0  # a step from one line to the next does not count
    return np.bincount(graph.owner[:-1][is_within], steps[is_within], minlength=len(graph.edges))


def rank(length_m: np.ndarray) -> np.ndarray:
    """Return the rank of each component by its length, (n,) float64, 1 the longest: (n,) int64."""
    return pandas.Series(-length_m).rank(method="first").to_numpy(dtype=np.int64)


def osm_tags(width_m: np.ndarray, classes: Optional[np.ndarray] = None) -> dict[str, np.ndarray]:
    """Return columns of tags for roads: `highway`, `source` and `width` in meters to a decimeter as text or None.

    The (m,) float64 widths are NaN where unknown. Of the (m,) object names of classes or None only values of
    OpenStreetMap's key `highway` become a tag. The usual speed does not because `maxspeed` is the legal limit.
    """
    width = [None if np.isnan(value) else f"{value:.1f}".removesuffix(".0") for value in width_m]
    names = [str(name).strip().lower() for name in ([None] * len(width_m) if classes is None else classes)]
    return {
        "highway": np.array([name if name in HIGHWAYS else HIGHWAY for name in names], dtype=object),
        "width": np.array(width, dtype=object),
        "source": np.full(len(width_m), SOURCE, dtype=object),
    }
