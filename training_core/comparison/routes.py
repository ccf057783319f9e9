"""Routes between places on the roads of a network before and after: from the nearest origin, or to all other places.

Scope: shortest paths on road graphs, and points beside them. Independent of layers and of how the roads changed.

The length of a route is that of its roads and of the straight lines to them from the points at both ends; its time is
that on the roads alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..events import Reporter
from ..networks.road_graph import Places, RoadGraph
from ..networks.shortest_paths import path_costs_on

# How many costs are held in memory at once: from a block of sources to all nodes.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class Sites:
    """Points snapped to the roads of a network.

    Parameters
    ----------
    places : Places
        n of them; edge -1 where no road is near enough.
    gap_m : ndarray (n,), float64
        Distance from each point to its place; infinite where it has none.
    """

    roads: RoadGraph
    places: Places
    gap_m: np.ndarray

    @property
    def component(self) -> np.ndarray:
        """Index of the connected component that each is on: (n,), int64; -1 where it is on none."""
        component = np.full(len(self.places.edge), -1)
        on_road = self.places.edge >= 0
        component[on_road] = self.roads.graph.edge_component[self.places.edge[on_road]]
        return component


@dataclass(frozen=True)
class RouteCosts:
    """Costs of the routes to n points, before and after, in meters or seconds.

    Parameters
    ----------
    before, after : ndarray (n,), float64
        Infinite where there is no route.
    source : ndarray (n,), int64
        Index of the point that each route starts from afterwards, or started from where it is cut off; -1 where there
        never was a route, or where the cost is a mean of several.
    """

    before: np.ndarray
    after: np.ndarray
    source: np.ndarray


def snap(roads: RoadGraph, points: np.ndarray, within_m: float) -> Sites:
    """Return points snapped to the nearest roads.

    Parameters
    ----------
    points : ndarray (n, 2), float64
        In meters.
    within_m : float
        Largest snap distance.
    """
    return Sites(roads, *roads.nearest(points, within_m))


def from_nearest(before: Sites, after: Sites, sources: np.ndarray, by_time: bool, reporter: Reporter) -> RouteCosts:
    """Return the costs of the route to each point from its nearest source.

    Parameters
    ----------
    before, after : Sites
        The same n points on both networks.
    sources : ndarray (k,), int64
        Indices of the points that routes start from.
    by_time : bool
        Whether costs are seconds; else meters.
    """
    (least, nearest), (least_after, nearest_after) = (
        least_costs(sites, sources, by_time, reporter) for sites in (before, after)
    )
    return RouteCosts(least, least_after, np.where(np.isfinite(least_after), nearest_after, nearest))


def to_all(before: Sites, after: Sites, targets: np.ndarray, by_time: bool, reporter: Reporter) -> RouteCosts:
    """Return the mean costs of the routes from each point to all targets except itself.

    Where some targets are reachable both before and after, the mean is over these.

    Parameters
    ----------
    before, after : Sites
        The same n points on both networks.
    targets : ndarray (k,), int64
        Indices of the points that routes lead to.
    by_time : bool
        Whether costs are seconds; else meters.
    """
    count = len(before.places)
    sums, counts = np.zeros((4, count)), np.zeros((3, count))
    blocks = (_cost_blocks(sites, targets, by_time, reporter) for sites in (before, after))
    for (_, costs), (_, costs_after) in zip(*blocks):
        there, there_after = np.isfinite(costs), np.isfinite(costs_after)
        both = there & there_after
        terms = ((both, costs), (both, costs_after), (there, costs), (there_after, costs_after))
        sums += [np.where(where, values, 0).sum(axis=0) for where, values in terms]
        counts += [where.sum(axis=0) for where in (both, there, there_after)]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts[[0, 0, 1, 2]]
    found = [
        np.where(counts[0] > 0, means[pair], np.where(counts[own] > 0, means[own + 1], np.inf))
        for pair, own in ((0, 1), (1, 2))
    ]
    return RouteCosts(*found, np.full(count, -1))


def _cost_blocks(
    sites: Sites, sources: np.ndarray, by_time: bool, reporter: Reporter
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of b sources, and the costs of the routes from these to all points: (b, n), float64."""
    paths = path_costs_on(sites.roads, sites.places, by_time)
    # The same blocks for any network, so that two can be walked through together.
    size = max(1, _BLOCK // max(2 * len(sites.places), 1))
    gap = np.where(np.isfinite(sites.gap_m), 0.0 if by_time else sites.gap_m, np.inf)
    for begin in range(0, len(sources), size):
        block = sources[begin : begin + size]
        costs = np.empty((len(block), len(sites.places)))
        step = max(1, _BLOCK // paths.node_count)
        for row in range(0, len(block), step):
            reporter.check_cancelled()
            part = block[row : row + step]
            costs[row : row + step] = paths.between(part, paths.to_nodes(part))
        costs += gap + gap[block][:, None]
        costs[np.arange(len(block)), block] = np.inf
        yield block, costs


def least_costs(sites: Sites, sources: np.ndarray, by_time: bool, reporter: Reporter) -> tuple[np.ndarray, np.ndarray]:
    """Return the least cost of a route to each point, and the source that it starts from.

    Parameters
    ----------
    sites : Sites
        n points on a network.
    sources : ndarray (k,), int64
        Indices of the points that routes start from.
    by_time : bool
        Whether costs are seconds; else meters.

    Returns
    -------
    cost : ndarray (n,), float64
        Infinite where there is no route.
    source : ndarray (n,), int64
        -1 where there is no route.
    """
    least = np.full(len(sites.places), np.inf)
    nearest = np.full(len(sites.places), -1)
    for block, costs in _cost_blocks(sites, sources, by_time, reporter):
        first = costs.argmin(axis=0)
        lowest = costs[first, np.arange(len(first))]
        nearer = lowest < least
        least[nearer], nearest[nearer] = lowest[nearer], block[first[nearer]]
    return least, nearest
