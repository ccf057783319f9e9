"""Routes between places on the roads of a network before and after: from the nearest origin, or to all other places.

Scope: shortest paths on road graphs, and points near them. Independent of layers and of how the roads changed.

The length of a route is that of its roads and of the straight lines to them from the points at both ends; its time is
that on the roads alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..events import Reporter
from ..networks.road_graph import Places, RoadGraph, path_costs_on

# Number of costs in memory at once: from a block of sources to all nodes.
_BATCH = 4_000_000


@dataclass(frozen=True)
class Sites:
    """Points snapped to the roads of a network and their (n,) float64 distances from them; infinite for nowhere."""

    roads: RoadGraph
    places: Places
    gap_m: np.ndarray

    @property
    def component(self) -> np.ndarray:
        """Number of the connected component of each site: (n,) int64; -1 for nowhere."""
        component, on_road = np.full(len(self.places), -1), self.places.edge >= 0
        component[on_road] = self.roads.graph.edge_component[self.places.edge[on_road]]
        return component


@dataclass(frozen=True)
class RouteCosts:
    """Costs of the routes to n points before and after in meters or seconds: (n,) float64, infinite without a route.

    The (n,) int64 `source` is the point from which each route starts afterwards or started before it was cut off. It is
    -1 if there never was a route or if the cost is a mean.
    """

    before: np.ndarray
    after: np.ndarray
    source: np.ndarray


def snap(roads: RoadGraph, points: np.ndarray, within_m: float) -> Sites:
    """Return (n, 2) float64 points in meters snapped to the nearest roads within a distance."""
    return Sites(roads, *roads.nearest(points, within_m))


def from_nearest(before: Sites, after: Sites, sources: np.ndarray, by_time: bool, reporter: Reporter) -> RouteCosts:
    """Return the costs, in seconds or else meters, of the route to each point from its nearest source.

    `before` and `after` are the same points on both networks. The (k,) int64 `sources` are the numbers of some of them.
    """
    (least, nearest), (least_after, nearest_after) = (
        least_costs(sites, sources, by_time, reporter) for sites in (before, after)
    )
    return RouteCosts(least, least_after, np.where(np.isfinite(least_after), nearest_after, nearest))


def to_all(before: Sites, after: Sites, targets: np.ndarray, by_time: bool, reporter: Reporter) -> RouteCosts:
    """Return the mean costs, in seconds or else meters, of the routes from each point to all targets except itself.

    Targets are (k,) int64 numbers of points. If some are reachable both before and after, the mean is over these.
    """
    # Sums before and after over pairs with a route in both networks, then over those with a route in one of them.
    count = len(before.places)
    sums, counts = np.zeros((4, count)), np.zeros((3, count))
    blocks = (_cost_blocks(sites, targets, by_time, reporter) for sites in (before, after))
    for (_, costs), (_, costs_after) in zip(*blocks):
        has_route, has_route_after = np.isfinite(costs), np.isfinite(costs_after)
        both = has_route & has_route_after
        terms = ((both, costs), (both, costs_after), (has_route, costs), (has_route_after, costs_after))
        sums += [np.where(where, values, 0).sum(axis=0) for where, values in terms]
        counts += [where.sum(axis=0) for where in (both, has_route, has_route_after)]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts[[0, 0, 1, 2]]
    # Means over common pairs where there are any, else over those of the one network.
    mean, mean_after = (
        np.where(counts[0] > 0, means[common], np.where(counts[single] > 0, means[single + 1], np.inf))
        for common, single in ((0, 1), (1, 2))
    )
    return RouteCosts(mean, mean_after, np.full(count, -1))


def _cost_blocks(
    sites: Sites, sources: np.ndarray, by_time: bool, reporter: Reporter
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of b sources, and the costs of the routes from these to all points: (b, n) float64."""
    costs_on = path_costs_on(sites.roads, sites.places, by_time)
    # The size of blocks does not depend on the network, so that blocks of two networks match.
    size = max(1, _BATCH // max(2 * len(sites.places), 1))
    gap = np.where(np.isfinite(sites.gap_m), 0.0 if by_time else sites.gap_m, np.inf)
    for begin in range(0, len(sources), size):
        block = sources[begin : begin + size]
        costs = np.empty((len(block), len(sites.places)))
        step = max(1, _BATCH // costs_on.node_count)
        for row in range(0, len(block), step):
            reporter.check_cancelled()
            part = block[row : row + step]
            costs[row : row + step] = costs_on.between(part, costs_on.to_nodes(part))
        costs += gap + gap[block][:, None]
        costs[np.arange(len(block)), block] = np.inf
        yield block, costs


def least_costs(sites: Sites, sources: np.ndarray, by_time: bool, reporter: Reporter) -> tuple[np.ndarray, np.ndarray]:
    """Return the least cost of a route from (k,) int64 sources to each point and its source.

    Both are (n,): float64 (infinite without a route) and int64 (-1 without one).
    """
    least = np.full(len(sites.places), np.inf)
    nearest = np.full(len(sites.places), -1)
    # The best source of each block, and of all blocks so far.
    for block, costs in _cost_blocks(sites, sources, by_time, reporter):
        first = costs.argmin(axis=0)
        lowest = costs[first, np.arange(len(first))]
        nearer = lowest < least
        least[nearer], nearest[nearer] = lowest[nearer], block[first[nearer]]
    return least, nearest
