"""A planar multigraph in arrays: nodes where lines meet or end, and edges with their vertices; its edits and chains.

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

from ..geodata.parallel_arrays import offsets_of, ranges


@dataclass(frozen=True)
class Graph:
    """A multigraph drawn on a plane. Edges may be parallel, and may begin and end at the same node.

    Coordinates are meters, except in a graph just traced: there they are column and row, whole numbers at pixel centers
    (`extraction.skeletons`). An edge has at least two vertices; its ends repeat the nodes. An edge's parts inherit its
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


@dataclass(frozen=True)
class Chains:
    """The maximal chains of edges through nodes of degree 2, each between two nodes that are kept.

    A half-edge is an edge in one direction: edge i along it is 2 i, and against it 2 i + 1.
    """

    kept: np.ndarray  # (n,) bool: nodes of another degree, and one of each ring with only nodes of degree 2
    half_edges: np.ndarray  # (m,) int64: chain after chain; each edge once, in the direction of its chain
    offsets: np.ndarray  # (chains + 1,) int64: chain j has the half-edges from offsets[j] to before offsets[j + 1]

    @property
    def edges(self) -> np.ndarray:
        """The edge of each half-edge: (m,) int64."""
        return self.half_edges // 2

    @property
    def is_reversed(self) -> np.ndarray:
        """Which edges their chain runs against: (m,) bool."""
        return self.half_edges % 2 == 1


def find_chains(graph: Graph, stays: Optional[np.ndarray] = None) -> Chains:
    """Return the chains of a graph. They also end at nodes where the (n,) bool mask `stays` is True.

    Pointer jumping (Wyllie, "The complexity of parallel computations", 1979) needs as many steps as the logarithm of
    the longest chain's length.
    """
    kept = graph.degree != 2
    if stays is not None:
        kept |= stays
    # A component without a node to keep is a ring: its first node is kept.
    is_cut = np.zeros(graph.component.max(initial=-1) + 1, dtype=bool)
    is_cut[graph.component[kept]] = True
    on_rings = np.flatnonzero(~is_cut[graph.component])
    kept[on_rings[np.unique(graph.component[on_rings], return_index=True)[1]]] = True
    return Chains(kept, *_chains(graph.edges, kept))


def join_chains(graph: Graph, stays: Optional[np.ndarray] = None) -> Graph:
    """Return the graph with edges joined at nodes of degree 2 except where the (n,) bool mask `stays` is True.

    A ring keeps one of its nodes.
    """
    return join(graph, find_chains(graph, stays))


def join(graph: Graph, chains: Chains) -> Graph:
    """Return the graph in which each of its chains is one edge, in their order."""
    # Vertices of the edges in the order and direction of their chains.
    edge, reverse = chains.edges, chains.is_reversed
    is_last = np.zeros(len(edge), dtype=bool)
    is_last[chains.offsets[1:] - 1] = True
    # The last vertex of a line is the first one of the next, and is taken once.
    counts = graph.sizes[edge] - ~is_last
    begins = np.where(reverse, graph.offsets[edge + 1] - 1, graph.offsets[edge])
    points = graph.points[ranges(begins, counts, np.where(reverse, -1, 1))]
    ends = offsets_of(counts)
    # The end nodes of a chain are the tail of its first half-edge and the head of its last.
    renumbered = np.cumsum(chains.kept) - 1
    tails, heads = graph.edges.ravel(), graph.edges[:, ::-1].ravel()
    first, last = chains.half_edges[chains.offsets[:-1]], chains.half_edges[chains.offsets[1:] - 1]
    edges = renumbered[np.column_stack([tails[first], heads[last]])]
    # Sorted by length within each chain, the last edge is its longest.
    origin = None
    if graph.origin is not None:
        chain = np.repeat(np.arange(len(chains.offsets) - 1), np.diff(chains.offsets))
        origin = graph.origin[edge[np.lexsort((graph.lengths()[edge], chain))[chains.offsets[1:] - 1]]]
    return Graph(graph.nodes[chains.kept], edges, points, ends[chains.offsets], origin)


def _chains(edges: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the half-edges and the offsets of `Chains` between nodes where to stop; all others have degree 2."""
    half_edge = np.arange(2 * len(edges))
    tails, heads = edges.ravel(), edges[:, ::-1].ravel()
    # The sum of both half-edges that leave a node of degree 2. Without the one that leads back it is the next one.
    leaving = np.bincount(tails, half_edge, minlength=len(stop)).astype(np.int64)
    # Pointer jumping: each half-edge points ahead on its chain and counts the steps. Each round doubles both.
    is_last = stop[heads]
    jump = np.where(is_last, half_edge, leaving[heads] - (half_edge ^ 1))
    to_go = (~is_last).astype(np.int64)
    active = np.flatnonzero(~is_last)
    while active.size:
        following = jump[active]
        to_go[active] += to_go[following]
        jump[active] = jump[following]
        active = active[~is_last[jump[active]]]
    # The first half-edge is the reverse of the last one of the opposite direction. Of both directions one is taken.
    last, first = jump, jump[half_edge ^ 1] ^ 1
    chosen = first < (last ^ 1)
    # Chain after chain in the order of their first half-edges, each half-edge at its number of steps from the first.
    firsts = half_edge[chosen & (first == half_edge)]
    offsets = offsets_of(to_go[firsts] + 1)
    begin = np.zeros(len(half_edge), dtype=np.int64)
    begin[firsts] = offsets[:-1]
    taken = half_edge[chosen]
    ordered = np.empty(len(edges), dtype=np.int64)
    ordered[begin[first[taken]] + to_go[first[taken]] - to_go[taken]] = taken
    return ordered, offsets
