"""A road network as OSMnx has it: numbered nodes, an edge for each direction, and both as a file.

Knows the names that OSMnx and networkx look for; knows nothing of how lines become a network, or of speeds.

What OSMnx has is told by Boeing, "OSMnx: New methods for acquiring, constructing, analyzing, and visualizing complex
street networks", Computers, Environment and Urban Systems 65 (2017), and by the readers and writers in its module `io`.
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

from ..system.versions import roadseg_version

# Columns that are made anew, and those of the layer that would be taken for something else.
_MADE = ("osmid", "oneway", "reversed", "length", "speed_kph", "travel_time")
RESERVED = frozenset((*_MADE, "u", "v", "key", "from", "to", "id", "fid", "geometry", "bearing", "grade", "grade_abs"))
BOTH, ALONG, AGAINST = 0, 1, -1
# A tenth of a millimeter in degrees, as which places are told: alike for a node and the lines that meet there.
PLACE_DIGITS = 9
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Routable:
    """A network on which ways can be found.

    Parameters
    ----------
    nodes : GeoDataFrame
        Points in longitude and latitude with `osmid`, `x`, `y` and `street_count`, the number of roads that end there.
    edges : GeoDataFrame
        Lines from the node `u` to the node `v`, the one numbered `key` of these, with `osmid`, the number of the
        feature that each is a part of, `length` in meters, `oneway`, and `reversed`, where it is the way back on a road
        for both directions; perhaps `speed_kph`, `travel_time` in seconds, and other columns.
    """

    nodes: geopandas.GeoDataFrame
    edges: geopandas.GeoDataFrame

    @property
    def layers(self) -> dict[str, geopandas.GeoDataFrame]:
        """The tables by the names that they have in a GeoPackage."""
        return {"nodes": self.nodes, "edges": self.edges}


def to_routable(places: np.ndarray, ends: np.ndarray, roads: geopandas.GeoDataFrame, ways: np.ndarray) -> Routable:
    """Return a network with an edge for each direction in which its roads can be driven.

    Parameters
    ----------
    places : ndarray (n, 2), float64
        Longitude and latitude of the nodes.
    ends : ndarray (m, 2), int64
        The nodes where each road begins and ends, as it is drawn.
    roads : GeoDataFrame
        The roads' lines in longitude and latitude, and the columns that edges shall have.
    ways : ndarray (m,), int64
        BOTH, ALONG or AGAINST the direction in which each is drawn.
    """
    along, against = np.flatnonzero(ways != AGAINST), np.flatnonzero(ways != ALONG)
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
    edges["oneway"], edges["reversed"] = ways[road] != BOTH, is_back & (ways[road] == BOTH)
    streets = np.bincount(ends.ravel(), minlength=len(places))
    x, y = places.T
    table = {"osmid": np.arange(len(places)) + 1, "x": x, "y": y, "street_count": streets}
    return Routable(geopandas.GeoDataFrame(table, geometry=shapely.points(places), crs=roads.crs), edges)


def write_graphml(network: Routable, path: str | Path) -> None:
    """Write a network as GraphML, as `osmnx.load_graphml` and `networkx.read_graphml` read it.

    All values are text, since OSMnx knows by their names which of them are numbers; shapes are well-known text.

    Parameters
    ----------
    network : Routable
    path : str or Path
    """
    attributes = {"crs": "epsg:4326", "simplified": "True", "created_with": f"RoadSeg {roadseg_version()}"}
    graph = networkx.MultiDiGraph(**attributes)
    nodes, edges = network.nodes, network.edges
    graph.add_nodes_from(zip(nodes["osmid"].tolist(), _texts(nodes.drop(columns=["osmid", "geometry"]))))
    lines = shapely.to_wkt(edges.geometry.to_numpy(), rounding_precision=PLACE_DIGITS)
    told = pandas.DataFrame(edges.drop(columns=["u", "v", "key", "geometry"])).assign(geometry=lines)
    graph.add_edges_from(zip(*(edges[name].tolist() for name in ("u", "v", "key")), _texts(told)))
    networkx.write_graphml(graph, path)


def _texts(table: pandas.DataFrame) -> list[dict[str, str]]:
    """Return what is known in each row of a table, by the names of its columns."""
    rows: list[dict[str, str]] = [{} for _ in range(len(table))]
    for name in table.columns:
        key = _text(name)
        for row, value, is_known in zip(rows, table[name].tolist(), table[name].notna()):
            if is_known:
                row[key] = _text(value)
    return rows


def _text(value: Any) -> str:
    return _NOT_IN_XML.sub("", str(value))
