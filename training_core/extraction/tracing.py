"""Tracing: a skeleton as a multigraph, whose lines are then smoothed and lose most of their vertices.

Scope: skeleton pixels, and graphs with a vertex a pixel. Independent of how the skeleton was made.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..networks.chains import join_chains
from ..networks.graph import Graph, contract, select_points

_LINE_SMOOTHING_PASSES = 4  # of vertices; `centering` smooths shifts
# A vertex is kept where its line enters every fourth column or row of pixels; a line with fewer vertices than three
# times that keeps all. Its direction is that of `_REACH` vertices to either side.
_SPACING, _SHORT_LINE, _REACH = 4, 3, 3


def trace(skeleton: np.ndarray) -> Graph:
    """Return the graph of a skeleton mask, (height, width) bool; see `trace_pixels`."""
    return trace_pixels(np.argwhere(skeleton)[:, ::-1])


def trace_pixels(pixels: np.ndarray) -> Graph:
    """Return the graph of a skeleton: its components and holes become components and cycles.

    Pixels are linked to their neighbors, and links joined to chains at pixels of degree 2. Adjacent junction pixels are
    contracted to one node at their mean unless they surround a hole. A ring without a junction becomes an edge from a
    node to itself, and an isolated pixel a node without edges.

    The (n, 2) int64 pixels are column and row in any order of lines one pixel wide. Of a thicker mask the topology is
    right too but not the shape.
    """
    # Every link between pixels is an edge first; chains of edges are joined, then junction pixels side by side.
    stride = pixels[:, 0].max(initial=0) + 1
    pixels = pixels[np.argsort(pixels[:, 1] * stride + pixels[:, 0], kind="stable")]
    nodes, links = pixels.astype(np.float64), _pixel_links(pixels)
    offsets = np.arange(0, 2 * len(links) + 1, 2)
    graph = join_chains(Graph(nodes, links, nodes[links.ravel()], offsets))
    is_junction = graph.degree > 2
    return contract(graph, is_junction[graph.edges].all(axis=1) & (graph.sizes == 2))


def smooth(graph: Graph) -> Graph:
    """Return the graph with pixel stairs smoothed; nodes stay.

    Each pass moves a vertex to the mean of itself, with weight 2, and its two neighbors. Together they are a Gaussian
    with a standard deviation of about 1.4 vertices. Without it a line at 22.5 degrees is measured 8 % too long.
    """
    points, ends = graph.points.copy(), np.flatnonzero(graph.is_end)
    for _ in range(_LINE_SMOOTHING_PASSES):
        middles = (points[1:] + points[:-1]) / 2
        points[1:-1] = (middles[1:] + middles[:-1]) / 2
        points[ends] = graph.points[ends]
    return replace(graph, points=points)


def thin_out(graph: Graph, pixels: np.ndarray) -> Graph:
    """Return the graph of smoothed lines with about every fourth of their vertices.

    A line that runs more along the columns keeps its vertices in every fourth column, another one those in every fourth
    row. So the choice depends on the place alone and not on where the line begins, and parts of an image extracted one
    by one have the same lines. A smoothed line with bends of a radius of 20 pixels or more is nowhere farther than 0.1
    pixels from its thinned-out one, and all later steps have a quarter of the work. Short lines keep all vertices.

    The (p, 2) int64 `pixels` are the column and row of each vertex before it was smoothed. Up to multiples of four they
    count from the same place for all parts of an image.
    """
    before, after = graph.neighbors(_REACH)
    along = np.abs(pixels[after] - pixels[before])
    is_flat = along[:, 0] >= along[:, 1]
    at = np.where(is_flat, pixels[:, 0], pixels[:, 1])
    is_short = graph.sizes < _SHORT_LINE * _SPACING
    return select_points(graph, (at % _SPACING == 0) | is_short[graph.owner])


def _pixel_links(pixels: np.ndarray) -> np.ndarray:
    """Return links between neighboring pixels that have the topology of the 8-connected mask: (m, 2) int64.

    Links between all neighbors would add cycles: three of them form a triangle, and a block of 2 x 2 pixels a square,
    around which the mask has no hole. In terms of cell complexes these faces are collapsed, each with one link. A
    triangle loses its diagonal link, so that diagonal links are left only where no orthogonal path is next to them. A
    square loses its upper link. Since a square's lower link may be the upper one of the next, squares collapse from the
    top down.

    The (n, 2) int64 pixels are column and row in order of rows and from left to right. Links are pairs of their
    positions.
    """
    stride = pixels[:, 0].max(initial=0) + 2  # with an empty column, so that a row's last pixel is not next to a first
    at = pixels[:, 1] * stride + pixels[:, 0]
    padded, here = np.append(at, -1), np.arange(len(at))  # -1, after the last pixel, is a neighbor of none
    # Pixels are sorted by position: the three below are next to each other, and the search for one finds all.
    lower_left = np.searchsorted(at, at + stride - 1)
    below = lower_left + (padded[lower_left] == at + stride - 1)
    lower_right = below + (padded[below] == at + stride)
    has_right = padded[here + 1] == at + 1
    has_left = np.append(False, has_right[:-1])[: len(at)]
    has_lower_left, has_below = below > lower_left, lower_right > below
    has_lower_right = padded[lower_right] == at + stride + 1
    # The links that remain after each face is collapsed.
    links = (
        (has_right & ~(has_below & has_lower_right), here + 1),
        (has_below, below),
        (has_lower_right & ~has_right & ~has_below, lower_right),
        (has_lower_left & ~has_left & ~has_below, lower_left),
    )
    return np.concatenate([np.column_stack([here[linked], to[linked]]) for linked, to in links])
