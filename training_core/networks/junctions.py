"""Junctions and road ends of a skeleton's graph: moved to where the roads meet, straightened, and consolidated.

Scope: how a skeleton distorts wide roads. Independent of the raster that measures their width, and of maps.

Near a junction a skeleton leaves the middle of the roads. Each is drawn toward the others, and one crossing often
becomes two junctions with a short edge between. The junction's clearance, the radius of the largest circle within the
road around it, is how far that reaches.
"""

from __future__ import annotations

import numpy as np
import shapely

from .cleaning import TIE_DIGITS, median_of_lines
from .graph import Graph, contract, move_nodes, select_edges, select_points
from .surroundings import Surroundings

# How far beyond a junction's circle roads are followed for their direction, and a junction may move, in radii.
_FOLLOWED, _FARTHEST = 2.0, 2.0
# From which distance a skeleton turns to a corner of the road's end, in half widths: the diagonal of half a square.
_BENT_END = 1.5
# The width of a road at its end is that of its last part of this length.
_WIDTH_FROM_M = 50.0
# Weight of a junction's own place, against that of a road that leads to it.
_INERTIA = 0.05


def straighten_junctions(graph: Graph, surroundings: Surroundings) -> Graph:
    """Return the graph with junctions where the roads that lead to them would meet, and straight lines to them.

    A skeleton leaves the middle of a road at every side road by up to a third of its width. Lines that the edge of the
    data cuts at an angle become straight too.
    """
    radius_m = _radii(graph, surroundings, graph.degree > 2)
    nodes = _meeting_points(graph, radius_m)
    radius_m += _radii(graph, surroundings, (graph.degree == 1) & surroundings.is_data_edge(graph.nodes))
    # Lines lose the vertices within the circle around a node, enlarged by its move; loops keep them.
    bent_m = radius_m + np.hypot(*(nodes - graph.nodes).T)
    is_loop = graph.edges[:, 0] == graph.edges[:, 1]
    bent_m = np.where(is_loop[:, None], 0, bent_m[graph.edges])
    is_bent = (_distances_m(graph) < bent_m[graph.owner]).any(axis=1)
    return select_points(move_nodes(graph, nodes), ~is_bent)


def straighten_ends(graph: Graph, surroundings: Surroundings) -> Graph:
    """Return the graph with dead ends that lead straight on to the end of the road.

    Toward its end a skeleton turns to one of the road's corners or stops half a width before it. Its vertices within
    1.5 half widths of the end are replaced by a straight line in the direction of the road before. The line ends on the
    rim of the largest circle within the road around the place next to the old end.
    """
    # The direction before the bend, from a point at its start and one farther back.
    edge, side, bent_m = _bent_ends(graph, surroundings)
    length_m = graph.lengths()[edge]
    shapes = graph.shapes()[edge]
    from_end_m = np.stack([bent_m, np.minimum((1 + _FOLLOWED) * bent_m, length_m)])
    near, far = shapely.get_coordinates(
        shapely.line_interpolate_point(shapes, np.where(side == 0, from_end_m, length_m - from_end_m))
    ).reshape(2, -1, 2)
    ahead = (near - far) / np.hypot(*(near - far).T)[:, None]
    # Straight on to beside the old end, and from there to the roadside.
    nodes, node = graph.nodes.copy(), graph.edges[edge, side]
    onward_m = ((nodes[node] - near) * ahead).sum(axis=1)
    ends = near + np.maximum(onward_m, 0)[:, None] * ahead
    free_m = surroundings.clearance_m(ends) - surroundings.half_pixel_m
    nodes[node] = ends + np.maximum(free_m, 0)[:, None] * ahead
    # The vertices of the bend go.
    limit_m = np.zeros((len(graph.edges), 2))
    limit_m[edge, side] = bent_m
    before_m = graph.along
    after_m = graph.lengths()[graph.owner] - before_m
    is_bent = (np.stack([before_m, after_m], axis=1) < limit_m[graph.owner]).any(axis=1)
    return select_points(move_nodes(graph, nodes), ~is_bent)


def _bent_ends(graph: Graph, surroundings: Surroundings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the edge of each dead end to straighten, its side of the edge, 0 or 1, and how far it is bent: (k,) each.

    Ends at the edge of the data, of roads of unknown width, and of edges too short for two bent ends do not count.
    """
    is_end = (graph.degree == 1) & ~surroundings.is_data_edge(graph.nodes)
    edge, side = np.nonzero(is_end[graph.edges])
    chosen = np.zeros(len(graph.edges), dtype=bool)
    chosen[edge] = True
    clearance_m = np.full(len(graph.points), np.nan)
    clearance_m[chosen[graph.owner]] = surroundings.clearance_m(graph.points[chosen[graph.owner]])
    # Half the width of the road near either node of each edge: the median of the clearance there.
    ends_m = (graph.along, graph.lengths()[graph.owner] - graph.along)
    near = [np.where(away_m <= _WIDTH_FROM_M, clearance_m, np.nan) for away_m in ends_m]
    bent_m = _BENT_END * np.column_stack([median_of_lines(graph, values) for values in near])[edge, side]
    is_bent = (bent_m > 0) & (bent_m < graph.lengths()[edge] / 2)
    return edge[is_bent], side[is_bent], bent_m[is_bent]


def merge_crossings(graph: Graph, surroundings: Surroundings) -> Graph:
    """Return the graph with junctions that belong to one crossing merged.

    Where roads cross, a skeleton often has two junctions of three roads with a short edge between. Once
    `straighten_junctions` has moved both, they are one crossing if their circles touch. The nearest are merged first
    and merged ones are candidates again. Compare the consolidation of intersections in Boeing, "OSMnx", Computers,
    Environment and Urban Systems 65 (2017). Here the raster gives the tolerance.
    """
    while True:
        near = _nearest_junctions(graph, _radii(graph, surroundings, graph.degree > 2))
        merged = contract(graph, near)
        if len(merged.edges) == len(graph.edges):
            return graph
        graph = merged


def consolidate_junctions(graph: Graph, tolerance_m: float) -> Graph:
    """Return the graph with junctions merged that an edge shorter than a tolerance in meters connects, without islands.

    Like `merge_crossings`, for lines without a raster. It also keeps only the first of edges between the same two nodes
    that lie within the tolerance of each other, and drops loops within it. So the square where two dual carriageways
    cross becomes one node. Nothing is disconnected.
    """
    while True:
        merged = _drop_islands(graph, tolerance_m)
        near = _nearest_junctions(merged, np.full(len(merged.nodes), tolerance_m / 2))
        merged = contract(merged, near)
        if len(merged.edges) == len(graph.edges):
            return graph
        graph = merged


def _nearest_junctions(graph: Graph, radius_m: np.ndarray) -> np.ndarray:
    """Return which edges connect two junctions whose circles touch and that are mutually nearest: (m,) bool.

    Mutual, so that a street with many side roads does not shrink to a point step by step.
    """
    is_junction, length_m = graph.degree > 2, graph.lengths()
    near = is_junction[graph.edges].all(axis=1) & (length_m < radius_m[graph.edges].sum(axis=1))
    near &= graph.edges[:, 0] != graph.edges[:, 1]
    x, y = graph.nodes[graph.edges[near]].min(axis=1).T  # among equals, the upper left one
    order = np.flatnonzero(near)[np.lexsort((x, y, np.round(length_m[near], TIE_DIGITS)))]
    # The rank of the best edge of each node: an edge that is the best of both its nodes is taken.
    first = np.full(len(graph.nodes), len(graph.edges))
    np.minimum.at(first, graph.edges[order].ravel(), np.repeat(np.arange(len(order)), 2))
    nearest = np.zeros(len(graph.edges), dtype=bool)
    nearest[order] = (first[graph.edges[order]] == np.arange(len(order))[:, None]).all(axis=1)
    return nearest


def _drop_islands(graph: Graph, tolerance_m: float) -> Graph:
    """Return the graph without edges that lie within a tolerance of an earlier one between the same two nodes."""
    # Edges in the order of their nodes: those that repeat the nodes of the one before are compared with it.
    order = np.lexsort((*np.sort(graph.edges, axis=1).T,))
    ends = np.sort(graph.edges[order], axis=1)
    repeats = np.concatenate([[False], (ends[1:] == ends[:-1]).all(axis=1)])[: len(order)]
    shapes = graph.shapes()
    kept = np.ones(len(graph.edges), dtype=bool)
    second, first = order[repeats], order[np.append(repeats[1:], False)[: len(order)]]
    kept[second] = shapely.hausdorff_distance(shapes[second], shapes[first]) > tolerance_m
    is_loop = (graph.edges[:, 0] == graph.edges[:, 1]) & (graph.degree[graph.edges[:, 0]] > 2)
    kept[is_loop] &= graph.lengths()[is_loop] > 2 * tolerance_m
    return select_edges(graph, kept)


def _radii(graph: Graph, surroundings: Surroundings, chosen: np.ndarray) -> np.ndarray:
    """Return the radius in meters of the circle around each chosen node, 0 for other nodes: (n,) float64."""
    radius_m = np.zeros(len(graph.nodes))
    radius_m[chosen] = surroundings.clearance_m(graph.nodes[chosen])
    return np.where(np.isfinite(radius_m), radius_m, 0)


def _distances_m(graph: Graph) -> np.ndarray:
    """Return the straight distance of each vertex from both nodes of its edge: (p, 2) float64."""
    away = graph.points[:, None] - graph.nodes[graph.edges][graph.owner]
    return np.hypot(*np.moveaxis(away, -1, 0))


def _meeting_points(graph: Graph, radius_m: np.ndarray) -> np.ndarray:
    """Return where the roads that lead to each junction would meet if they went on straight: (n, 2) float64.

    It is the point with the least sum of squared distances from the roads' straight continuations, by the normal
    equations. A junction for which that is too far away stays, as do all other nodes.
    """
    normal_sum = np.tile(_INERTIA * np.eye(2), (len(graph.nodes), 1, 1))
    moment_sum = np.zeros((len(graph.nodes), 2))
    for side, (near, far) in enumerate(_straight_parts(graph, radius_m)):
        node = graph.edges[:, side]
        along = graph.points[far] - graph.points[near]
        length_m = np.hypot(*along.T)
        # Only a part that is longer than the circle's radius has a reliable direction.
        leads = np.flatnonzero((radius_m[node] > 0) & (length_m >= radius_m[node]))
        node, along = node[leads], along[leads] / length_m[leads, None]
        normal = np.column_stack([-along[:, 1], along[:, 0]])
        aside_m = ((graph.points[near[leads]] - graph.nodes[node]) * normal).sum(axis=1)
        np.add.at(normal_sum, node, normal[:, :, None] * normal[:, None, :])
        np.add.at(moment_sum, node, normal * aside_m[:, None])
    shift_m = np.linalg.solve(normal_sum, moment_sum[:, :, None])[:, :, 0]
    moves = np.hypot(*shift_m.T) <= _FARTHEST * radius_m
    places = graph.nodes + np.where(moves[:, None], shift_m, 0)
    if not len(graph.points):
        return places
    return np.clip(places, graph.points.min(axis=0), graph.points.max(axis=0))  # never outside the image


def _straight_parts(graph: Graph, radius_m: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the part of each line that shows its direction at its first node, and the same for its second.

    It leads from the rim of the node's circle to twice its radius farther on or to the rim of the other node's circle,
    and is given by the (m,) int64 indices of its near and far vertex.
    """
    distance_m, radius_m = _distances_m(graph), radius_m[graph.edges][graph.owner]
    index = np.arange(len(graph.points))
    starts, last = graph.offsets[:-1], graph.offsets[1:] - 1

    def first_beyond(side: int, radii: float) -> np.ndarray:
        # The vertex nearest to a node along its line that lies beyond the circle: the least or greatest index.
        beyond = distance_m[:, side] >= radii * radius_m[:, side]
        if side == 0:
            return np.minimum(np.minimum.reduceat(np.where(beyond, index, len(index)), starts), last)
        return np.maximum(np.maximum.reduceat(np.where(beyond, index, -1), starts), starts)

    if not len(starts):
        return []
    rims = first_beyond(0, 1), first_beyond(1, 1)
    far_first = np.minimum(first_beyond(0, 1 + _FOLLOWED), rims[1])
    far_second = np.maximum(first_beyond(1, 1 + _FOLLOWED), rims[0])
    return [(rims[0], np.maximum(far_first, rims[0])), (rims[1], np.minimum(far_second, rims[1]))]
