"""Gap closing: dead ends joined with one that faces them, and undershoots snapped to the road ahead.

Scope: dead ends of a graph in meters, their directions, and edges ahead. Independent of rasters, maps and files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from scipy.spatial import KDTree

from ..geodata.parallel_arrays import first_of_each
from .cleaning import TIE_DIGITS
from .graph import Graph
from .graph_edits import link, split_edges
from .surroundings import Surroundings

# Gaps below this fraction of the longest may turn by this many times the angle: one pixel turns a short line a lot.
_SHORT_GAP, _SHORT_GAP_TURN = 0.3, 1.5
# Degrees from straight ahead in which a dead end is extended, the first that meets an edge. Except straight ahead the
# edge must be crossed at this angle at least, which excludes a road that runs alongside.
_RAY_ANGLES, _MIN_CROSSING_ANGLE = (0, -10, 10, -20, 20), 45.0
# Ends are joined only if the path along the network is at least this many times as long.
WAY_AROUND = 4.0
# The direction of a road at its end is that of its last part of this length.
_STRAIGHT_M = 15.0


@dataclass(frozen=True)
class DeadEnds:
    """Dead ends: nodes (k,), edges (k,), places in meters (k, 2), and directions ahead as unit vectors (k, 2)."""

    node: np.ndarray
    edge: np.ndarray
    place: np.ndarray
    ahead: np.ndarray


def dead_ends(graph: Graph, surroundings: Surroundings) -> DeadEnds:
    """Return the dead ends of a graph, except those at the edge of the data, which the surroundings know."""
    is_end = (graph.degree == 1) & ~surroundings.is_data_edge(graph.nodes)
    # The direction ahead leads from a point some meters before the end to the end.
    edge, side = np.nonzero(is_end[graph.edges])
    shapes = graph.shapes()[edge]
    length_m = shapely.length(shapes)
    begin_m = np.minimum(_STRAIGHT_M, length_m)
    begin = shapely.line_interpolate_point(shapes, np.where(side == 0, begin_m, length_m - begin_m))
    node = graph.edges[edge, side]
    along = graph.nodes[node] - shapely.get_coordinates(begin)
    ahead = along / np.maximum(np.hypot(*along.T), 1e-12)[:, None]
    return DeadEnds(node, edge, graph.nodes[node], ahead)


def angles(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the angles in degrees between vectors, (k, 2) each: (k,) float64; 0 where one has no length."""
    cross = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
    return np.degrees(np.abs(np.arctan2(cross, (one * other).sum(axis=1))))


def join_gaps(graph: Graph, gap_m: float, gap_angle: float, surroundings: Surroundings) -> Graph:
    """Return the graph with straight edges between dead ends that face each other.

    Each dead end is joined once. The shortest and straightest pair comes first. Where the new edge crosses a road other
    than a bridge it is noded. It gets the origin of the longer road. The rule of distance and angle is that of Van
    Etten, "City-scale road extraction from satellite imagery" (CRESI), IEEE WACV 2020. It joins any two ends within 24
    pixels and those in line within 80. Ends at the edge of the data are not joined.

    No gap is longer than `gap_m`. Neither road turns by more than `gap_angle` degrees into it; half as much more in
    gaps below 0.3 of the longest.
    """
    ends = dead_ends(graph, surroundings)
    if gap_m <= 0 or len(ends.node) < 2:
        return graph
    pairs = KDTree(ends.place).query_pairs(gap_m, output_type="ndarray").astype(np.int64)
    first, second = pairs.T
    across = ends.place[second] - ends.place[first]
    distance_m, length_m = np.hypot(*across.T), graph.lengths()
    # Both roads may turn a little into the gap, more if it is short.
    turn = np.maximum(angles(ends.ahead[first], across), angles(ends.ahead[second], -across))
    fits = turn <= gap_angle * np.where(distance_m < _SHORT_GAP * gap_m, _SHORT_GAP_TURN, 1)
    # Both ends of one edge are joined only if that makes a ring, not where a road just bends.
    around_m = np.where(ends.edge[first] == ends.edge[second], length_m[ends.edge[first]], np.inf)
    fits &= around_m >= WAY_AROUND * distance_m
    fits &= surroundings.is_likely(ends.place[first], ends.place[second])
    # Best pairs first; among equals the upper left one.
    cost = distance_m[fits] * (1 + turn[fits] / 90)
    x, y = np.minimum(ends.place[first[fits]], ends.place[second[fits]]).T
    pairs = pairs[fits][np.lexsort((x, y, np.round(cost, TIE_DIGITS)))]
    chosen = pairs[greedy_matching(pairs)]
    longer = chosen[np.arange(len(chosen)), length_m[ends.edge[chosen]].argmax(axis=1)]
    paths = surroundings.paths(*ends.place[chosen].transpose(1, 0, 2))
    return link(graph, ends.node[chosen], graph.origin_of(ends.edge[longer]), surroundings.is_bridge(graph), paths)


def snap_ends(graph: Graph, snap_m: float, surroundings: Surroundings) -> Graph:
    """Return the graph with undershoots repaired: dead ends extended straight to the road ahead, which is split there.

    A junction is missed where a mask has a gap before it. Dead ends are extended by up to `snap_m` meters along their
    direction, not to the nearest road. That keeps side roads straight and parallel roads apart; compare `extend_lines`
    of Fleischmann, "momepy", Journal of Open Source Software 4 (2019). Where nothing is straight ahead, as near the
    corner of a bend, directions up to 20 degrees aside are tried. A new edge has the origin of the road that it
    extends. No road is extended to a bridge.
    """
    ends = dead_ends(graph, surroundings)
    if snap_m <= 0 or not len(ends.node):
        return graph
    # Where the road ahead is met, it gets a node; a link leads there from the dead end.
    end, edge, meeting = first_met(graph, ends, snap_m, surroundings.is_bridge(graph))
    along_m = shapely.line_locate_point(graph.shapes()[edge], meeting)
    likely = surroundings.is_likely(ends.place[end], shapely.get_coordinates(meeting))
    end, edge, along_m = end[likely], edge[likely], along_m[likely]
    origin = graph.origin_of(ends.edge[end])
    split, nodes = split_edges(graph, edge, along_m)
    paths = surroundings.paths(ends.place[end], split.nodes[nodes])
    return link(split, np.column_stack([ends.node[end], nodes]), origin, surroundings.is_bridge(split), paths)


def greedy_matching(pairs: np.ndarray) -> np.ndarray:
    """Return which of the (k, 2) int64 pairs, in order, have no number of a pair chosen before: (k,) bool.

    -1 is no number.
    """
    taken: set[int] = set()
    is_chosen = np.zeros(len(pairs), dtype=bool)
    for position, pair in enumerate(pairs.tolist()):
        numbers = {*pair} - {-1}
        if not taken & numbers:
            taken |= numbers
            is_chosen[position] = True
    return is_chosen


def first_met(
    graph: Graph, ends: DeadEnds, reach_m: float, is_bridge: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first edge that a ray of `reach_m` meters from each dead end meets, without the (m,) bool bridges.

    Rays are cast straight ahead first. Those aside count only where none before them meets an edge. Returns the (k,)
    int64 numbers of dead ends and edges, and the (k,) object points where they meet.
    """
    # A ray from each end in each direction, all ends straight ahead first: ray i belongs to end i modulo their number.
    edges = np.flatnonzero(~is_bridge)
    shapes = graph.shapes()[edges]
    angle = np.radians(np.repeat(_RAY_ANGLES, len(ends.node)))
    x, y = np.tile(ends.ahead.T, len(_RAY_ANGLES))
    heading = np.column_stack([x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)])
    place = np.tile(ends.place, (len(_RAY_ANGLES), 1))
    rays = shapely.linestrings(np.stack([place, place + reach_m * heading], axis=1))
    # The nearest point of each part of an edge that a ray meets; an overlap counts by its nearer end.
    ray, met = shapely.STRtree(shapes).query(rays, predicate="intersects")
    part, number = shapely.get_parts(shapely.intersection(rays[ray], shapes[met]), return_index=True)
    ray, met = ray[number], met[number]
    meeting = shapely.get_point(shapely.shortest_line(shapely.points(place[ray]), part), 1)
    distance_m = shapely.distance(shapely.points(place[ray]), meeting)
    end, edge = ray % len(ends.node), edges[met]
    along_m = shapely.line_locate_point(shapes[met], meeting)
    # An end may meet its own edge only where that closes a ring, and other edges aside only if it crosses them.
    is_first = ends.node[end] == graph.edges[edge, 0]
    back_m = np.where(is_first, along_m, graph.lengths()[edge] - along_m)
    fits = (distance_m > 0) & ((ends.edge[end] != edge) | (back_m >= WAY_AROUND * distance_m))
    is_aside = ray >= len(ends.node)
    fits &= ~is_aside | (_crossing_angles(shapes[met], along_m, heading[ray]) >= _MIN_CROSSING_ANGLE)
    # Each end takes the ray nearest to straight ahead, then the nearest edge.
    fitting = np.flatnonzero(fits)
    nearest = fitting[first_of_each(end[fitting], np.abs(angle[ray[fitting]]), distance_m[fitting])]
    return end[nearest], edge[nearest], meeting[nearest]


def _crossing_angles(shapes: np.ndarray, along_m: np.ndarray, heading: np.ndarray) -> np.ndarray:
    """Return the angles, 0 to 90 degrees, between lines, at distances along them, and headings: (k,) float64."""
    before, after = (
        shapely.get_coordinates(shapely.line_interpolate_point(shapes, np.maximum(along_m + step, 0)))
        for step in (-1.0, 1.0)
    )
    turn = angles(after - before, heading)
    return np.minimum(turn, 180 - turn)
