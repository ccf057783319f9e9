"""Gaps: roads that end where they should go on, at another dead end or at the road that they point at.

Knows dead ends, their directions and what lies before them, measured in meters on the ground; knows nothing of masks,
maps or files. Coordinates stay columns and rows; `pixel_m` is the ground size of a pixel along both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import shapely
from scipy.spatial import KDTree

from .graph import Graph
from .graph_edits import link, split_edges

# A road's direction at its end is that of the last stretch of this length.
_STRAIGHT_M = 15.0
# Gaps below this share of the longest may be bent by more: what is one pixel off turns a short way by much.
_SHORT_GAP, _BENT = 0.3, 1.5
# Where nothing lies straight ahead, a dead end looks so far aside, in degrees; what it finds there must cross its
# way at this angle at least, as a road that runs along it does not.
_LOOKS, _CROSSES = (0, -10, 10, -20, 20), 45.0
# A ring's way around is at least this many times its gap, and a road that meets itself is as far from its end.
_WAY_AROUND = 4.0


@dataclass(frozen=True)
class _DeadEnds:
    """Dead ends: their nodes and edges (k,), places in meters (k, 2), and the ways ahead as unit vectors (k, 2)."""

    node: np.ndarray
    edge: np.ndarray
    place_m: np.ndarray
    ahead: np.ndarray


def nothing_passed(graph: Graph) -> np.ndarray:
    """Return which edges are crossed without a node where no bridges are known: none, (m,), bool."""
    return np.zeros(len(graph.edges), dtype=bool)


def join_gaps(
    graph: Graph,
    pixel_m: tuple[float, float],
    gap_m: float,
    gap_angle: float,
    is_cut: Callable[[np.ndarray], np.ndarray],
    is_likely: Callable[[np.ndarray, np.ndarray], np.ndarray],
    is_passed: Callable[[Graph], np.ndarray] = nothing_passed,
) -> Graph:
    """Return the graph with straight edges between dead ends that face each other.

    Each dead end is joined once, the best pair first: the shortest and straightest. Where the new edge crosses a road
    there is a node. The rule of distance and angle is that of Van Etten, "City-scale road extraction from satellite
    imagery" (CRESI), IEEE WACV 2020, which joins any two ends within 24 pixels, and those in line within 80.

    Parameters
    ----------
    graph : Graph
    pixel_m : tuple of float
        Ground size of a pixel in meters along columns and along rows.
    gap_m : float
        Longest gap in meters.
    gap_angle : float
        Largest turn in degrees from either road into the gap; half as much more in gaps below 0.3 of the longest.
    is_cut : callable
        Whether points (n, 2) are ends only since the data ends there; such an end stays.
    is_likely : callable
        Whether there may be a road along straight ways, from points (n, 2) to points (n, 2).
    is_passed : callable
        Which edges of a graph (m,) are crossed without a node, as a bridge is.
    """
    ends = _dead_ends(graph, pixel_m, is_cut)
    if gap_m <= 0 or len(ends.node) < 2:
        return graph
    pairs = KDTree(ends.place_m).query_pairs(gap_m, output_type="ndarray").astype(np.int64)
    first, second = pairs.T
    way_m = ends.place_m[second] - ends.place_m[first]
    distance_m = np.hypot(*way_m.T)
    turn = np.maximum(_turn(ends.ahead[first], way_m), _turn(ends.ahead[second], -way_m))
    fits = turn <= gap_angle * np.where(distance_m < _SHORT_GAP * gap_m, _BENT, 1)
    around_m = np.where(ends.edge[first] == ends.edge[second], graph.lengths(pixel_m)[ends.edge[first]], np.inf)
    fits &= around_m >= _WAY_AROUND * distance_m
    fits &= is_likely(graph.nodes[ends.node[first]], graph.nodes[ends.node[second]])
    cost = distance_m[fits] * (1 + turn[fits] / 90)
    chosen = _each_once(pairs[fits][np.argsort(cost, kind="stable")])
    longer = chosen[np.arange(len(chosen)), graph.lengths(pixel_m)[ends.edge[chosen]].argmax(axis=1)]
    return link(graph, ends.node[chosen], pixel_m, graph.origin_of(ends.edge[longer]), is_passed(graph))


def snap_ends(
    graph: Graph,
    pixel_m: tuple[float, float],
    snap_m: float,
    is_cut: Callable[[np.ndarray], np.ndarray],
    is_likely: Callable[[np.ndarray, np.ndarray], np.ndarray],
    is_passed: Callable[[Graph], np.ndarray] = nothing_passed,
) -> Graph:
    """Return the graph with dead ends led straight on to the road that they point at, which gets a node there.

    A junction is missed where a mask has a gap before it. That dead ends are extended along their direction, and not
    to the nearest road, keeps side roads straight and roads that run along each other apart; compare `extend_lines` of
    Fleischmann, "momepy", Journal of Open Source Software 4 (2019). Where nothing is straight ahead, as beside the
    corner of a bend, up to 20 degrees aside are looked at.

    Parameters
    ----------
    graph : Graph
    pixel_m : tuple of float
        Ground size of a pixel in meters along columns and along rows.
    snap_m : float
        Longest way in meters from a dead end to the line that it meets.
    is_cut, is_likely, is_passed
        As for `join_gaps`; and no road is led to an edge that is passed.
    """
    ends = _dead_ends(graph, pixel_m, is_cut)
    if snap_m <= 0 or not len(ends.node):
        return graph
    end, edge, meeting = _first_met(graph, pixel_m, ends, snap_m, is_passed(graph))
    along_m = shapely.line_locate_point(graph.shapes(pixel_m)[edge], meeting)
    likely = is_likely(graph.nodes[ends.node[end]], shapely.get_coordinates(meeting) / pixel_m)
    end, edge, along_m = end[likely], edge[likely], along_m[likely]
    origin = graph.origin_of(ends.edge[end])
    split, nodes = split_edges(graph, edge, along_m, pixel_m)
    return link(split, np.column_stack([ends.node[end], nodes]), pixel_m, origin, is_passed(split))


def _dead_ends(graph: Graph, pixel_m: tuple[float, float], is_cut: Callable[[np.ndarray], np.ndarray]) -> _DeadEnds:
    is_end = (graph.degree == 1) & ~is_cut(graph.nodes)
    edge, side = np.nonzero(is_end[graph.edges])
    shapes = shapely.linestrings(graph.points * pixel_m, indices=graph.owner)[edge]
    length_m = shapely.length(shapes)
    begin_m = np.minimum(_STRAIGHT_M, length_m)
    begin = shapely.line_interpolate_point(shapes, np.where(side == 0, begin_m, length_m - begin_m))
    node = graph.edges[edge, side]
    way = graph.nodes[node] * pixel_m - shapely.get_coordinates(begin)
    ahead = way / np.maximum(np.hypot(*way.T), 1e-12)[:, None]
    return _DeadEnds(node, edge, graph.nodes[node] * pixel_m, ahead)


def _turn(ahead: np.ndarray, way: np.ndarray) -> np.ndarray:
    """Return the angles in degrees between vectors (k, 2); 0 where one has no length."""
    cross = ahead[:, 0] * way[:, 1] - ahead[:, 1] * way[:, 0]
    return np.degrees(np.abs(np.arctan2(cross, (ahead * way).sum(axis=1))))


def _each_once(pairs: np.ndarray) -> np.ndarray:
    """Return the pairs (k, 2) of numbers neither of which is in an earlier pair that is returned."""
    taken: set[int] = set()
    chosen = []
    for first, second in pairs.tolist():
        if first not in taken and second not in taken:
            taken |= {first, second}
            chosen.append((first, second))
    return np.array(chosen, dtype=np.int64).reshape(-1, 2)


def _first_met(
    graph: Graph, pixel_m: tuple[float, float], ends: _DeadEnds, reach_m: float, passed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what lies first before dead ends: the end, the edge met, and the point in meters where, (k,) each."""
    edges = np.flatnonzero(~passed)
    shapes = graph.shapes(pixel_m)[edges]
    angle = np.radians(np.repeat(_LOOKS, len(ends.node)))
    x, y = np.tile(ends.ahead.T, len(_LOOKS))
    look = np.column_stack([x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)])
    place_m = np.tile(ends.place_m, (len(_LOOKS), 1))
    rays = shapely.linestrings(np.stack([place_m, place_m + reach_m * look], axis=1))
    ray, met = shapely.STRtree(shapes).query(rays, predicate="intersects")
    part, number = shapely.get_parts(shapely.intersection(rays[ray], shapes[met]), return_index=True)
    ray, met = ray[number], met[number]
    meeting = shapely.get_point(shapely.shortest_line(shapely.points(place_m[ray]), part), 1)
    distance_m = shapely.distance(shapely.points(place_m[ray]), meeting)
    end, edge = ray % len(ends.node), edges[met]
    along_m = shapely.line_locate_point(shapes[met], meeting)
    is_first = ends.node[end] == graph.edges[edge, 0]
    back_m = np.where(is_first, along_m, graph.lengths(pixel_m)[edge] - along_m)
    fits = (distance_m > 0) & ((ends.edge[end] != edge) | (back_m >= _WAY_AROUND * distance_m))
    is_aside = ray >= len(ends.node)
    fits &= ~is_aside | (_crossing_angle(shapes[met], along_m, look[ray]) >= _CROSSES)
    order = np.flatnonzero(fits)
    order = order[np.lexsort((distance_m[order], np.abs(angle[ray[order]]), end[order]))]
    nearest = order[np.unique(end[order], return_index=True)[1]]
    return end[nearest], edge[nearest], meeting[nearest]


def _crossing_angle(shapes: np.ndarray, along_m: np.ndarray, way: np.ndarray) -> np.ndarray:
    """Return the angles, from 0 to 90 degrees, at which ways (k, 2) cross lines at distances along them: (k,)."""
    before, after = (
        shapely.get_coordinates(shapely.line_interpolate_point(shapes, np.maximum(along_m + step, 0)))
        for step in (-1.0, 1.0)
    )
    turn = _turn(after - before, way)
    return np.minimum(turn, 180 - turn)
