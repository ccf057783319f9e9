"""Edits of a graph: edges added and noded where they cross others, split at new nodes, cut at a box.

Scope: topology and plane geometry. Independent of why an edge is added, of roads and maps.
"""

from __future__ import annotations

from typing import Optional

import numpy as np
import shapely

from ..geodata.parallel_arrays import offsets_of
from .graph import Graph, join_nodes, select_edges
from .surroundings import Paths

# Places closer together than this, in the unit of length, are one.
_SAME_PLACE = 1e-6
# Sides of a box; WITHIN is a node on none of them.
LEFT, TOP, RIGHT, BOTTOM, WITHIN = 0, 1, 2, 3, -1


def link(graph: Graph, pairs: np.ndarray, origin: Optional[np.ndarray], is_bridge: np.ndarray, paths: Paths) -> Graph:
    """Return the graph with edges between (k, 2) int64 pairs of its nodes, noded where they cross other edges.

    A crossing cuts an edge in two; a part without length is dropped. The (m,) bool `is_bridge` marks edges that are
    crossed without a node. The (k,) int64 `origin` is that of each new edge where the graph's edges have one. `paths`
    are their courses from first to second node.
    """
    # New edges follow the graph's. The ends of their paths are the nodes, exactly.
    points = paths.points.copy()
    points[paths.offsets[:-1]], points[paths.offsets[1:] - 1] = graph.nodes[pairs[:, 0]], graph.nodes[pairs[:, 1]]
    linked = Graph(
        graph.nodes,
        np.concatenate([graph.edges, pairs]),
        np.concatenate([graph.points, points]),
        np.concatenate([graph.offsets, graph.offsets[-1] + paths.offsets[1:]]),
        None if graph.origin is None else np.concatenate([graph.origin, origin]),
    )
    # At crossings both edges are split, and the new nodes merged.
    first, second, along, across = _crossings(linked, len(graph.edges), is_bridge)
    split, nodes = split_edges(linked, np.append(first, second), np.append(along, across))
    noded = join_nodes(split, nodes.reshape(2, -1).T)
    is_point = (noded.edges[:, 0] == noded.edges[:, 1]) & (noded.lengths() < _SAME_PLACE)
    return select_edges(noded, ~is_point)


def _crossings(
    graph: Graph, first_new: int, is_bridge: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return where new edges, numbered from `first_new`, cross others: both edges and how far along each, (k,) each.

    An edge that only begins or ends at a new edge's end does not cross it. Overlapping edges do not cross either.
    """
    shapes = graph.shapes()
    new = np.arange(first_new, len(graph.edges))
    first, second = shapely.STRtree(shapes).query(shapes[new], predicate="intersects")
    first = new[first]
    meets = (second < first) & ~np.append(is_bridge, np.zeros(len(new), dtype=bool))[second]  # each pair once
    first, second = first[meets], second[meets]
    crossing, pair = shapely.get_parts(shapely.intersection(shapes[first], shapes[second]), return_index=True)
    first, second = first[pair], second[pair]
    along = shapely.line_locate_point(shapes[first], shapely.point_on_surface(crossing))
    is_inner = (along > _SAME_PLACE) & (along < shapely.length(shapes[first]) - _SAME_PLACE)
    is_inner &= shapely.get_dimensions(crossing) == 0
    first, second = first[is_inner], second[is_inner]
    return first, second, along[is_inner], shapely.line_locate_point(shapes[second], crossing[is_inner])


def split_edges(graph: Graph, edges: np.ndarray, along: np.ndarray) -> tuple[Graph, np.ndarray]:
    """Return the graph with a node at each of some places on its edges and the (k,) int64 numbers of the new nodes.

    A place is a (k,) int64 edge and the (k,) float64 distance along it from its first node. An edge may have several.
    New nodes follow the former ones.
    """
    vertex, fraction = graph.locate(edges, along)
    # A place next to a vertex is at it.
    step = graph.steps[vertex]
    is_next = (1 - fraction) * step < _SAME_PLACE
    fraction = np.where(is_next | (fraction * step < _SAME_PLACE), 0, fraction)
    vertex = np.where(is_next, vertex + 1, vertex)
    # Places at an edge's end keep its node; the others get one for each different place.
    at_first = (vertex == graph.offsets[edges]) & (fraction == 0)
    at_last = vertex == graph.offsets[edges + 1] - 1
    nodes = np.where(at_first, graph.edges[edges, 0], graph.edges[edges, 1])
    within = ~(at_first | at_last)
    cuts, number = np.unique(np.column_stack([vertex, fraction])[within], axis=0, return_inverse=True)
    nodes[within] = len(graph.nodes) + number.ravel()
    return _cut(graph, cuts[:, 0].astype(np.int64), cuts[:, 1]), nodes


def _cut(graph: Graph, vertex: np.ndarray, fraction: np.ndarray) -> Graph:
    """Return the graph with new nodes at distinct places in order, a vertex and a fraction of the step after it."""
    following = graph.points[np.minimum(vertex + 1, len(graph.points) - 1)]
    place = graph.points[vertex] + fraction[:, None] * (following - graph.points[vertex])
    # Each place is inserted twice, as the last vertex of one part and the first of the next.
    points = np.insert(graph.points, np.repeat(vertex + 1, 2), np.repeat(place, 2, axis=0), axis=0)
    is_kept = np.ones(len(graph.points), dtype=bool)
    is_kept[vertex[fraction == 0]] = False  # replaced by the new node
    is_kept = np.insert(is_kept, np.repeat(vertex + 1, 2), True)
    # Former edges begin later by two for each place before; a new part begins at the second copy of its place.
    old_offsets = graph.offsets + 2 * np.searchsorted(vertex, graph.offsets)
    new_offsets = vertex + 2 + 2 * np.arange(len(vertex))
    offsets = np.sort(np.concatenate([old_offsets, new_offsets]))
    # Each part lies between two new nodes, except that the first and last of an edge keep its ends.
    parent = np.repeat(np.arange(len(graph.edges)), 1 + np.bincount(graph.owner[vertex], minlength=len(graph.edges)))
    is_first = np.concatenate([[True], np.diff(parent) > 0])[: len(parent)]
    is_last = np.append(is_first[1:], True)[: len(parent)]
    new_nodes = len(graph.nodes) + np.arange(len(vertex))
    edges = graph.edges[parent]
    edges[~is_first, 0] = edges[~is_last, 1] = new_nodes
    return Graph(
        np.concatenate([graph.nodes, place]),
        edges,
        points[is_kept],
        offsets_of(is_kept)[offsets],
        graph.origin_of(parent),
    )


def cut_to_box(graph: Graph, box: np.ndarray) -> tuple[Graph, np.ndarray]:
    """Return the part of a graph within a box, and the side on which each of its nodes was cut.

    Boxes that divide a plane without gap or overlap divide a graph in the same way. Origins are kept. A box, (4,)
    float64, is its least x and y, greatest x and y, in the graph's unit or infinite; no line should run along a border.
    Sides, (n,) int8, are LEFT, TOP, RIGHT or BOTTOM (y grows downward) for a node where a line was cut, else WITHIN.
    """
    edges, along, sides = _border_crossings(graph, box)
    split, nodes = split_edges(graph, edges, along)
    side = np.full(len(split.nodes), WITHIN, dtype=np.int8)
    side[nodes] = sides
    # All lines are cut at the border, so the middle of an edge's first step shows on which side the edge is.
    first = split.offsets[:-1]
    middle = (split.points[first] + split.points[first + 1]) / 2
    is_inside = ((middle >= box[:2]) & (middle < box[2:])).all(axis=1)
    is_used = np.zeros(len(split.nodes), dtype=bool)
    is_used[split.edges[is_inside]] = True
    return select_edges(split, is_inside), side[is_used]


def _border_crossings(graph: Graph, box: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where edges cross the lines of a box: the edge, how far along it, and the side, (k,) each."""
    owner, before_m, step_m = graph.owner, graph.along, graph.steps
    edges, along, sides = [], [], []
    for side, place in enumerate(box):
        # Where consecutive vertices of an edge lie on different sides of the border, the crossing divides their step in
        # proportion to their distances from it.
        beyond = graph.points[:, side % 2] - place
        is_past = beyond >= 0
        at = np.flatnonzero((is_past[1:] != is_past[:-1]) & (owner[1:] == owner[:-1]))
        fraction = beyond[at] / (beyond[at] - beyond[at + 1])
        edges.append(owner[at])
        along.append(before_m[at] + fraction * step_m[at])
        sides.append(np.full(len(at), side, dtype=np.int8))
    return np.concatenate(edges), np.concatenate(along), np.concatenate(sides)
