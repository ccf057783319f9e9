"""TOPO, local topology similarity: whether the roads reachable from a place are those reachable in truth.

Scope: seeds, holes and marbles on the edges of graphs. Independent of layers and reports. The method is that of
Biagioni and Eriksson, "Inferring road maps from global positioning system traces", Transportation Research Record 2291
(2012):

- Seeds lie evenly along the edges of the truth, about `seed_m` apart. Each also begins at the nearest place of the
  proposal if that is within `hole_m`.
- Holes lie along the truth and marbles along the proposal, about `interval_m` apart. Those within the network distance
  `radius_m` of a seed are reached from it.
- Marbles and holes within `hole_m` of each other are matched one to one (maximum bipartite matching).
- Recall is the matched fraction of the reached holes, precision that of the reached marbles, both over all seeds.

Two points differ from the paper. Holes and marbles have fixed places, not fixed distances from each seed. And missing
counterparts count: from a seed on the truth without a proposal near, no hole is matched; from a seed on the proposal
without a truth near, no marble is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import harmonic_mean

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial import cKDTree

from ..events import Reporter
from ..geodata.parallel_arrays import ranges, selected
from ..networks.road_graph import Places, RoadGraph, path_costs, places_along

SEED_M, RADIUS_M, HOLE_M, INTERVAL_M = 30.0, 300.0, 8.0, 5.0
# Seeds whose paths are held at once, and the tolerance of distances for rounding.
_BATCH, _ROUNDING_M = 256, 1e-6


@dataclass(frozen=True)
class Topo:
    """The TOPO score: counts summed over all seeds.

    Of the seeds on the truth, `paired` have a proposal near. Of the reached holes and marbles, `matched` pairs match.
    """

    seeds: int
    paired: int
    holes: int
    marbles: int
    matched: int

    @property
    def precision(self) -> float:
        """Matched fraction of the marbles; 0 without any."""
        return self.matched / self.marbles if self.marbles else 0.0

    @property
    def recall(self) -> float:
        """Matched fraction of the holes; 0 without any."""
        return self.matched / self.holes if self.holes else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return float(harmonic_mean([self.precision, self.recall]))


def score_topo(
    truth: RoadGraph,
    proposal: RoadGraph,
    reporter: Reporter,
    radius_m: float = RADIUS_M,
    hole_m: float = HOLE_M,
    seed_m: float = SEED_M,
    interval_m: float = INTERVAL_M,
) -> Topo:
    """Return the TOPO score of two graphs, in one plane, without nodes of degree 2; see the module for distances."""
    seeds, partners = _seeds(truth, proposal, seed_m, hole_m)
    others, missing = _seeds(proposal, truth, seed_m, hole_m)
    paired = partners.edge >= 0
    stray = selected(others, missing.edge < 0)
    holes, marbles = places_along(truth, interval_m), places_along(proposal, interval_m)
    near = _near(truth.points_at(holes), proposal.points_at(marbles), hole_m)
    # Seeds on the truth with their partners, seed by seed, and then the marbles around seeds without a truth.
    hole_count = marble_count = matched = 0
    reached_holes = _reached(truth, holes, seeds, radius_m)
    reached_marbles = _reached(proposal, marbles, selected(partners, paired), radius_m)
    for number, (has_partner, seed_holes) in enumerate(zip(paired, reached_holes)):
        if number % _BATCH == 0:
            reporter.check_cancelled()
            reporter.progress(number / len(seeds), "Comparing reachable roads")
        hole_count += len(seed_holes)
        if has_partner:
            seed_marbles = next(reached_marbles)
            marble_count += len(seed_marbles)
            matched += _match(near, seed_holes, seed_marbles)
    marble_count += sum(len(spots) for spots in _reached(proposal, marbles, stray, radius_m))
    return Topo(len(seeds), int(paired.sum()), hole_count, marble_count, matched)


def _seeds(roads: RoadGraph, other: RoadGraph, seed_m: float, hole_m: float) -> tuple[Places, Places]:
    """Return the seeds of a graph, and the nearest place of each in the other."""
    seeds = places_along(roads, seed_m)
    partners, _ = other.nearest(roads.points_at(seeds), hole_m, roads.headings_at(seeds))
    return seeds, partners


def _near(holes: np.ndarray, marbles: np.ndarray, hole_m: float) -> csr_array:
    """Return which marbles may be matched to which holes: (holes, marbles) bool."""
    shape = len(holes), len(marbles)
    if not all(shape):
        return csr_array(shape, dtype=bool)
    pairs = cKDTree(holes).sparse_distance_matrix(cKDTree(marbles), hole_m + _ROUNDING_M, output_type="ndarray")
    return csr_array((np.ones(len(pairs), dtype=bool), (pairs["i"], pairs["j"])), shape=shape)


def _reached(roads: RoadGraph, spots: Places, seeds: Places, radius_m: float) -> Iterator[np.ndarray]:
    """Yield, for each seed, the sorted numbers of the spots within its reach; spots are sorted by edge."""
    graph, length_m = roads.graph, roads.length_m
    costs = path_costs(graph, length_m, seeds.edge, seeds.along_m)
    # Indices by which the spots of edges, and the edge ends at nodes, are ranges.
    first_spot = np.searchsorted(spots.edge, np.arange(len(graph.edges) + 1))
    by_node = np.argsort(graph.edges.ravel(), kind="stable")
    first_edge = np.searchsorted(graph.edges.ravel()[by_node], np.arange(len(graph.nodes) + 1))
    for begin in range(0, len(seeds), _BATCH):
        block = np.arange(begin, min(begin + _BATCH, len(seeds)))
        for seed, to_nodes in zip(block, costs.to_nodes(block, radius_m)):
            # Candidates: the spots on the seed's edge and on all edges at reached nodes.
            nodes = np.flatnonzero(to_nodes <= radius_m)
            ends = by_node[ranges(first_edge[nodes], first_edge[nodes + 1] - first_edge[nodes])]
            edges = np.unique(np.append(ends // 2, seeds.edge[seed]))
            candidates = ranges(first_spot[edges], first_spot[edges + 1] - first_spot[edges])
            edge, along_m = spots.edge[candidates], spots.along_m[candidates]
            # The path leads through either node of the edge, or along the edge of the seed itself.
            path_m = np.minimum(
                to_nodes[graph.edges[edge, 0]] + along_m, to_nodes[graph.edges[edge, 1]] + length_m[edge] - along_m
            )
            direct_m = np.where(edge == seeds.edge[seed], np.abs(along_m - seeds.along_m[seed]), np.inf)
            yield candidates[np.minimum(path_m, direct_m) <= radius_m + _ROUNDING_M]


def _match(near: csr_array, holes: np.ndarray, marbles: np.ndarray) -> int:
    """Return the size of the maximum matching of some marbles and holes, both given as sorted numbers."""
    counts = near.indptr[holes + 1] - near.indptr[holes]
    marble = near.indices[ranges(near.indptr[holes], counts)]
    # Keep only the given ones among all marbles near these holes, as columns of a smaller matrix.
    column = np.minimum(np.searchsorted(marbles, marble), max(len(marbles) - 1, 0))
    is_reached = marbles[column] == marble if len(marbles) else np.zeros(len(marble), dtype=bool)
    row = np.repeat(np.arange(len(holes)), counts)[is_reached]
    pairs = csr_array((np.ones(len(row), dtype=bool), (row, column[is_reached])), shape=(len(holes), len(marbles)))
    return int((maximum_bipartite_matching(pairs, perm_type="column") >= 0).sum())
