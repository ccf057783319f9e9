"""A road network as a directed graph for OSMnx and networkx: tables of nodes and edges, and GraphML.

Scope: names and types of attributes that OSMnx and networkx read. Independent of noding and speeds. The format is that
of Boeing, "OSMnx: New methods for acquiring, constructing, analyzing, and visualizing complex street networks",
Computers, Environment and Urban Systems 65 (2017), and of its module `io`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas
import networkx
import numpy as np
import pandas
import shapely

from ..system.machine import roadseg_version

# Computed columns, and names of a layer's columns that OSMnx would misread.
_MADE = ("osmid", "oneway", "reversed", "length", "speed_kph", "travel_time")
RESERVED = frozenset((*_MADE, "u", "v", "key", "from", "to", "id", "fid", "geometry", "bearing", "grade", "grade_abs"))
BOTH, ALONG, AGAINST = 0, 1, -1
# Decimals of degrees, a tenth of a millimeter, for nodes and for the lines that meet there.
PLACE_DIGITS = 9
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Routable:
    """A routable network: a directed multigraph as tables.

    Nodes are points in longitude and latitude with `osmid`, `x`, `y` and the number of roads that end there,
    `street_count`. Edges are lines from node `u` to node `v`. `key` is their number among these and `osmid` the number
    of the feature of each. `length` is in meters. `oneway` and `reversed` are bool; the second is True for the opposite
    direction of a two-way road. There may be `speed_kph`, `travel_time` in seconds and other columns.
    """

    nodes: geopandas.GeoDataFrame
    edges: geopandas.GeoDataFrame

    @property
    def layers(self) -> dict[str, geopandas.GeoDataFrame]:
        """The tables by their layer names in a GeoPackage."""
        return {"nodes": self.nodes, "edges": self.edges}


def to_routable(
    places: np.ndarray, ends: np.ndarray, roads: geopandas.GeoDataFrame, directions: np.ndarray
) -> Routable:
    """Return a network with an edge for each allowed direction of each road.

    The (n, 2) float64 `places` are the nodes' longitude and latitude. The (m, 2) int64 `ends` are the nodes where each
    road begins and ends as drawn. `roads` are lines in longitude and latitude with the columns of the edges. The (m,)
    int64 `directions` are BOTH, ALONG or AGAINST as drawn.
    """
    along, against = np.flatnonzero(directions != AGAINST), np.flatnonzero(directions != ALONG)
    road = np.concatenate([along, against])
    is_back = np.arange(len(road)) >= len(along)
    begin, end = np.where(is_back[:, None], ends[road, ::-1], ends[road]).T + 1
    order = np.lexsort((is_back, road, end, begin))
    road, is_back, begin, end = road[order], is_back[order], begin[order], end[order]
    edges = roads.iloc[road].reset_index(drop=True)
    shapes = edges.geometry.to_numpy()
    edges = edges.set_geometry(np.where(is_back, shapely.reverse(shapes), shapes), crs=roads.crs)
    edges.insert(0, "u", begin)
    edges.insert(1, "v", end)
    edges.insert(2, "key", edges.groupby(["u", "v"]).cumcount())
    edges["oneway"], edges["reversed"] = directions[road] != BOTH, is_back & (directions[road] == BOTH)
    streets = np.bincount(ends.ravel(), minlength=len(places))
    x, y = places.T
    table = {"osmid": np.arange(len(places)) + 1, "x": x, "y": y, "street_count": streets}
    return Routable(geopandas.GeoDataFrame(table, geometry=shapely.points(places), crs=roads.crs), edges)


def write_graphml(network: Routable, path: str | Path) -> None:
    """Write a network as GraphML for `osmnx.load_graphml` and `networkx.read_graphml`.

    All values are text because OSMnx converts numbers by their names; shapes are well-known text.
    """
    attributes = {"crs": "epsg:4326", "simplified": "True", "created_with": f"RoadSeg {roadseg_version()}"}
    graph = networkx.MultiDiGraph(**attributes)
    nodes, edges = network.nodes, network.edges
    graph.add_nodes_from(zip(nodes["osmid"].tolist(), _texts(nodes.drop(columns=["osmid", "geometry"]))))
    lines = shapely.to_wkt(edges.geometry.to_numpy(), rounding_precision=PLACE_DIGITS)
    rest = pandas.DataFrame(edges.drop(columns=["u", "v", "key", "geometry"])).assign(geometry=lines)
    graph.add_edges_from(zip(*(edges[name].tolist() for name in ("u", "v", "key")), _texts(rest)))
    networkx.write_graphml(graph, path)


def _texts(table: pandas.DataFrame) -> list[dict[str, str]]:
    """Return the values of each row of a table by column names, without missing ones."""
    rows: list[dict[str, str]] = [{} for _ in range(len(table))]
    for name in table.columns:
        key = _text(name)
        for row, value, is_known in zip(rows, table[name].tolist(), table[name].notna()):
            if is_known:
                row[key] = _text(value)
    return rows


def _text(value: Any) -> str:
    return _NOT_IN_XML.sub("", str(value))
