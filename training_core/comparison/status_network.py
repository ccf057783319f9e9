"""The network that the state of its roads leaves: which parts are passable, which paths need a stretch, what to check.

Scope: stretches of lines in meters, with what is known of them. Independent of how states are found, of layers and
reports.

Paths lead from the sites, or without any from places evenly along all roads, to such places.

- The **paths share** of a stretch is the fraction of the shortest paths before that run along it.
- What a check **decides** is the expected change of these paths by knowing better: the probability that the stretch is
  otherwise than assumed, times the mean of 1 - d / D over all paths, where d and D are the lengths of the path with the
  stretch and without it. A path that is cut off counts 1, and one that becomes twice as long 0.5. All other roads are
  taken to be as assumed: closed or passable.

A person who checks a road follows it. So the closed stretches between two junctions are one check, at the one that is
most likely lost, and so are the doubtful ones if none is closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import shapely

from ..events import Reporter
from ..geodata.parallel_arrays import concatenated, selected
from ..networks.graph import Graph, find_chains, select_edges
from ..networks.graph_edits import split_edges
from ..networks.path_shares import LINES, PLACES, SOURCES, paths_through, places_evenly
from ..networks.road_graph import PathCosts, Places, RoadGraph, contracted, path_costs
from .accessibility import CLOSED_MPS, OPEN_MPS, Ways
from .buffer_matching import Intervals
from .changes import shapes_of
from .routes import Sites

# Paths start from this number of sites at most, evenly chosen. Places become fewer where costs would fill the memory.
_SITES, _MAX_COSTS = 64, 16_000_000
# Paths as long as this are the same.
_SAME_M = 1e-6
# Checks of passable stretches are computed exactly for so many of those that could decide most; fewer where all paths
# together visit more nodes.
_EXACT, _LEAST_EXACT, _MAX_VISITS = 30, 3, 50_000_000


def network_of(graph: Graph, roads: RoadGraph, stretches: Intervals) -> RoadGraph:
    """Return a network with a node also where a stretch of its lines, as drawn, begins; its lines are the stretches.

    The graph is that of the whole lines (see `node_lines`): an end of a stretch on a bridge is no junction with the
    road below.
    """
    # Stretches that begin within an edge, which is a part of their line.
    length_m = graph.lengths()
    begin_m = _middles(graph, roads) - length_m / 2
    edge, along_m = _found(np.asarray(graph.origin), begin_m, stretches.edge, stretches.begin_m)
    within = (edge >= 0) & (along_m > 0) & (along_m < np.append(length_m, 0.0)[edge])
    graph, _ = split_edges(graph, edge[within], along_m[within])
    stretch, _ = _found(stretches.edge, stretches.begin_m, np.asarray(graph.origin), _middles(graph, roads))
    lines = roads.lines.parted(shapes_of(roads, stretches), stretches.edge)
    return RoadGraph(replace(graph, origin=None), np.repeat(stretch, graph.sizes), lines)


def _middles(graph: Graph, roads: RoadGraph) -> np.ndarray:
    """Return where the middle of each edge lies along the line that it is a part of: (m,) float64."""
    middle = shapely.line_interpolate_point(graph.shapes(), 0.5, normalized=True)
    return shapely.line_locate_point(roads.lines.shapes[graph.origin], middle)


def _found(
    line: np.ndarray, begin_m: np.ndarray, wanted: np.ndarray, at_m: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the part, of (m,) lines from `begin_m` on, in which places on (n,) lines lie, and how far along it.

    The part is -1 where there is none on that line.
    """
    if not len(line):
        return np.full(len(wanted), -1), np.full(len(wanted), np.nan)
    order = np.lexsort((begin_m, line))
    # Both in order along each line, parts before places: the last part before a place is its own.
    both = np.lexsort((np.repeat((0, 1), (len(line), len(wanted))), np.append(begin_m, at_m), np.append(line, wanted)))
    count = np.cumsum(both < len(line))
    last = np.empty(len(wanted), dtype=np.int64)
    last[both[both >= len(line)] - len(line)] = count[both >= len(line)] - 1
    part = np.append(order, -1)[last]
    part = np.where((part >= 0) & (line[part] == wanted), part, -1)
    return part, np.where(part >= 0, at_m - begin_m[part], np.nan)


def stretch_of(roads: RoadGraph) -> np.ndarray:
    """Return the number of the stretch that each edge of a network belongs to: (m,) int64."""
    return roads.line[roads.graph.offsets[:-1]]


def ways_of(roads: RoadGraph, is_closed: np.ndarray) -> Ways:
    """Return the roads for routes: all of them before, and after those of stretches that are not closed, (n,) bool."""
    is_open = ~is_closed[stretch_of(roads)]
    after = RoadGraph(select_edges(roads.graph, is_open), roads.line[is_open[roads.graph.owner]], roads.lines)
    speeds = replace(roads.lines, speed_mps=np.where(is_closed, CLOSED_MPS, OPEN_MPS))
    return Ways(contracted(roads), contracted(after), lambda: replace(roads, lines=speeds))


def reached_m(sites: Sites) -> np.ndarray:
    """Return the length of all roads that each site is connected with: (n,) float64, 0 where it is on no road."""
    roads = sites.roads
    component_m = np.bincount(roads.graph.edge_component, roads.length_m, minlength=1)
    return np.where(sites.component >= 0, component_m[sites.component], 0.0)


@dataclass(frozen=True)
class Meaning:
    """What n stretches mean for the network: (n,) float64 each; `decides` is NaN where there is nothing to check."""

    paths_share: np.ndarray
    decides: np.ndarray


def find_meaning(
    roads: RoadGraph, points: np.ndarray, place_m: float,
    is_closed: np.ndarray, is_doubtful: np.ndarray, lost_probability: np.ndarray, reporter: Reporter,
) -> Meaning:  # fmt: skip
    """Return what stretches mean, by sites at (k, 2) float64 points no farther than `place_m` from a road.

    Closed ones are not passable; doubtful ones are worth a check; (n,) bool. The (n,) float64 probability of being lost
    is 1 where that is certain.
    """
    if not len(roads.graph.edges):  # as of a line that is shorter than the joining distance
        return Meaning(np.zeros(len(is_closed)), np.full(len(is_closed), np.nan))
    # Edges are joined unless a stretch begins between them.
    stretch, nodes = stretch_of(roads), roads.graph.edges.ravel()
    low, high = np.full(len(roads.graph.nodes), len(is_closed)), np.full(len(roads.graph.nodes), -1)
    np.minimum.at(low, nodes, np.repeat(stretch, 2))
    np.maximum.at(high, nodes, np.repeat(stretch, 2))
    roads = contracted(roads, low != high)
    stretch = stretch_of(roads)
    paths = _Paths.on(roads, roads.nearest(points, place_m)[0] if len(points) else None)
    shares = np.zeros(len(is_closed))
    np.maximum.at(shares, stretch, paths.shares(reporter))
    decides = np.full(len(is_closed), np.nan)
    checks = list(_checks(roads, is_closed[stretch], is_doubtful[stretch], lost_probability[stretch]))
    if checks:
        values = paths.decided(is_closed[stretch], checks, reporter)
        np.fmax.at(decides, stretch[[check.edge for check in checks]], values)
    return Meaning(shares, decides)


@dataclass(frozen=True)
class _Check:
    """A road to check: its edges from the first to the last that is in question, its ends, and what may be otherwise.

    `edge` is the one most likely lost, and `doubt` the probability that the road is otherwise than assumed.
    """

    edges: np.ndarray
    ends: tuple[int, int]
    is_closed: bool
    edge: int
    doubt: float


def _checks(
    roads: RoadGraph, is_closed: np.ndarray, is_doubtful: np.ndarray, lost_probability: np.ndarray
) -> Iterator[_Check]:
    """Yield the checks of a network, by what is known of its edges: (m,) each."""
    chains = find_chains(roads.graph)
    for begin, end in zip(chains.offsets, chains.offsets[1:]):
        edges = chains.edges[begin:end]
        if not is_doubtful[edges].any():
            continue
        closed = bool(is_closed[edges].any())
        at = np.flatnonzero(is_closed[edges] if closed else is_doubtful[edges])
        worst = edges[at[lost_probability[edges[at]].argmax()]]
        if not is_doubtful[worst]:  # something else closes the road for certain
            continue
        tails = np.where(chains.is_reversed[begin:end], *roads.graph.edges[edges].T[::-1])
        heads = roads.graph.edges[edges].sum(axis=1) - tails
        lost = float(lost_probability[worst])
        span = edges[at[0] : at[-1] + 1]
        yield _Check(span, (tails[at[0]], heads[at[-1]]), closed, int(worst), 1 - lost if closed else lost)


@dataclass(frozen=True)
class _Paths:
    """Places of a network, and the paths that count: (n, n) bool, from sites, or all places, to places on the roads."""

    roads: RoadGraph
    places: Places
    counts: np.ndarray

    @staticmethod
    def on(roads: RoadGraph, sites: Places | None) -> _Paths:
        """Return the paths of a network from sites; some may be nowhere."""
        count = int(np.clip(_MAX_COSTS // max(1, len(roads.graph.nodes)), SOURCES, PLACES))
        if sites is None or not (sites.edge >= 0).any():
            return _Paths(roads, places_evenly(roads.length_m, count), ~np.eye(count, dtype=bool))
        sites = selected(sites, np.flatnonzero(sites.edge >= 0))
        few = min(len(sites), count // 2, _SITES)
        sites = selected(sites, np.linspace(0, len(sites) - 1, few).round().astype(np.int64))
        places = concatenated(sites, places_evenly(roads.length_m, count - few))
        is_site = np.arange(count) < few
        return _Paths(roads, places, is_site[:, None] & ~is_site)

    def _costs(self, is_closed: np.ndarray) -> PathCosts:
        """Return the costs for paths where edges, (m,) bool, are closed: places on these stand at their nearer end."""
        length_m, edge, along_m = self.roads.length_m, self.places.edge, self.places.along_m
        costs = path_costs(self.roads.graph, np.where(is_closed, np.inf, length_m), edge, along_m)
        is_nearer = (along_m <= length_m[edge] / 2)[:, None] == (True, False)
        is_moved = is_closed[edge]
        away = np.where(is_moved[:, None], np.where(is_nearer, 0.0, np.inf), costs.away)
        return replace(costs, away=away, edge=np.where(is_moved, -1, edge))  # no way along the edge itself

    def _costs_with(self, is_closed: np.ndarray, reporter: Reporter) -> tuple[np.ndarray, np.ndarray]:
        """Return the costs from all places to all nodes, and to all places, where edges are closed."""
        costs = self._costs(is_closed)
        blocks = []
        for begin in range(0, len(self.places), SOURCES):
            reporter.check_cancelled()
            sources = np.arange(begin, min(begin + SOURCES, len(self.places)))
            to_nodes = costs.to_nodes(sources)
            blocks.append((to_nodes, costs.between(sources, to_nodes)))
        to_nodes, between = (np.concatenate(each) for each in zip(*blocks))
        return to_nodes, between

    def shares(self, reporter: Reporter) -> np.ndarray:
        """Return the fraction of the shortest paths before that run along each edge: (m,) float64."""
        edges = self.roads.graph.edges
        to_nodes, between = self._costs_with(np.zeros(len(edges), dtype=bool), reporter)
        counts, shares = self.counts & np.isfinite(between), np.zeros(len(edges))
        for begin in range(0, len(edges), LINES):
            reporter.check_cancelled()
            part = slice(begin, begin + LINES)
            to_first, to_last = to_nodes.T[edges[part]].transpose(1, 0, 2)
            through = paths_through(to_first, to_last, self.roads.length_m[part])
            shares[part] = (counts & (through <= between + _SAME_M)).sum((1, 2))
        return shares / max(1, self.counts.sum())

    def decided(self, is_closed: np.ndarray, checks: list[_Check], reporter: Reporter) -> np.ndarray:
        """Return what each check decides, (k,) float64; 0 for passable roads that cannot be among the first."""
        to_nodes, between = self._costs_with(is_closed, reporter)
        values, most = np.zeros(len(checks)), np.zeros(len(checks))
        for number, check in enumerate(checks):
            reporter.check_cancelled()
            to_first, to_last = to_nodes.T[list(check.ends), None]
            through = paths_through(to_first, to_last, self.roads.length_m[check.edges].sum(keepdims=True))[0]
            if check.is_closed:
                values[number] = check.doubt * self._change(np.minimum(through, between), between)
            else:
                # Without the road, only paths along it become longer.
                runs = self.counts & (through <= between + _SAME_M)
                most[number] = check.doubt * runs.sum() / max(1, self.counts.sum())
        visits = len(self.places) * len(self.roads.graph.nodes)
        exact = int(np.clip(_MAX_VISITS // max(1, visits), _LEAST_EXACT, _EXACT))
        for number in np.argsort(-most, kind="stable")[:exact]:
            if most[number] > 0:
                without = is_closed.copy()
                without[checks[number].edges] = True
                values[number] = checks[number].doubt * self._change(between, self._costs_with(without, reporter)[1])
        return values

    def _change(self, shorter: np.ndarray, longer: np.ndarray) -> float:
        """Return the mean of 1 - d / D over the paths that count, of costs with and without a road: (n, n) each."""
        shorter, longer = shorter[self.counts], longer[self.counts]
        is_path = np.isfinite(shorter) & (shorter > 0)
        # Places on the road itself stand nearer to others once it is closed.
        rest = shorter[is_path] / np.maximum(shorter, longer)[is_path]
        return float((1 - rest).sum() / max(1, len(shorter)))
