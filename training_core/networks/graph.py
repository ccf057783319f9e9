"""A skeleton as a multigraph: nodes where lines meet or end, edges with the pixels between them.

Knows the topology of lines on a plane, and how to join, select and contract edges without changing it; knows nothing
of roads, meters or maps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional

import numpy as np
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


@dataclass(frozen=True)
class Graph:
    """A multigraph drawn on a plane. Edges may be parallel, and may begin and end at the same node.

    The plane is a pixel grid, as here, or one of meters, x east and y north, as in `roadgraph`.

    Parameters
    ----------
    nodes : ndarray (n, 2), float64
        Column and row, where a pixel's center has whole numbers; or x and y.
    edges : ndarray (m, 2), int64
        The two nodes of each edge.
    points : ndarray (p, 2), float64
        All edges' vertices, edge after edge, each from its first node to its second.
    offsets : ndarray (m + 1,), int64
        Edge i has the vertices from `offsets[i]` to before `offsets[i + 1]`, at least two.
    origin : ndarray (m,), int64, optional
        Number of what each edge was made from, such as the row of a table. It goes with the edge and with its parts;
        where edges are joined, the longest one's stays.
    """

    nodes: np.ndarray
    edges: np.ndarray
    points: np.ndarray
    offsets: np.ndarray
    origin: Optional[np.ndarray] = None

    @cached_property
    def degree(self) -> np.ndarray:
        """Number of edge ends at each node: (n,), int64; an edge from a node to itself counts twice."""
        return np.bincount(self.edges.ravel(), minlength=len(self.nodes))

    @cached_property
    def component(self) -> np.ndarray:
        """Number of the connected component of each node, from 0: (n,), int64."""
        return connected(len(self.nodes), self.edges)

    @property
    def edge_component(self) -> np.ndarray:
        """Number of the connected component of each edge, from 0: (m,), int64."""
        return self.component[self.edges[:, 0]]

    @property
    def sizes(self) -> np.ndarray:
        """Number of vertices of each edge: (m,), int64."""
        return np.diff(self.offsets)

    @property
    def owner(self) -> np.ndarray:
        """The edge that each vertex belongs to: (p,), int64."""
        return np.repeat(np.arange(len(self.edges)), self.sizes)

    @property
    def is_end(self) -> np.ndarray:
        """Which vertices are the first or last of their edge: (p,), bool."""
        ends = np.zeros(len(self.points), dtype=bool)
        ends[self.offsets[:-1]] = True
        ends[self.offsets[1:] - 1] = True
        return ends

    def line(self, edge: int) -> np.ndarray:
        """Return the vertices of one edge: (k, 2), float64."""
        return self.points[self.offsets[edge] : self.offsets[edge + 1]]

    def shapes(self, scale: tuple[float, float] = (1.0, 1.0)) -> np.ndarray:
        """Return each edge as a line, (m,) of LineString, its coordinates multiplied by `scale`."""
        return shapely.linestrings(self.points * scale, indices=self.owner)

    def origin_of(self, edges: np.ndarray) -> Optional[np.ndarray]:
        """Return the origin of some edges, given by their numbers or by a mask; None where nothing is known of it."""
        return None if self.origin is None else self.origin[edges]

    def lengths(self, scale: tuple[float, float] = (1.0, 1.0)) -> np.ndarray:
        """Return the length of each edge, (m,) float64, where a step of a column and of a row is as long as `scale`."""
        if not len(self.edges):
            return np.zeros(0)
        steps = np.zeros(len(self.points))
        np.hypot(*(np.diff(axis) * unit for axis, unit in zip(self.points.T, scale)), out=steps[:-1])
        steps[self.offsets[1:] - 1] = 0  # no step leads from a line's last vertex
        return np.add.reduceat(steps, self.offsets[:-1])

    def along(self, scale: tuple[float, float] = (1.0, 1.0)) -> np.ndarray:
        """Return how far each vertex is from its edge's first node, along the edge: (p,), float64; see `lengths`."""
        steps = np.hypot(*(np.diff(self.points, axis=0) * scale).T)
        total = np.concatenate([[0], np.cumsum(np.where(np.diff(self.owner) == 0, steps, 0))])[: len(self.points)]
        return total - total[self.offsets[:-1]][self.owner]


EMPTY = Graph(np.zeros((0, 2)), np.zeros((0, 2), np.int64), np.zeros((0, 2)), np.zeros(1, np.int64))


def select_edges(graph: Graph, kept: np.ndarray) -> Graph:
    """Return the graph with only the edges where `kept` (m,) is True, in their order, and the nodes they touch."""
    edges = graph.edges[kept]
    is_used = np.zeros(len(graph.nodes), dtype=bool)
    is_used[edges] = True
    renumbered = np.cumsum(is_used) - 1
    return Graph(graph.nodes[is_used], renumbered[edges], *_select_lines(graph, kept), graph.origin_of(kept))


def select_points(graph: Graph, kept: np.ndarray) -> Graph:
    """Return the graph with only the vertices where `kept` (p,) is True; lines keep their ends in any case."""
    kept = kept | graph.is_end
    sizes = np.bincount(graph.owner[kept], minlength=len(graph.edges))
    return replace(graph, points=graph.points[kept], offsets=np.concatenate([[0], np.cumsum(sizes)]))


def move_nodes(graph: Graph, nodes: np.ndarray) -> Graph:
    """Return the graph with its nodes at other places, (n, 2), and its lines' ends with them."""
    points = graph.points.copy()
    points[graph.offsets[:-1]] = nodes[graph.edges[:, 0]]
    points[graph.offsets[1:] - 1] = nodes[graph.edges[:, 1]]
    return replace(graph, nodes=nodes, points=points)


def contract(graph: Graph, short: np.ndarray) -> Graph:
    """Return the graph with the nodes that some edges join made one, at their mean, and those edges gone.

    Where such edges close a cycle, none that hang together with them is contracted: cycles are never lost.

    Parameters
    ----------
    graph : Graph
    short : ndarray (m,), bool
        The edges to contract.
    """
    cluster = connected(len(graph.nodes), graph.edges[short])
    node_count = np.bincount(cluster)
    edge_count = np.bincount(cluster[graph.edges[short, 0]], minlength=len(node_count))
    short = short & (node_count - edge_count == 1)[cluster[graph.edges[:, 0]]]
    rest = Graph(graph.nodes, graph.edges[~short], *_select_lines(graph, ~short), graph.origin_of(~short))
    return join_nodes(rest, graph.edges[short])


def join_nodes(graph: Graph, pairs: np.ndarray) -> Graph:
    """Return the graph with the nodes of each pair (k, 2) made one, with all that hang together, at their mean."""
    cluster = connected(len(graph.nodes), pairs)
    nodes = np.column_stack([np.bincount(cluster, axis) for axis in graph.nodes.T]) / np.bincount(cluster)[:, None]
    return move_nodes(replace(graph, edges=cluster[graph.edges]), nodes)


def _select_lines(graph: Graph, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points and offsets of some edges."""
    return graph.points[np.repeat(kept, graph.sizes)], np.concatenate([[0], np.cumsum(graph.sizes[kept])])


def connected(count: int, edges: np.ndarray) -> np.ndarray:
    """Return the number of the connected component of each of `count` nodes, from 0: (count,), int64."""
    links = coo_array((np.ones(len(edges), dtype=bool), edges.T), shape=(count, count))
    return connected_components(links, directed=False)[1].astype(np.int64) if count else np.zeros(0, dtype=np.int64)


def runs(begins: np.ndarray, counts: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the whole numbers begin, begin + step, ... of several runs, run after run."""
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(begins, counts) + np.repeat(steps, counts) * within
