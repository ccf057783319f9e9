"""Cutting a graph to a box: parts of lines within it, with a node of degree 1 where a line crosses the border.

Scope: plane geometry and topology. Independent of roads, rasters and files.
"""

from __future__ import annotations

import numpy as np

from .graph import Graph, select_edges
from .graph_edits import split_edges

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
    edges, along, sides = _crossings(graph, box)
    split, nodes = split_edges(graph, edges, along)
    side = np.full(len(split.nodes), WITHIN, dtype=np.int8)
    side[nodes] = sides
    first = split.offsets[:-1]
    middle = (split.points[first] + split.points[first + 1]) / 2
    is_inside = ((middle >= box[:2]) & (middle < box[2:])).all(axis=1)
    is_used = np.zeros(len(split.nodes), dtype=bool)
    is_used[split.edges[is_inside]] = True
    return select_edges(split, is_inside), side[is_used]


def _crossings(graph: Graph, box: tuple[float, float, float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
