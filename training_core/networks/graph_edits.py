"""What is new in a graph: nodes on edges, and straight edges between nodes, with a node wherever they cross another.

Knows topology and plane geometry; knows nothing of what a new edge is good for, of roads or maps.
"""

from __future__ import annotations

from typing import Optional

import numpy as np
import shapely

from .graph import Graph, join_nodes, select_edges

# Places less apart than this, in the unit of length, are one.
_SAME_PLACE = 1e-6


def link(
    graph: Graph, pairs: np.ndarray, scale: tuple[float, float], origin: Optional[np.ndarray], passed: np.ndarray
) -> Graph:
    """Return the graph with straight edges between pairs of its nodes, and nodes where those cross other edges.

    Parameters
    ----------
    graph : Graph
    pairs : ndarray (k, 2), int64
        The nodes to link.
    scale : tuple of float
        Length of a step of a column and of a row.
    origin : ndarray (k,), int64, or None
        What each new edge is made from, where the graph's edges have an origin.
    passed : ndarray (m,), bool
        Edges that are crossed without a node, as a bridge is.
    """
    linked = add_edges(graph, pairs, origin)
    shapes = linked.shapes(scale)
    new = np.arange(len(graph.edges), len(linked.edges))
    first, second = shapely.STRtree(shapes).query(shapes[new], predicate="intersects")
    first = new[first]
    meets = (second < first) & ~np.append(passed, np.zeros(len(new), dtype=bool))[second]
    first, second = first[meets], second[meets]
    crossing, number = shapely.get_parts(shapely.intersection(shapes[first], shapes[second]), return_index=True)
    first, second = first[number], second[number]
    along = shapely.line_locate_point(shapes[first], shapely.point_on_surface(crossing))
    is_inner = (along > _SAME_PLACE) & (along < shapely.length(shapes[first]) - _SAME_PLACE)
    is_inner &= shapely.get_dimensions(crossing) == 0
    first, second, along = first[is_inner], second[is_inner], along[is_inner]
    across = shapely.line_locate_point(shapes[second], crossing[is_inner])
    split, nodes = split_edges(linked, np.append(first, second), np.append(along, across), scale)
    noded = join_nodes(split, nodes.reshape(2, -1).T)
    is_nothing = (noded.edges[:, 0] == noded.edges[:, 1]) & (noded.lengths(scale) < _SAME_PLACE)
    return select_edges(noded, ~is_nothing)


def add_edges(graph: Graph, pairs: np.ndarray, origin: Optional[np.ndarray]) -> Graph:
    """Return the graph with straight edges between pairs (k, 2) of its nodes, of some origin, behind its own edges."""
    return Graph(
        graph.nodes,
        np.concatenate([graph.edges, pairs]),
        np.concatenate([graph.points, graph.nodes[pairs].reshape(-1, 2)]),
        np.concatenate([graph.offsets, graph.offsets[-1] + 2 * np.arange(1, len(pairs) + 1)]),
        None if graph.origin is None else np.concatenate([graph.origin, origin]),
    )


def split_edges(
    graph: Graph, edges: np.ndarray, distances: np.ndarray, scale: tuple[float, float] = (1.0, 1.0)
) -> tuple[Graph, np.ndarray]:
    """Return the graph with a node at each of some places on its edges.

    Parameters
    ----------
    graph : Graph
    edges : ndarray (k,), int64
        The edges on which the places lie; an edge may have several.
    distances : ndarray (k,), float64
        How far along its edge each place lies.
    scale : tuple of float
        What a step of a column and of a row add to a distance.

    Returns
    -------
    graph : Graph
        Its first nodes are those of the graph before.
    nodes : ndarray (k,), int64
        The node at each place, which at an edge's end is the one that was there.
    """
    vertex, share = _places(graph, edges, distances, scale)
    at_first = (vertex == graph.offsets[edges]) & (share == 0)
    at_last = vertex == graph.offsets[edges + 1] - 1
    nodes = np.where(at_first, graph.edges[edges, 0], graph.edges[edges, 1])
    within = ~(at_first | at_last)
    places, number = np.unique(np.column_stack([vertex, share])[within], axis=0, return_inverse=True)
    nodes[within] = len(graph.nodes) + number.ravel()
    return _cut(graph, places[:, 0].astype(np.int64), places[:, 1]), nodes


def _places(
    graph: Graph, edges: np.ndarray, distances: np.ndarray, scale: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertex at or after which each place lies, and its share, below 1, of the way to the next vertex."""
    steps = np.hypot(*(np.diff(graph.points, axis=0) * scale).T)
    along = np.concatenate([[0], np.cumsum(np.where(np.diff(graph.owner) == 0, steps, 0))])
    first, last = graph.offsets[edges], graph.offsets[edges + 1] - 1
    goal = along[first] + distances
    vertex = np.clip(np.searchsorted(along, goal, side="right") - 1, first, last - 1)
    length = along[vertex + 1] - along[vertex]
    share = np.divide(goal - along[vertex], length, out=np.zeros(len(goal)), where=length > 0)
    to_next = (1 - share) * length < _SAME_PLACE
    return np.where(to_next, vertex + 1, vertex), np.where(to_next | (share * length < _SAME_PLACE), 0, share)


def _cut(graph: Graph, vertex: np.ndarray, share: np.ndarray) -> Graph:
    """Return the graph with new nodes at distinct places, in order, none at an edge's end; see `_places`."""
    behind = graph.points[np.minimum(vertex + 1, len(graph.points) - 1)]
    place = graph.points[vertex] + share[:, None] * (behind - graph.points[vertex])
    is_kept = np.ones(len(graph.points), dtype=bool)
    is_kept[vertex[share == 0]] = False  # the new node stands in its place
    is_kept = np.insert(is_kept, np.repeat(vertex + 1, 2), True)
    points = np.insert(graph.points, np.repeat(vertex + 1, 2), np.repeat(place, 2, axis=0), axis=0)
    ends = graph.offsets + 2 * np.searchsorted(vertex, graph.offsets)
    cuts = vertex + 2 + 2 * np.arange(len(vertex))
    offsets = np.sort(np.concatenate([ends, cuts]))
    counts = 1 + np.bincount(graph.owner[vertex], minlength=len(graph.edges))
    parent = np.repeat(np.arange(len(graph.edges)), counts)
    is_first = np.concatenate([[True], np.diff(parent) > 0])[: len(parent)]
    edges = graph.edges[parent]
    edges[~is_first, 0] = len(graph.nodes) + np.arange(len(vertex))
    edges[np.append(~is_first[1:], False)[: len(parent)], 1] = len(graph.nodes) + np.arange(len(vertex))
    return Graph(
        np.concatenate([graph.nodes, place]),
        edges,
        points[is_kept],
        np.concatenate([[0], np.cumsum(is_kept)])[offsets],
        graph.origin_of(parent),
    )
