"""Chains of edges through nodes of degree 2, and the graph in which each chain is one edge.

Scope: topology of graphs. Independent of pixels and maps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..geodata.parallel_arrays import offsets_of, ranges
from .graph import Graph


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
