"""Edits of a graph: split edges at new nodes, add edges, and node these where they cross others.

Scope: topology and plane geometry. Independent of why an edge is added, of roads and maps.
"""

from __future__ import annotations

from typing import Optional

import numpy as np
import shapely

from .graph import Graph, join_nodes, select_edges
from .paths import Paths, straight_paths

# Places closer together than this, in the unit of length, are one.
_SAME_PLACE = 1e-6


def link(
    graph: Graph,
    pairs: np.ndarray,
    origin: Optional[np.ndarray],
    is_bridge: np.ndarray,
    paths: Optional[Paths] = None,
) -> Graph:
    """Return the graph with edges between pairs of its nodes, noded where they cross other edges.

    Parameters
    ----------
    pairs : ndarray (k, 2), int64
        The nodes to link.
    origin : ndarray (k,), int64, or None
        Origin of each new edge, where the graph's edges have one.
    is_bridge : ndarray (m,), bool
        Edges that are crossed without a node.
    paths : Paths, optional
        The course of each edge, from its first node to its second; straight without.

    Returns
    -------
    Graph
        An edge that a crossing cuts is two; what a cut leaves without length is dropped.
    """
    linked = add_edges(graph, pairs, origin, paths)
    first, second, along, across = _crossings(linked, len(graph.edges), is_bridge)
    split, nodes = split_edges(linked, np.append(first, second), np.append(along, across))
    noded = join_nodes(split, nodes.reshape(2, -1).T)
    is_point = (noded.edges[:, 0] == noded.edges[:, 1]) & (noded.lengths() < _SAME_PLACE)
    return select_edges(noded, ~is_point)


def _crossings(
    graph: Graph, first_new: int, is_bridge: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return where new edges, those from a number on, cross others: both edges, and how far along each, (k,) each.

    An edge that only begins or ends at a new edge's end crosses nothing, nor do edges that overlap.
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


def add_edges(graph: Graph, pairs: np.ndarray, origin: Optional[np.ndarray], paths: Optional[Paths] = None) -> Graph:
    """Return the graph with edges between pairs of its nodes, after its own edges; crossings get no node.

    Parameters
    ----------
    pairs : ndarray (k, 2), int64
        The nodes to link.
    origin : ndarray (k,), int64, or None
        Origin of each new edge, where the graph's edges have one.
    paths : Paths, optional
        The course of each edge, from its first node to its second; straight without.
    """
    paths = paths or straight_paths(*graph.nodes[pairs].transpose(1, 0, 2))
    points = paths.points.copy()
    points[paths.offsets[:-1]], points[paths.offsets[1:] - 1] = graph.nodes[pairs[:, 0]], graph.nodes[pairs[:, 1]]
    return Graph(
        graph.nodes,
        np.concatenate([graph.edges, pairs]),
        np.concatenate([graph.points, points]),
        np.concatenate([graph.offsets, graph.offsets[-1] + paths.offsets[1:]]),
        None if graph.origin is None else np.concatenate([graph.origin, origin]),
    )


def split_edges(graph: Graph, edges: np.ndarray, along: np.ndarray) -> tuple[Graph, np.ndarray]:
    """Return the graph with a node at each of some places on its edges.

    Parameters
    ----------
    edges : ndarray (k,), int64
        The edge on which each place lies; an edge may have several.
    along : ndarray (k,), float64
        Distance of each place from its edge's first node, along the edge.

    Returns
    -------
    graph : Graph
        Its first nodes are those of the graph before.
    nodes : ndarray (k,), int64
        The node at each place: at an edge's end the one that was there, and one for places that coincide.
    """
    vertex, share = _locate(graph, edges, along)
    at_first = (vertex == graph.offsets[edges]) & (share == 0)
    at_last = vertex == graph.offsets[edges + 1] - 1
    nodes = np.where(at_first, graph.edges[edges, 0], graph.edges[edges, 1])
    within = ~(at_first | at_last)
    cuts, number = np.unique(np.column_stack([vertex, share])[within], axis=0, return_inverse=True)
    nodes[within] = len(graph.nodes) + number.ravel()
    return _cut(graph, cuts[:, 0].astype(np.int64), cuts[:, 1]), nodes


def _locate(graph: Graph, edges: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the last vertex before each place, and the place's share, below 1, of the step to the next.

    A place within `_SAME_PLACE` of a vertex is at it: its share is 0.
    """
    total = np.concatenate([[0], np.cumsum(graph.steps)])[:-1]  # through all edges; never decreases
    first, last = graph.offsets[edges], graph.offsets[edges + 1] - 1
    goal = total[first] + along
    vertex = np.clip(np.searchsorted(total, goal, side="right") - 1, first, last - 1)
    step = graph.steps[vertex]
    share = np.divide(goal - total[vertex], step, out=np.zeros(len(goal)), where=step > 0)
    is_next = (1 - share) * step < _SAME_PLACE
    return np.where(is_next, vertex + 1, vertex), np.where(is_next | (share * step < _SAME_PLACE), 0, share)


def _cut(graph: Graph, vertex: np.ndarray, share: np.ndarray) -> Graph:
    """Return the graph with new nodes at distinct places, given in order as by `_locate`, none at an edge's end."""
    following = graph.points[np.minimum(vertex + 1, len(graph.points) - 1)]
    place = graph.points[vertex] + share[:, None] * (following - graph.points[vertex])
    # Each place is inserted twice, as the last vertex of one part and the first of the next.
    points = np.insert(graph.points, np.repeat(vertex + 1, 2), np.repeat(place, 2, axis=0), axis=0)
    is_kept = np.ones(len(graph.points), dtype=bool)
    is_kept[vertex[share == 0]] = False  # replaced by the new node
    is_kept = np.insert(is_kept, np.repeat(vertex + 1, 2), True)
    old_offsets = graph.offsets + 2 * np.searchsorted(vertex, graph.offsets)
    new_offsets = vertex + 2 + 2 * np.arange(len(vertex))
    offsets = np.sort(np.concatenate([old_offsets, new_offsets]))
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
        np.concatenate([[0], np.cumsum(is_kept)])[offsets],
        graph.origin_of(parent),
    )


# Sides of a box, and of a node that lies on none.
LEFT, TOP, RIGHT, BOTTOM, WITHIN = 0, 1, 2, 3, -1


def cut_to_box(graph: Graph, box: tuple[float, float, float, float]) -> tuple[Graph, np.ndarray]:
    """Return the part of a graph within a box, and the side on which each of its nodes was cut.

    Boxes that divide a plane without gap or overlap divide a graph in the same way. Its origins are kept.

    Parameters
    ----------
    box : tuple of float
        Least x and y, greatest x and y, in the graph's unit. No line should run along a border.

    Returns
    -------
    graph : Graph
    side : ndarray (n,), int8
        LEFT, TOP, RIGHT or BOTTOM (y grows downward) for a node where a line was cut, else WITHIN.
    """
    edges, along, sides = _border_crossings(graph, box)
    split, nodes = split_edges(graph, edges, along)
    side = np.full(len(split.nodes), WITHIN, dtype=np.int8)
    side[nodes] = sides
    first = split.offsets[:-1]
    middle = (split.points[first] + split.points[first + 1]) / 2
    is_inside = ((middle >= box[:2]) & (middle < box[2:])).all(axis=1)
    is_used = np.zeros(len(split.nodes), dtype=bool)
    is_used[split.edges[is_inside]] = True
    return select_edges(split, is_inside), side[is_used]


def _border_crossings(
    graph: Graph, box: tuple[float, float, float, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where edges cross the lines of a box: the edge, how far along it, and the side, (k,) each."""
    owner, before_m, step_m = graph.owner, graph.along(), graph.steps
    edges, along, sides = [], [], []
    for side, place in enumerate(box):
        beyond = graph.points[:, side % 2] - place
        is_past = beyond >= 0
        at = np.flatnonzero((is_past[1:] != is_past[:-1]) & (owner[1:] == owner[:-1]))
        share = beyond[at] / (beyond[at] - beyond[at + 1])
        edges.append(owner[at])
        along.append(before_m[at] + share * step_m[at])
        sides.append(np.full(len(at), side, dtype=np.int8))
    return np.concatenate(edges), np.concatenate(along), np.concatenate(sides)
