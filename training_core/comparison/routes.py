"""Routes between places on the roads of a network before and after: from the nearest origin, or to all other places.

Knows road graphs and points beside them; knows nothing of layers, nor of what has become of the roads.

A way is as long as its roads and the straight lines to them from the points at both ends; the time that it takes is
that on the roads alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..events import Reporter
from ..networks.road_graph import Places, RoadGraph
from ..networks.shortest_paths import paths_on

# How many numbers are held at once: from a block of sources to all nodes.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class Sites:
    """Points on the roads of a network.

    Parameters
    ----------
    roads : RoadGraph
    places : Places
        n of them; nowhere where no road is near enough.
    gap_m : ndarray (n,), float64
        From each point to its place; infinite for nowhere.
    """

    roads: RoadGraph
    places: Places
    gap_m: np.ndarray

    @property
    def component(self) -> np.ndarray:
        """Number of the connected part that each is on: (n,), int64; -1 for nowhere."""
        component = np.full(len(self.places.edge), -1)
        on_road = self.places.edge >= 0
        component[on_road] = self.roads.graph.edge_component[self.places.edge[on_road]]
        return component


@dataclass(frozen=True)
class RouteCosts:
    """Ways of n points, before and after, in meters or seconds.

    Parameters
    ----------
    before, after : ndarray (n,), float64
        Infinite where there is none.
    source : ndarray (n,), int64
        The number of the point that each way leads from afterwards, or led from where none does any more; -1 where
        there never was one, or where a way is the mean of several.
    """

    before: np.ndarray
    after: np.ndarray
    source: np.ndarray


def snap(roads: RoadGraph, points: np.ndarray, within_m: float) -> Sites:
    """Return points, (n, 2) in meters, on the nearest roads within a distance."""
    return Sites(roads, *roads.nearest(points, within_m))


def from_nearest(before: Sites, after: Sites, sources: np.ndarray, by_time: bool, reporter: Reporter) -> RouteCosts:
    """Return the way of each point from the nearest of some of them, which are given by their numbers."""
    (least, nearest), (least_after, nearest_after) = (
        least_costs(sites, sources, by_time, reporter) for sites in (before, after)
    )
    return RouteCosts(least, least_after, np.where(np.isfinite(least_after), nearest_after, nearest))


def to_all(before: Sites, after: Sites, targets: np.ndarray, by_time: bool, reporter: Reporter) -> RouteCosts:
    """Return the mean of each point's ways to some of them, which are given by their numbers, but for itself.

    Where a point gets to some of them before and after, it is the mean over these.
    """
    count = len(before.places)
    sums, counts = np.zeros((4, count)), np.zeros((3, count))
    for (_, ways), (_, ways_after) in zip(*(_ways(sites, targets, by_time, reporter) for sites in (before, after))):
        there, there_after = np.isfinite(ways), np.isfinite(ways_after)
        both = there & there_after
        terms = ((both, ways), (both, ways_after), (there, ways), (there_after, ways_after))
        sums += [np.where(where, values, 0).sum(axis=0) for where, values in terms]
        counts += [where.sum(axis=0) for where in (both, there, there_after)]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts[[0, 0, 1, 2]]
    found = [
        np.where(counts[0] > 0, means[pair], np.where(counts[own] > 0, means[own + 1], np.inf))
        for pair, own in ((0, 1), (1, 2))
    ]
    return RouteCosts(*found, np.full(count, -1))


def _ways(
    sites: Sites, sources: np.ndarray, by_time: bool, reporter: Reporter
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the costs of ways from some points to all others, (b, n), float64, in blocks of b sources, with these."""
    paths = paths_on(sites.roads, sites.places, by_time)
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
    """Return the least cost of a way to each point from some others, and which one that is from; -1 for none."""
    least = np.full(len(sites.places), np.inf)
    nearest = np.full(len(sites.places), -1)
    for block, ways in _ways(sites, sources, by_time, reporter):
        first = ways.argmin(axis=0)
        costs = ways[first, np.arange(len(first))]
        nearer = costs < least
        least[nearer], nearest[nearer] = costs[nearer], block[first[nearer]]
    return least, nearest
