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


def trace(skeleton: np.ndarray) -> Graph:
    """Return the graph of a skeleton, (height, width), bool; see `trace_pixels`."""
    return trace_pixels(np.argwhere(skeleton)[:, ::-1])


def trace_pixels(pixels: np.ndarray) -> Graph:
    """Return the graph of a skeleton, with its components and its holes as components and cycles.

    Pixels are linked to their neighbors, and chains of links joined at pixels that have just two. Junction pixels side
    by side become one node at their mean, unless they surround a hole. A ring without a junction becomes an edge from
    a node to itself, and a lone pixel a node without edges.

    Parameters
    ----------
    pixels : ndarray (n, 2), int64
        Column and row of each pixel, in any order; they form lines one pixel wide. Of other pixels the topology is
        right, too, but not the shape.
    """
    stride = pixels[:, 0].max(initial=0) + 1
    pixels = pixels[np.argsort(pixels[:, 1] * stride + pixels[:, 0], kind="stable")]
    nodes, links = pixels.astype(np.float64), _pixel_links(pixels)
    offsets = np.arange(0, 2 * len(links) + 1, 2)
    graph = join_chains(Graph(nodes, links, nodes[links.ravel()], offsets))
    is_junction = graph.degree > 2
    return contract(graph, is_junction[graph.edges].all(axis=1) & (graph.sizes == 2))


def _pixel_links(pixels: np.ndarray) -> np.ndarray:
    """Return the links between pixels, as a graph with the components and holes that they have as a mask.

    The mask with 8-connectivity is a complex of pixels, links, and faces where pixels touch all around. A diagonal
    link beside an orthogonal way collapses with the triangle between them. A block of 2 x 2 pixels is a face with four
    links, which collapses together with its upper one: from the top down, since a block's lower link may be the upper
    one of the next.

    Parameters
    ----------
    pixels : ndarray (n, 2), int64
        Column and row, row by row and from left to right.

    Returns
    -------
    ndarray (m, 2), int64
        Pairs of positions in `pixels`.
    """
    stride = pixels[:, 0].max(initial=0) + 2  # one column more than there are, so that no row's end meets the next row
    at = pixels[:, 1] * stride + pixels[:, 0]
    padded, here = np.append(at, -1), np.arange(len(at))  # what stands after all pixels is no one's neighbor
    lower_left = np.searchsorted(at, at + stride - 1)
    below = lower_left + (padded[lower_left] == at + stride - 1)
    lower_right = below + (padded[below] == at + stride)
    has_right = padded[here + 1] == at + 1
    has_left = np.append(False, has_right[:-1])[: len(at)]
    has_lower_left, has_below = below > lower_left, lower_right > below
    has_lower_right = padded[lower_right] == at + stride + 1
    links = (
        (has_right & ~(has_below & has_lower_right), here + 1),
        (has_below, below),
        (has_lower_right & ~has_right & ~has_below, lower_right),
        (has_lower_left & ~has_left & ~has_below, lower_left),
    )
    return np.concatenate([np.column_stack([here[linked], to[linked]]) for linked, to in links])


@dataclass(frozen=True)
class Chains:
    """The chains of edges that nodes of degree 2 link, each between two nodes that stay.

    Parameters
    ----------
    kept : ndarray (n,), bool
        The nodes that stay: those of another degree, and one in each ring that has only nodes of degree 2.
    ways : ndarray (m,), int64
        Chain after chain; each edge i once, as 2 i along it or as 2 i + 1 against it.
    offsets : ndarray (chains + 1,), int64
        Chain j has the ways from `offsets[j]` to before `offsets[j + 1]`.
    """

    kept: np.ndarray
    ways: np.ndarray
    offsets: np.ndarray

    @property
    def edges(self) -> np.ndarray:
        """The edge of each way: (m,), int64."""
        return self.ways // 2


def find_chains(graph: Graph, stays: Optional[np.ndarray] = None) -> Chains:
    """Return the chains of a graph, which end at nodes where `stays` (n,) is True, too.

    Of every chain, the way along it is found by pointer jumping (Wyllie, "The complexity of parallel computations",
    1979), in as many steps as the logarithm of its length.
    """
    kept = graph.degree != 2
    if stays is not None:
        kept |= stays
    is_cut = np.zeros(graph.component.max(initial=-1) + 1, dtype=bool)
    is_cut[graph.component[kept]] = True
    on_rings = np.flatnonzero(~is_cut[graph.component])
    kept[on_rings[np.unique(graph.component[on_rings], return_index=True)[1]]] = True
    return Chains(kept, *_chains(graph.edges, kept))


def join_chains(graph: Graph, stays: Optional[np.ndarray] = None) -> Graph:
    """Return the graph without nodes of degree 2: the two edges that meet there become one.

    Such nodes stay where `stays` (n,) is True, and one of a ring of them.
    """
    return join(graph, find_chains(graph, stays))


def join(graph: Graph, chains: Chains) -> Graph:
    """Return the graph in which each of its chains is one edge, in their order."""
    edge, reverse = chains.edges, chains.ways % 2 == 1
    is_last = np.zeros(len(edge), dtype=bool)
    is_last[chains.offsets[1:] - 1] = True
    # The last vertex of a line is the first one of the next, and stands once.
    counts = graph.sizes[edge] - ~is_last
    begins = np.where(reverse, graph.offsets[edge + 1] - 1, graph.offsets[edge])
    points = graph.points[runs(begins, counts, np.where(reverse, -1, 1))]
    ends = np.concatenate([[0], np.cumsum(counts)])
    renumbered = np.cumsum(chains.kept) - 1
    tails, heads = graph.edges.ravel(), graph.edges[:, ::-1].ravel()
    first, last = chains.ways[chains.offsets[:-1]], chains.ways[chains.offsets[1:] - 1]
    edges = renumbered[np.column_stack([tails[first], heads[last]])]
    origin = None if graph.origin is None else graph.origin[edge[_longest(graph.lengths()[edge], chains.offsets)]]
    return Graph(graph.nodes[chains.kept], edges, points, ends[chains.offsets], origin)


def _longest(lengths: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return where in each run, from `offsets[i]` to before `offsets[i + 1]`, the greatest length is: (k,), int64."""
    run = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.lexsort((lengths, run))[offsets[1:] - 1]


def _chains(edges: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the chains of edges between nodes where to stop; every other node has degree 2.

    Each edge i is two ways: 2 i along it and 2 i + 1 against it.

    Returns
    -------
    ways : ndarray (m,), int64
        Chain after chain; each edge in one of its ways.
    offsets : ndarray (chains + 1,), int64
    """
    way = np.arange(2 * len(edges))
    tails, heads = edges.ravel(), edges[:, ::-1].ravel()
    # The two ways that leave a node of degree 2 have a known sum, so that each tells the other.
    leaving = np.bincount(tails, way, minlength=len(stop)).astype(np.int64)
    is_last = stop[heads]
    jump = np.where(is_last, way, leaving[heads] - (way ^ 1))
    to_go = (~is_last).astype(np.int64)
    active = np.flatnonzero(~is_last)
    while active.size:
        following = jump[active]
        to_go[active] += to_go[following]
        jump[active] = jump[following]
        active = active[~is_last[jump[active]]]
    last, first = jump, jump[way ^ 1] ^ 1
    chosen = first < (last ^ 1)  # of a chain's two directions
    firsts = way[chosen & (first == way)]
    offsets = np.concatenate([[0], np.cumsum(to_go[firsts] + 1)])
    begin = np.zeros(len(way), dtype=np.int64)
    begin[firsts] = offsets[:-1]
    taken = way[chosen]
    ways = np.empty(len(edges), dtype=np.int64)
    ways[begin[first[taken]] + to_go[first[taken]] - to_go[taken]] = taken
    return ways, offsets


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
