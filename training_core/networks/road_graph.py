"""Road graph with lengths and travel times, places on it by linear referencing, and shortest paths between them.

Scope: positions, headings and costs along edges, and the nearest places to points. Independent of layers and scores.

Dijkstra's algorithm ("A note on two problems in connexion with graphs", 1959) runs between nodes only. Places are added
by their costs to both nodes of their edge, which is exact and needs no node for a place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import shapely
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ..geodata.parallel_arrays import first_of_each, offsets_of, ranges, selected
from .graph import Graph, find_chains, join
from .lines import Lines
from .noding import node_lines

# Places closer together than this are one, even on different edges.
_EQUAL_M = 1e-6
# Number of segments whose neighbors are in memory at a time.
_BATCH = 20_000


@dataclass(frozen=True)
class Places:
    """Places on a graph: (n,) int64 edges (-1 for nowhere) and (n,) float64 meters along them."""

    edge: np.ndarray
    along_m: np.ndarray

    def __len__(self) -> int:
        return len(self.edge)


@dataclass(frozen=True)
class RoadGraph:
    """A graph in a plane of meters, with the line that each step of its edges is a part of.

    The (p,) int64 `line` is that of the step from each vertex to the next. At an edge's last vertex it is that of the
    step before.
    """

    graph: Graph
    line: np.ndarray
    lines: Lines

    @property
    def along_m(self) -> np.ndarray:
        """Distance of each vertex from its edge's first node, along the edge: (p,) float64."""
        return self.graph.along

    @cached_property
    def along_s(self) -> np.ndarray:
        """Time from its edge's first node to each vertex: (p,) float64; NaN from the first unknown speed on."""
        steps_s = self.graph.steps / self.lines.speed_mps[self.line]
        begin, is_known = self.graph.offsets[:-1][self.graph.owner], np.isfinite(steps_s)
        # Running sums over all edges, of steps and of unknown steps, less their values at the edge's first vertex.
        known_s = np.where(is_known, steps_s, 0)
        total, unknown = np.cumsum(known_s) - known_s, np.cumsum(~is_known) - ~is_known
        return np.where(unknown == unknown[begin], total - total[begin], np.nan)

    @property
    def length_m(self) -> np.ndarray:
        """Length of each edge: (m,) float64."""
        return self.along_m[self.graph.offsets[1:] - 1]

    @property
    def travel_time_s(self) -> np.ndarray:
        """Time to travel along each edge: (m,) float64; NaN where a speed is unknown."""
        return self.along_s[self.graph.offsets[1:] - 1]

    @cached_property
    def _segments(self) -> np.ndarray:
        """The vertex where each straight segment of an edge begins: (s,) int64."""
        return np.delete(np.arange(len(self.graph.points)), self.graph.offsets[1:] - 1)

    @cached_property
    def _tree(self) -> shapely.STRtree:
        begin = self._segments
        ends = np.stack([self.graph.points[begin], self.graph.points[begin + 1]], axis=1)
        return shapely.STRtree(shapely.linestrings(ends))

    def points_at(self, places: Places) -> np.ndarray:
        """Return the coordinates of places, none of which is nowhere: (n, 2) float64."""
        vertex, fraction = self.graph.locate(places.edge, places.along_m)
        begin, end = self.graph.points[vertex], self.graph.points[vertex + 1]
        return begin + fraction[:, None] * (end - begin)

    def headings_at(self, places: Places) -> np.ndarray:
        """Return the direction of the edge at places, as unit vectors: (n, 2) float64."""
        vertex, _ = self.graph.locate(places.edge, places.along_m)
        step = self.graph.points[vertex + 1] - self.graph.points[vertex]
        return step / np.hypot(*step.T)[:, None]

    def times_at(self, places: Places) -> np.ndarray:
        """Return the time from the first node of their edge to places: (n,) float64."""
        vertex, fraction = self.graph.locate(places.edge, places.along_m)
        return self.along_s[vertex] + fraction * (self.along_s[vertex + 1] - self.along_s[vertex])

    def lines_at(self, edge: np.ndarray, begin_m: np.ndarray, end_m: np.ndarray) -> np.ndarray:
        """Return parts of (n,) int64 edges between two (n,) float64 distances as LineStrings: (n,) object."""
        first, _ = self.graph.locate(edge, begin_m)
        last, _ = self.graph.locate(edge, end_m)
        counts = last - first
        inner = ranges(first + 1, counts)
        # Starts, vertices and ends of all parts; a stable sort puts them in this order within each part.
        starts, ends = self.points_at(Places(edge, begin_m)), self.points_at(Places(edge, end_m))
        points = np.concatenate([starts, self.graph.points[inner], ends])
        part = np.arange(len(edge))
        owners = np.concatenate([part, np.repeat(part, counts), part])
        order = np.argsort(owners, kind="stable")
        return shapely.linestrings(points[order], indices=owners[order])

    def neighbors(self, other: RoadGraph, within_m: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield pairs of straight segments of this and another graph within a distance of each other, in blocks.

        A segment is given by its first vertex: (k,) int64, in this graph and in the other.
        """
        shapes = self._tree.geometries
        for begin in range(0, len(shapes), _BATCH):
            block = shapes[begin : begin + _BATCH]
            segment, other_segment = other._tree.query(block, predicate="dwithin", distance=within_m + _EQUAL_M)
            yield self._segments[begin + segment], other._segments[other_segment]

    def nearest(
        self, points: np.ndarray, within_m: float, headings: np.ndarray | None = None, within_degrees: float = 90.0
    ) -> tuple[Places, np.ndarray]:
        """Return the nearest place to each point, and its distance in meters: (n,) float64, infinite for nowhere.

        That place may be on several edges, as where a bridge passes over a road. Then the edge with the heading of the
        point's own road is taken. For a node it is an edge that has a node there. Ties go to the first edge.

        Points are (n, 2) float64. Farther than `within_m` the place is nowhere. The (n, 2) float64 `headings` are unit
        vectors of the points' own roads; NaN for a node. Edges at more than `within_degrees` to them do not count.
        """
        places = Places(np.full(len(points), -1), np.zeros(len(points)))
        distance_m = np.full(len(points), np.inf)
        if not len(self.graph.edges) or not len(points):
            return places, distance_m
        reach_m = within_m + _EQUAL_M
        point, near = self._tree.query(shapely.points(points), predicate="dwithin", distance=reach_m)
        vertex = self._segments[near]
        if headings is not None and within_degrees < 90:
            likewise = self.runs_like(vertex, headings[point], within_degrees)
            point, vertex = point[likewise], vertex[likewise]
        # The nearest segment of each point.
        spot, along_m = self._project(points[point], vertex)
        gap_m = np.hypot(*(spot - points[point]).T)
        edge = self.graph.owner[vertex]
        nearest = first_of_each(point, gap_m, edge)
        best = np.full(len(points), -1)
        best[point[nearest]] = nearest
        # Among all segments at that place the one whose edge is most like the point's road.
        here = np.flatnonzero(np.hypot(*(spot - spot[best[point]]).T) <= _EQUAL_M)
        unlike = self._unlikeness(vertex, edge, along_m, None if headings is None else headings[point])
        chosen = here[first_of_each(point[here], unlike[here], edge[here])]
        matched = point[chosen]
        places.edge[matched], places.along_m[matched] = edge[chosen], along_m[chosen]
        distance_m[matched] = gap_m[chosen]
        return places, distance_m

    def runs_like(self, vertex: np.ndarray, headings: np.ndarray, within_degrees: float) -> np.ndarray:
        """Return which steps run within `within_degrees` of headings in either direction: (n,) bool.

        Steps begin at the (n,) int64 `vertex`. Headings are (n, 2) float64 unit vectors.
        """
        step = self.graph.points[vertex + 1] - self.graph.points[vertex]
        return np.abs((step * headings).sum(axis=1)) >= np.cos(np.radians(within_degrees)) * self.graph.steps[vertex]

    def _project(self, points: np.ndarray, vertex: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the projections of points onto the segments after vertices, and how far along the edge they are."""
        begin, step = self.graph.points[vertex], self.graph.points[vertex + 1] - self.graph.points[vertex]
        step_m = self.graph.steps[vertex]
        fraction = np.clip(((points - begin) * step).sum(axis=1) / step_m**2, 0, 1)
        return begin + fraction[:, None] * step, self.along_m[vertex] + fraction * step_m

    def _unlikeness(
        self, vertex: np.ndarray, edge: np.ndarray, along_m: np.ndarray, headings: np.ndarray | None
    ) -> np.ndarray:
        """Return a cost from 0 to 1 of matching points with headings to places, rounded so that ties are equal."""
        if headings is None:
            return np.zeros(len(vertex))
        step = self.graph.points[vertex + 1] - self.graph.points[vertex]
        aside = 1 - np.abs((step * headings).sum(axis=1)) / self.graph.steps[vertex]
        at_node = (along_m <= _EQUAL_M) | (along_m >= self.length_m[edge] - _EQUAL_M)
        return np.where(np.isnan(headings[:, 0]), ~at_node, np.round(aside, 6))


def places_along(roads: RoadGraph, spacing_m: float) -> Places:
    """Return places evenly along each edge, each in the middle of its part of the edge.

    An edge has as many as it has spacings, rounded, and at least one.
    """
    counts = np.maximum(np.rint(np.round(roads.length_m, 6) / spacing_m), 1).astype(np.int64)
    edge = np.repeat(np.arange(len(counts)), counts)
    return Places(edge, roads.length_m[edge] * (ranges(np.zeros_like(counts), counts) + 0.5) / counts[edge])


def make_road_graph(lines: Lines, tolerance_m: float, name: str = "lines") -> RoadGraph:
    """Return the noded graph of lines, in which nodes of degree 2 stay; raises LayerError as `node_lines` does."""
    graph, _ = node_lines(lines, tolerance_m, name)
    return RoadGraph(replace(graph, origin=None), np.repeat(np.asarray(graph.origin), graph.sizes), lines)


def as_drawn(lines: Lines) -> RoadGraph:
    """Return lines as a graph without noding: edge i is line i, with two nodes of its own."""
    points, line = shapely.get_coordinates(lines.shapes, return_index=True)
    offsets = offsets_of(shapely.get_num_points(lines.shapes))
    nodes = points[np.column_stack([offsets[:-1], offsets[1:] - 1]).ravel()]
    edges = np.arange(len(nodes)).reshape(-1, 2)
    return RoadGraph(Graph(nodes, edges, points, offsets), line.astype(np.int64), lines)


def contracted(roads: RoadGraph, stays: np.ndarray | None = None) -> RoadGraph:
    """Return the graph without nodes of degree 2, except one in each ring of them and those of (n,) bool `stays`.

    See `join_chains`.
    """
    graph = roads.graph
    chains = find_chains(graph, stays)
    joined = join(graph, chains)
    # The lines of the steps of joined edges, in the order and direction of their chains.
    reverse = chains.is_reversed
    begins = np.where(reverse, graph.offsets[chains.edges + 1] - 2, graph.offsets[chains.edges])
    steps = ranges(begins, graph.sizes[chains.edges] - 1, np.where(reverse, -1, 1))
    # A vertex has the line of the step after it, the last vertex of an edge that of the step before.
    is_last = np.zeros(len(joined.points), dtype=np.int64)
    is_last[joined.offsets[1:] - 1] = 1
    step = np.arange(len(joined.points)) - joined.owner - is_last
    return RoadGraph(joined, roads.line[steps][step] if len(step) else roads.line, roads.lines)


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
