"""Chains of edges through nodes of degree 2, and the graph in which each chain is one edge.

Scope: graphs. Independent of pixels and of the map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np

from .graph import Graph
from .parallel_arrays import ranges


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
    points = graph.points[ranges(begins, counts, np.where(reverse, -1, 1))]
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
