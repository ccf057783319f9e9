"""Shortest paths between places on the edges of a graph, a few sources at a time.

Scope: costs of edges, in meters or seconds. Independent of roads and scores.

Dijkstra's algorithm ("A note on two problems in connexion with graphs", 1959) runs between nodes only. Places are added
by their costs to both nodes of their edge, which is exact and needs no node for a place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ..geodata.parallel_arrays import ranges, selected
from .graph import Graph
from .road_graph import Places, RoadGraph


@dataclass(frozen=True)
class PathCosts:
    """Places on a graph, with the costs for shortest paths between them."""

    links: csr_array  # (k, k): the least cost of an edge between two nodes, in both directions
    edge: np.ndarray  # (n,) int64: the edge of each place; -1 for nowhere
    along: np.ndarray  # (n,) float64: cost from the edge's first node to the place
    ends: np.ndarray  # (n, 2) int64: both nodes of each place's edge
    away: np.ndarray  # (n, 2) float64: the cost from the place to either; infinite for nowhere

    @property
    def node_count(self) -> int:
        """Number of nodes of the graph."""
        return self.links.shape[0]

    def to_nodes(self, sources: np.ndarray, limit: float = np.inf) -> np.ndarray:
        """Return the cost from places, (b,) int64, to every node: (b, k) float64; infinite beyond a limit.

        The limit counts from the nodes of the places' edges.
        """
        # Dijkstra from both nodes of each place's edge, once for each node, then the cheaper of both.
        nodes, position = np.unique(self.ends[sources], return_inverse=True)
        costs = dijkstra(self.links, indices=nodes, limit=limit)
        one, other = position.reshape(-1, 2).T
        away = self.away[sources]
        return np.minimum(costs[one] + away[:, :1], costs[other] + away[:, 1:])

    def between(self, sources: np.ndarray, to_nodes: np.ndarray, first: int = 0) -> np.ndarray:
        """Return the cost from (b,) int64 places to all places from number `first` on: (b, n - first) float64.

        Their (b, k) float64 costs `to_nodes` come from the method of that name.
        """
        # Through either node of the target's edge, in place to save memory.
        ends, away = self.ends[first:], self.away[first:]
        costs = np.take(to_nodes, ends[:, 0], axis=1)
        costs += away[:, 0]
        others = np.take(to_nodes, ends[:, 1], axis=1)
        others += away[:, 1]
        np.minimum(costs, others, out=costs)
        # On one edge also directly: pairs of a source's row and a place that share an edge.
        edge = self.edge[first:]
        order = np.argsort(edge, kind="stable")
        begin, end = (np.searchsorted(edge[order], self.edge[sources], side) for side in ("left", "right"))
        counts = np.where(self.edge[sources] < 0, 0, end - begin)
        row, target = np.repeat(np.arange(len(sources)), counts), first + order[ranges(begin, counts)]
        direct = np.abs(self.along[sources[row]] - self.along[target])
        costs[row, target - first] = np.minimum(costs[row, target - first], direct)
        return costs


def path_costs(graph: Graph, cost: np.ndarray, edge: np.ndarray, along: np.ndarray) -> PathCosts:
    """Return the costs for shortest paths between places of a graph.

    The (m,) float64 `cost` of edges is above 0. A place is on the (n,) int64 `edge` (-1 for nowhere) at the (n,)
    float64 cost `along` from the edge's first node.
    """
    ends = graph.edges[edge] if len(graph.edges) else np.zeros((len(edge), 2), dtype=np.int64)
    rest = cost[edge] - along if len(graph.edges) else along
    away = np.where((edge < 0)[:, None], np.inf, np.column_stack([along, rest]))
    return PathCosts(_links(graph, cost), edge, along, ends, away)


def _links(graph: Graph, cost: np.ndarray) -> csr_array:
    """Return the costs between adjacent nodes as a sparse matrix: the least of parallel edges, without loops."""
    is_loop = graph.edges[:, 0] == graph.edges[:, 1]
    pairs, costs = np.sort(graph.edges[~is_loop], axis=1), cost[~is_loop]
    order = np.lexsort((costs, pairs[:, 1], pairs[:, 0]))
    pairs, least = np.unique(pairs[order], axis=0, return_index=True)
    costs = costs[order][least]
    both = np.concatenate([pairs, pairs[:, ::-1]])
    count = max(len(graph.nodes), 1)  # places that are nowhere need a node too
    return csr_array((np.tile(costs, 2), tuple(both.T)), shape=(count, count))


def path_costs_on(roads: RoadGraph, places: Places, by_time: bool) -> PathCosts:
    """Return the costs for shortest paths between places of a road graph, in seconds or else in meters."""
    if not by_time:
        return path_costs(roads.graph, roads.length_m, places.edge, places.along_m)
    on_road = places.edge >= 0
    along_s = np.zeros(len(places))
    along_s[on_road] = roads.times_at(selected(places, on_road))
    return path_costs(roads.graph, roads.travel_time_s, places.edge, along_s)
