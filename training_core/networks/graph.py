"""A planar multigraph in arrays: nodes where lines meet or end, edges with their vertices; select, move, contract.

Scope: topology and lengths of lines on a plane. Independent of roads, rasters and maps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional

import numpy as np
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..geodata.parallel_arrays import offsets_of


@dataclass(frozen=True)
class Graph:
    """A multigraph drawn on a plane. Edges may be parallel, and may begin and end at the same node.

    Coordinates are meters, except in a graph just traced: there they are column and row, whole numbers at pixel centers
    (`extraction.tracing`). An edge has at least two vertices; its ends repeat the nodes. An edge's parts inherit its
    origin; joined edges keep that of the longest.
    """

    nodes: np.ndarray  # (n, 2) float64: x and y of each node
    edges: np.ndarray  # (m, 2) int64: the two nodes of each edge
    points: np.ndarray  # (p, 2) float64: vertices, edge after edge, from its first node to its second
    offsets: np.ndarray  # (m + 1,) int64: edge i has the vertices from offsets[i] to before offsets[i + 1]
    origin: Optional[np.ndarray] = None  # (m,) int64: number of the source of each edge, such as the row of a table

    @cached_property
    def degree(self) -> np.ndarray:
        """Number of edge ends at each node: (n,) int64; an edge from a node to itself counts twice."""
        return np.bincount(self.edges.ravel(), minlength=len(self.nodes))

    @cached_property
    def component(self) -> np.ndarray:
        """Number of the connected component of each node, from 0: (n,) int64."""
        return connected(len(self.nodes), self.edges)

    @property
    def edge_component(self) -> np.ndarray:
        """Number of the connected component of each edge, from 0: (m,) int64."""
        return self.component[self.edges[:, 0]]

    @property
    def sizes(self) -> np.ndarray:
        """Number of vertices of each edge: (m,) int64."""
        return np.diff(self.offsets)

    @property
    def owner(self) -> np.ndarray:
        """The edge that each vertex belongs to: (p,) int64."""
        return np.repeat(np.arange(len(self.edges)), self.sizes)

    @property
    def is_end(self) -> np.ndarray:
        """Which vertices are the first or last of their edge: (p,) bool."""
        ends = np.zeros(len(self.points), dtype=bool)
        ends[self.offsets[:-1]] = True
        ends[self.offsets[1:] - 1] = True
        return ends

    def line(self, edge: int) -> np.ndarray:
        """Return the vertices of one edge: (k, 2) float64."""
        return self.points[self.offsets[edge] : self.offsets[edge + 1]]

    def shapes(self) -> np.ndarray:
        """Return each edge as a LineString: (m,) object."""
        return shapely.linestrings(self.points, indices=self.owner)

    @cached_property
    def tree(self) -> shapely.STRtree:
        """A search tree of the edges' shapes."""
        return shapely.STRtree(self.shapes())

    def origin_of(self, edges: np.ndarray) -> Optional[np.ndarray]:
        """Return the origin (if any) of edges given by (k,) int64 numbers or an (m,) bool mask: (k,) int64."""
        return None if self.origin is None else self.origin[edges]

    @cached_property
    def steps(self) -> np.ndarray:
        """Distance from each vertex to the next of its edge, 0 at an edge's last: (p,) float64."""
        steps = np.zeros(len(self.points))
        x, y = self.points.T
        np.hypot(np.diff(x), np.diff(y), out=steps[:-1])
        steps[self.offsets[1:] - 1] = 0
        return steps

    def lengths(self) -> np.ndarray:
        """Return the length of each edge: (m,) float64."""
        return np.add.reduceat(self.steps, self.offsets[:-1]) if len(self.edges) else np.zeros(0)

    @cached_property
    def along(self) -> np.ndarray:
        """Distance of each vertex from its edge's first node, along the edge: (p,) float64."""
        total = np.cumsum(self.steps) - self.steps
        return total - total[self.offsets[:-1]][self.owner]

    def locate(self, edges: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the vertex before each place, (k,) int64, and how far it is to the next, from 0 to 1 of the step.

        Places are (k,) int64 edges and (k,) float64 distances along them.
        """
        # The distance of each vertex through all edges never decreases, so one search finds all places.
        total = np.cumsum(self.steps) - self.steps
        first, last = self.offsets[edges], self.offsets[edges + 1] - 1
        vertex = np.clip(np.searchsorted(total, total[first] + along, side="right") - 1, first, last - 1)
        step = self.steps[vertex]
        fraction = np.divide(along - self.along[vertex], step, out=np.zeros(len(vertex)), where=step > 0)
        return vertex, np.clip(fraction, 0, 1)

    def neighbors(self, reach: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return the vertices `reach` before and after each one on its edge, or the edge's ends: (p,) int64 each."""
        index, owner = np.arange(len(self.points)), self.owner
        before, after = index - reach, index + reach
        return np.maximum(before, self.offsets[:-1][owner]), np.minimum(after, self.offsets[1:][owner] - 1)


EMPTY = Graph(np.zeros((0, 2)), np.zeros((0, 2), np.int64), np.zeros((0, 2)), np.zeros(1, np.int64))


def scaled(graph: Graph, factors: np.ndarray) -> Graph:
    """Return the graph with coordinates multiplied by factors along x and y: (2,) float64."""
    return replace(graph, nodes=graph.nodes * factors, points=graph.points * factors)


def select_edges(graph: Graph, kept: np.ndarray) -> Graph:
    """Return the graph with only the edges where the (m,) bool mask `kept` is True and the nodes they touch."""
    edges = graph.edges[kept]
    is_used = np.zeros(len(graph.nodes), dtype=bool)
    is_used[edges] = True
    renumbered = np.cumsum(is_used) - 1
    return Graph(graph.nodes[is_used], renumbered[edges], *_select_lines(graph, kept), graph.origin_of(kept))


def select_points(graph: Graph, kept: np.ndarray) -> Graph:
    """Return the graph with only the vertices where `kept`, (p,) bool, is True; lines always keep their ends."""
    kept = kept | graph.is_end
    sizes = np.bincount(graph.owner[kept], minlength=len(graph.edges))
    return replace(graph, points=graph.points[kept], offsets=offsets_of(sizes))


def move_nodes(graph: Graph, nodes: np.ndarray) -> Graph:
    """Return the graph with its nodes, and so the ends of its lines, at other places: (n, 2) float64."""
    points = graph.points.copy()
    points[graph.offsets[:-1]] = nodes[graph.edges[:, 0]]
    points[graph.offsets[1:] - 1] = nodes[graph.edges[:, 1]]
    return replace(graph, nodes=nodes, points=points)


def reversed_edges(graph: Graph, chosen: np.ndarray) -> Graph:
    """Return the graph with some edges, (m,) bool, running from their second node to their first."""
    edges = np.where(chosen[:, None], graph.edges[:, ::-1], graph.edges)
    begin, last = graph.offsets[:-1][graph.owner], graph.offsets[1:][graph.owner] - 1
    index = np.arange(len(graph.points))
    return replace(graph, edges=edges, points=graph.points[np.where(chosen[graph.owner], begin + last - index, index)])


def contract(graph: Graph, short: np.ndarray) -> Graph:
    """Return the graph with the (m,) bool edges contracted: the nodes that they connect become one at their mean.

    No cycle is ever lost: where such edges close one, none of those connected with them is contracted.
    """
    cluster = connected(len(graph.nodes), graph.edges[short])
    # A cluster is a tree if it has one node more than short edges; other clusters have a cycle.
    node_count = np.bincount(cluster)
    edge_count = np.bincount(cluster[graph.edges[short, 0]], minlength=len(node_count))
    short = short & (node_count - edge_count == 1)[cluster[graph.edges[:, 0]]]
    rest = Graph(graph.nodes, graph.edges[~short], *_select_lines(graph, ~short), graph.origin_of(~short))
    return join_nodes(rest, graph.edges[short])


def join_nodes(graph: Graph, pairs: np.ndarray) -> Graph:
    """Return the graph with the nodes of each pair, (k, 2) int64, merged at their mean; chains of pairs into one."""
    cluster = connected(len(graph.nodes), pairs)
    nodes = np.column_stack([np.bincount(cluster, axis) for axis in graph.nodes.T]) / np.bincount(cluster)[:, None]
    return move_nodes(replace(graph, edges=cluster[graph.edges]), nodes)


def _select_lines(graph: Graph, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points and offsets of the edges where `kept` is True."""
    return graph.points[np.repeat(kept, graph.sizes)], offsets_of(graph.sizes[kept])


def connected(count: int, edges: np.ndarray) -> np.ndarray:
    """Return the connected component of each of `count` nodes, from 0, by edges, (m, 2) int64: (count,) int64."""
    links = coo_array((np.ones(len(edges), dtype=bool), edges.T), shape=(count, count))
    return connected_components(links, directed=False)[1].astype(np.int64) if count else np.zeros(0, dtype=np.int64)
