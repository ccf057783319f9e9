"""A skeleton traced into a multigraph: junctions and ends become nodes, runs of pixels become edges.

Scope: skeleton pixels and graphs. Independent of how the skeleton was made.
"""

from __future__ import annotations

import numpy as np

from ..networks.chains import join_chains
from ..networks.graph import Graph, contract


def trace(skeleton: np.ndarray) -> Graph:
    """Return the graph of a skeleton, (height, width), bool; see `trace_pixels`."""
    return trace_pixels(np.argwhere(skeleton)[:, ::-1])


def trace_pixels(pixels: np.ndarray) -> Graph:
    """Return the graph of a skeleton, with its components and its holes as components and cycles.

    Pixels are linked to their neighbors, and chains of links joined at pixels that have just two. Junction pixels side
    by side become one node at their mean, unless they surround a hole. A ring without a junction becomes an edge from
    a node to itself, and a lone pixel a node without edges.

    Parameters
    ----------
    pixels : ndarray (n, 2), int64
        Column and row of each pixel, in any order; they form lines one pixel wide. Of other pixels the topology is
        right, too, but not the shape.
    """
    stride = pixels[:, 0].max(initial=0) + 1
    pixels = pixels[np.argsort(pixels[:, 1] * stride + pixels[:, 0], kind="stable")]
    nodes, links = pixels.astype(np.float64), _pixel_links(pixels)
    offsets = np.arange(0, 2 * len(links) + 1, 2)
    graph = join_chains(Graph(nodes, links, nodes[links.ravel()], offsets))
    is_junction = graph.degree > 2
    return contract(graph, is_junction[graph.edges].all(axis=1) & (graph.sizes == 2))


def _pixel_links(pixels: np.ndarray) -> np.ndarray:
    """Return the links between pixels, as a graph with the components and holes that they have as a mask.

    The mask with 8-connectivity is a complex of pixels, links, and faces where pixels touch all around. A diagonal
    link beside an orthogonal way collapses with the triangle between them. A block of 2 x 2 pixels is a face with four
    links, which collapses together with its upper one: from the top down, since a block's lower link may be the upper
    one of the next.

    Parameters
    ----------
    pixels : ndarray (n, 2), int64
        Column and row, row by row and from left to right.

    Returns
    -------
    ndarray (m, 2), int64
        Pairs of positions in `pixels`.
    """
    stride = pixels[:, 0].max(initial=0) + 2  # one column more than there are, so that no row's end meets the next row
    at = pixels[:, 1] * stride + pixels[:, 0]
    padded, here = np.append(at, -1), np.arange(len(at))  # what stands after all pixels is no one's neighbor
    lower_left = np.searchsorted(at, at + stride - 1)
    below = lower_left + (padded[lower_left] == at + stride - 1)
    lower_right = below + (padded[below] == at + stride)
    has_right = padded[here + 1] == at + 1
    has_left = np.append(False, has_right[:-1])[: len(at)]
    has_lower_left, has_below = below > lower_left, lower_right > below
    has_lower_right = padded[lower_right] == at + stride + 1
    links = (
        (has_right & ~(has_below & has_lower_right), here + 1),
        (has_below, below),
        (has_lower_right & ~has_right & ~has_below, lower_right),
        (has_lower_left & ~has_left & ~has_below, lower_left),
    )
    return np.concatenate([np.column_stack([here[linked], to[linked]]) for linked, to in links])
