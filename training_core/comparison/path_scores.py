"""APLS and TOPO: scores of a proposed road network against a true one by the shortest paths along their roads.

Scope: control points, seeds, holes and marbles on the edges of graphs, and rasters made networks. Independent of layers
and reports.

APLS, the average path length similarity, is that of Van Etten, Lindenbaum and Bacastow, "SpaceNet: A Remote Sensing
Dataset and Challenge Series", arXiv:1807.01232 (2018), and of its reference code:

- Control points are a graph's nodes, except those of degree 2, and points evenly along each edge, at most `spacing_m`
  apart: none on an edge shorter than three quarters of that, and one up to the whole of it.
- Each is snapped to the nearest edge of the other graph within `snap_m`; otherwise it is missing there.
- For each pair of control points that a path connects, the difference is min(1, |L - L'| / L), where L and L' are the
  lengths of the shortest paths in either graph, and 1 if there is none in the other. A direction's score is 1 less the
  mean of the differences.
- The APLS is the harmonic mean of the directions, from truth to proposal and back; 0 if one of them is.

TOPO, the local topology similarity, tells whether the roads reachable from a place are those reachable in truth. It is
that of Biagioni and Eriksson, "Inferring road maps from global positioning system traces", Transportation Research
Record 2291 (2012):

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
from typing import Optional

import geopandas
import numpy as np
from affine import Affine
from rasterio.crs import CRS
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial import cKDTree

from ..events import Reporter
from ..extraction.road_extraction import extract_network
from ..geodata.grid import Grid
from ..geodata.parallel_arrays import concatenated, ranges, selected
from ..geodata.pixel_codes import CERTAIN, IGNORE, ROAD
from ..geodata.road_raster import RoadRaster, array_raster
from ..jobs import NetworkOptions, ScoreNetwork, Vectorize
from ..networks.lines import make_lines
from ..networks.road_graph import (
    Places,
    RoadGraph,
    contracted,
    make_road_graph,
    path_costs,
    path_costs_on,
    places_along,
)

# An edge shorter than this fraction of the spacing has only its nodes as control points.
_SHORTEST = 0.75
# A path is routable in the other graph if their lengths differ by no more than this fraction, and by rounding.
_ROUTABLE = 0.1 + 1e-9
# Path lengths in memory at once: from a block of control points to all nodes, and from a few to all others.
_BATCH, _ROWS = 4_000_000, 500_000


@dataclass(frozen=True)
class Direction:
    """How well the other graph has the shortest paths of one graph: from 0 to 1; 0 without paths.

    `points` are control points, of which `snapped` snap to the other graph. `paths` are pairs of them that a path
    connects, of which `missing` have none in the other graph, and `routable` one of at most 10 % more or less.
    """

    score: float
    points: int
    snapped: int
    paths: int
    missing: int
    routable: int


@dataclass(frozen=True)
class Apls:
    """The score of a proposal against the truth: the harmonic mean of both directions."""

    score: float
    truth_in_proposal: Direction
    proposal_in_truth: Direction


def score_apls(
    truth: RoadGraph,
    proposal: RoadGraph,
    reporter: Reporter,
    snap_m: float = ScoreNetwork.snap_m,
    spacing_m: float = ScoreNetwork.spacing_m,
    by_time: bool = False,
) -> Apls:
    """Return the APLS of two graphs, in one plane, without nodes of degree 2.

    With `by_time` it compares travel times instead of lengths. Speeds must be known; control points are the same.
    """
    forward = _compare(truth, proposal, snap_m, spacing_m, by_time, reporter.part(0, 0.5))
    backward = _compare(proposal, truth, snap_m, spacing_m, by_time, reporter.part(0.5, 1))
    return Apls(float(harmonic_mean([forward.score, backward.score])), forward, backward)


def control_places(roads: RoadGraph, spacing_m: float) -> tuple[Places, np.ndarray]:
    """Return a graph's n control points in the order of a Hilbert curve and the headings of their edges.

    The (n, 2) float64 headings are unit vectors; NaN at nodes. Points are at most `spacing_m` apart along edges.
    """
    graph, length_m = roads.graph, np.round(roads.length_m, 6)  # rounding must not decide on their number
    _, first_end = np.unique(graph.edges, return_index=True)
    counts = np.ceil(length_m / spacing_m).astype(np.int64) - 1
    counts[(length_m >= _SHORTEST * spacing_m) & (length_m <= spacing_m)] = 1
    owner = np.repeat(np.arange(len(counts)), counts)
    number = ranges(np.ones_like(counts), counts)
    # A node is a place at the end of its first edge.
    nodes = Places(first_end // 2, np.where(first_end % 2, roads.length_m[first_end // 2], 0.0))
    between = Places(owner, roads.length_m[owner] * number / (counts[owner] + 1))
    headings = np.concatenate([np.full((len(nodes), 2), np.nan), roads.headings_at(between)])
    places = concatenated(nodes, between)
    x, y = roads.points_at(places).T
    order = np.argsort(geopandas.GeoSeries.from_xy(x, y).hilbert_distance().to_numpy(), kind="stable")
    return selected(places, order), headings[order]


def _compare(
    graph: RoadGraph, other: RoadGraph, snap_m: float, spacing_m: float, by_time: bool, reporter: Reporter
) -> Direction:
    """Return the path similarity in the direction from a graph to another."""
    if not len(graph.graph.edges):
        return Direction(0.0, 0, 0, 0, 0, 0)
    places, headings = control_places(graph, spacing_m)
    snapped, _ = other.nearest(graph.points_at(places), snap_m, headings)
    costs, other_costs = path_costs_on(graph, places, by_time), path_costs_on(other, snapped, by_time)
    sums = np.zeros(4)
    count = len(places)
    block = int(np.clip(_BATCH // max(costs.node_count, other_costs.node_count, 1), 16, 1024))
    rows = max(1, _ROWS // count)
    for begin in range(0, count, block):
        reporter.step(1 - (1 - begin / count) ** 2, "Comparing paths")
        sources = np.arange(begin, min(begin + block, count))
        to_nodes, to_other_nodes = costs.to_nodes(sources), other_costs.to_nodes(sources)
        for row in range(0, len(sources), rows):
            part = slice(row, row + rows)
            first = int(sources[row])
            lengths = costs.between(sources[part], to_nodes[part], first)
            other_lengths = other_costs.between(sources[part], to_other_nodes[part], first)
            sums += _differences(lengths, other_lengths)
    reporter.progress(1, "Comparing paths")
    paths, missing, routable = map(int, sums[1:])
    score = float(1 - sums[0] / paths) if paths else 0.0
    return Direction(score, count, int((snapped.edge >= 0).sum()), paths, missing, routable)


def _differences(lengths: np.ndarray, other_lengths: np.ndarray) -> np.ndarray:
    """Return the sum of the differences, and the number of all paths, of missing and of routable ones: (4,) float64.

    The first column is the first row's own place. Each pair counts once, right of that diagonal. Computes in place.
    """
    # Pairs on and left of the diagonal do not count.
    size = len(lengths)
    square = lengths[:, :size]
    square[np.tri(size, square.shape[1], dtype=bool)] = np.inf
    linked = np.isfinite(lengths)
    lost = np.isinf(other_lengths)
    with np.errstate(invalid="ignore"):  # where neither graph has a path
        other_lengths -= lengths
        np.abs(other_lengths, out=other_lengths)
        other_lengths /= lengths
    np.fmin(other_lengths, 1, out=other_lengths)
    routable = linked & (other_lengths <= _ROUTABLE)
    other_lengths[~linked] = 0
    return np.array([other_lengths.sum(), *map(np.count_nonzero, (linked, linked & lost, routable))])


# Tiles lie around the point where this plane touches the ellipsoid, so that a unit is a meter there.
_PLANE = CRS.from_string("+proj=aeqd +lat_0=0 +lon_0=0 +datum=WGS84 +units=m")
_JOIN_M = 0.5


def mask_network(raster: RoadRaster, resolution_m: float, reporter: Reporter) -> RoadGraph:
    """Return the road network of a tile, vectorized with default options, in meters, without nodes of degree 2."""
    transform = Affine.scale(resolution_m, -resolution_m)
    grid = Grid(_PLANE, transform, raster.width, raster.height)
    defaults = {field.name: getattr(Vectorize, field.name) for field in NetworkOptions.option_fields()}
    network = extract_network(raster, grid, NetworkOptions(**defaults), reporter.silent())
    return contracted(make_road_graph(make_lines(network.roads.geometry.to_numpy()), _JOIN_M))


def mean_apls(
    predictions: list[np.ndarray], truths: list[np.ndarray], threshold: float, resolution_m: float, reporter: Reporter
) -> Optional[float]:
    """Return the mean APLS of predictions over the tiles whose labels contain a road network, or None without any.

    Predictions are probability bytes, of road from `threshold`, 0 to 1, on. Truths are BACKGROUND, ROAD or IGNORE,
    which counts as no data in both. Each is (height, width) uint8.
    """
    scores = []
    for probability, truth in zip(predictions, truths):
        known = truth != IGNORE
        true_roads = mask_network(array_raster(truth == ROAD, known), resolution_m, reporter)
        if not len(true_roads.graph.edges):
            continue
        raster = array_raster(probability / np.float32(CERTAIN), known, threshold)
        roads = mask_network(raster, resolution_m, reporter)
        scores.append(score_apls(true_roads, roads, reporter.silent()).score)
    return float(np.mean(scores)) if scores else None


# Seeds whose paths are held at once, and the tolerance of distances for rounding.
_SEEDS, _ROUNDING_M = 256, 1e-6


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
    radius_m: float = ScoreNetwork.radius_m,
    hole_m: float = ScoreNetwork.hole_m,
    seed_m: float = ScoreNetwork.seed_m,
    interval_m: float = ScoreNetwork.interval_m,
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
        if number % _SEEDS == 0:
            reporter.step(number / len(seeds), "Comparing reachable roads")
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
    for begin in range(0, len(seeds), _SEEDS):
        block = np.arange(begin, min(begin + _SEEDS, len(seeds)))
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
