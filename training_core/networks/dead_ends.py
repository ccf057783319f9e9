"""Dead ends of a graph: where they are, and where their roads point.

Scope: nodes of degree 1 and the directions of their edges. Independent of what becomes of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from .graph import Graph
from .surroundings import Surroundings

# A road's direction at its end is that of the last stretch of this length.
_STRAIGHT_M = 15.0


@dataclass(frozen=True)
class DeadEnds:
    """Dead ends: nodes (k,), edges (k,), places in meters (k, 2), and directions ahead as unit vectors (k, 2)."""

    node: np.ndarray
    edge: np.ndarray
    place: np.ndarray
    ahead: np.ndarray


def dead_ends(graph: Graph, surroundings: Surroundings) -> DeadEnds:
    """Return the dead ends of a graph, but for those at the edge of the data.

    Parameters
    ----------
    surroundings : Surroundings
        The edge of the data.
    """
    is_end = (graph.degree == 1) & ~surroundings.is_data_edge(graph.nodes)
    edge, side = np.nonzero(is_end[graph.edges])
    shapes = graph.shapes()[edge]
    length_m = shapely.length(shapes)
    begin_m = np.minimum(_STRAIGHT_M, length_m)
    begin = shapely.line_interpolate_point(shapes, np.where(side == 0, begin_m, length_m - begin_m))
    node = graph.edges[edge, side]
    way = graph.nodes[node] - shapely.get_coordinates(begin)
    ahead = way / np.maximum(np.hypot(*way.T), 1e-12)[:, None]
    return DeadEnds(node, edge, graph.nodes[node], ahead)


def angles(ahead: np.ndarray, way: np.ndarray) -> np.ndarray:
    """Return the angles in degrees between vectors, (k, 2) each: (k,), float64; 0 where one has no length."""
    cross = ahead[:, 0] * way[:, 1] - ahead[:, 1] * way[:, 0]
    return np.degrees(np.abs(np.arctan2(cross, (ahead * way).sum(axis=1))))
