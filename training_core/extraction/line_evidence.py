"""Evidence along lines: probability of road on and next to them, width and dead ends.

Scope: vertices of lines. Independent of decisions based on it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..networks.graph import Graph, select_edges
from ..networks.road_model import Seen
from ..networks.surroundings import Surroundings
from .centering import tangents

# Distance from a road's sides at which the ground beside it is sampled: beyond its blurred edge.
_BESIDE_M = 3.0


def seen_along(graph: Graph, surroundings: Surroundings) -> Seen:
    """Return the evidence at each vertex of lines."""
    tangent, width_m = tangents(graph), surroundings.width_m(graph.points)
    away_m = np.where(np.isfinite(width_m), width_m, 0) / 2 + _BESIDE_M
    aside = away_m[:, None] * np.column_stack([-tangent[:, 1], tangent[:, 0]])
    places = np.concatenate([graph.points, graph.points + aside, graph.points - aside])  # in one pass over the raster
    probability, left, right = surroundings.probability(places).reshape(3, -1)
    evidence = surroundings.evidence(probability)
    beside = (surroundings.evidence(left) + surroundings.evidence(right)) / 2
    return Seen(probability, evidence, beside, width_m, _dead_ends(graph, surroundings))


def seen_along_some(graph: Graph, chosen: np.ndarray, surroundings: Surroundings) -> tuple[Graph, Seen]:
    """Return some edges, (k,) int64 in order, as a graph, and the evidence along them.

    Dead ends are those of the whole graph.
    """
    kept = np.zeros(len(graph.edges), dtype=bool)
    kept[chosen] = True
    part = select_edges(graph, kept)
    is_dead_end = _dead_ends(graph, surroundings)[np.repeat(kept, graph.sizes)]
    return part, replace(seen_along(part, surroundings), is_dead_end=is_dead_end)


def _dead_ends(graph: Graph, surroundings: Surroundings) -> np.ndarray:
    """Return which vertices are dead ends, but for those at the edge of the data: (p,) bool."""
    is_end = (graph.degree == 1) & ~surroundings.is_data_edge(graph.nodes)
    found = np.zeros(len(graph.points), dtype=bool)
    found[graph.offsets[:-1]] = is_end[graph.edges[:, 0]]
    found[graph.offsets[1:] - 1] |= is_end[graph.edges[:, 1]]
    return found
