"""Cleaning of a road graph: spurs pruned, short components dropped, lines simplified.

Scope: functions from a graph in meters to a cleaner one. Independent of rasters, maps and files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas
import shapely

from ..geodata.parallel_arrays import concatenated, first_of_each, offsets_of, ranges
from .graph import Graph, join_chains, select_edges
from .surroundings import Surroundings

# Lengths in meters that agree to this number of digits are equal except for rounding.
TIE_DIGITS = 6
# Without the least likely dead end of a junction the next may be unlikely; but this must not go on along a road.
UNLIKELY_ROUNDS = 2


@dataclass(frozen=True)
class Removed:
    """Dead ends that were removed: (k,) object LineStrings in meters and their (k,) float64 road probability."""

    shapes: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=object))
    probability: np.ndarray = field(default_factory=lambda: np.zeros(0))


def prune_spurs(
    graph: Graph, spur_m: float, surroundings: Surroundings, join: Callable[[Graph], Graph] = join_chains
) -> Graph:
    """Return the graph without spurs, the short dead ends that leave a junction.

    A spur is shorter than `spur_m` meters or than the road is wide at the junction. Thinning turns each bump of a
    roadside and each corner of a road's end into one. Each round prunes the shortest spur of each junction and then
    lets `join` join edges at nodes of degree 2. So one of the two spurs at a road's end remains as its continuation and
    no component is lost. Dead ends at the edge of the data stay. For rules other than length see Bai, Latecki and Liu,
    "Skeleton pruning by contour partitioning with discrete curve evolution", IEEE Transactions on Pattern Analysis and
    Machine Intelligence 29 (2007).
    """
    while True:
        spurs = _shortest_spurs(graph, spur_m, surroundings)
        if not spurs.size:
            return graph
        kept = np.ones(len(graph.edges), dtype=bool)
        kept[spurs] = False
        graph = join(select_edges(graph, kept))


def _shortest_spurs(graph: Graph, spur_m: float, surroundings: Surroundings) -> np.ndarray:
    """Return the shortest spur of each junction that has one: (k,) int64."""
    # Dead ends that leave a junction, as they are shorter than the limit or than the road is wide there.
    degrees = graph.degree[graph.edges]
    dead = np.flatnonzero((degrees.min(axis=1) == 1) & (degrees.max(axis=1) > 2))
    end, junction = _ends_and_junctions(graph, dead)
    length_m = graph.lengths()[dead]
    is_spur = length_m < np.maximum(spur_m, surroundings.width_m(graph.nodes[junction]))
    is_spur &= ~surroundings.is_data_edge(graph.nodes[end])
    # Both corners of a straight end have spurs of one length: the upper left one goes, wherever the raster begins.
    x, y = graph.nodes[end[is_spur]].T
    return dead[is_spur][first_of_each(junction[is_spur], np.round(length_m[is_spur], TIE_DIGITS), y, x)]


def _ends_and_junctions(graph: Graph, dead: np.ndarray) -> np.ndarray:
    """Return the nodes of edges with a dead end, (k,) int64: that end and the other node: (2, k) int64."""
    nodes = graph.edges[dead]
    return np.where(graph.degree[nodes[:, :1]] == 1, nodes, nodes[:, ::-1]).T


def prune_unlikely(
    graph: Graph,
    max_length_m: float,
    least: float,
    probability_of: Callable[[Graph, np.ndarray], np.ndarray],
    surroundings: Surroundings,
) -> tuple[Graph, Removed]:
    """Return the graph without dead ends that are unlikely roads: of each junction the least likely one, in two rounds.

    No path between other roads is lost. Dead ends longer than `max_length_m`, at the edge of the data, or with a
    probability of `least` or more stay. `probability_of` leads from a graph and (k,) int64 sorted numbers of its
    edges to their (k,) float64 road probability; NaN is unknown.
    """
    removed = Removed()
    for _ in range(UNLIKELY_ROUNDS):
        # Candidates: short edges with an end of degree 1, none of which the edge of the data cuts off.
        is_end, is_cut_off = graph.degree == 1, surroundings.is_data_edge(graph.nodes)
        is_dead_end = (is_end & ~is_cut_off)[graph.edges]
        short = is_dead_end.any(axis=1) & (graph.lengths() < max_length_m)
        dead = np.flatnonzero(short & ~(is_end & is_cut_off)[graph.edges].any(axis=1))
        probability = probability_of(graph, dead)
        dead, probability = dead[probability < least], probability[probability < least]
        if not dead.size:
            break
        # The least likely one of each junction, and the upper left one among equals.
        end, junction = _ends_and_junctions(graph, dead)
        x, y = graph.nodes[end].T
        chosen = first_of_each(junction, np.round(probability, TIE_DIGITS), y, x)
        kept = np.ones(len(graph.edges), dtype=bool)
        kept[dead[chosen]] = False
        removed = concatenated(removed, Removed(graph.shapes()[dead[chosen]], probability[chosen]))
        graph = join_chains(select_edges(graph, kept))
    return graph, removed


def drop_short_components(graph: Graph, min_length_m: float) -> Graph:
    """Return the graph without connected components with a total length below `min_length_m`."""
    return select_edges(graph, (component_lengths(graph) >= min_length_m)[graph.edge_component])


def component_lengths(graph: Graph) -> np.ndarray:
    """Return the total length in meters of the edges of each connected component: (components,) float64."""
    count = graph.component.max(initial=-1) + 1
    return np.bincount(graph.edge_component, graph.lengths(), minlength=count)


def median_of_lines(graph: Graph, values: np.ndarray) -> np.ndarray:
    """Return the median of each line's (p,) float64 values without NaN: (m,) float64; NaN if infinite or unknown."""
    median = pandas.Series(values).groupby(graph.owner).median().to_numpy()
    return np.where(np.isfinite(median), median, np.nan)


def simplify(graph: Graph, tolerance_m: float) -> Graph:
    """Return the graph with the fewest vertices that keep every line within a tolerance in meters; nodes stay.

    The method is that of Douglas and Peucker, "Algorithms for the reduction of the number of points required to
    represent a digitized line or its caricature", Cartographica 10 (1973). A ring keeps at least three corners and each
    parallel edge one inner vertex, so that none collapses or coincides with another.
    """
    if not len(graph.edges):
        return graph
    # Lines are cut at the corners to keep, so that each piece is simplified between them.
    begins = np.union1d(graph.offsets[:-1], _corners(graph))
    goes_on = np.isin(begins[1:], graph.offsets, invert=True)  # the next piece begins where this one ends
    counts = np.diff(begins, append=len(graph.points)) + np.append(goes_on, False)
    pieces = shapely.linestrings(
        graph.points[ranges(begins, counts)], indices=np.repeat(np.arange(len(begins)), counts)
    )
    simple = shapely.simplify(pieces, tolerance_m, preserve_topology=False)
    # Joined again: the last vertex of a piece repeats the first of the next.
    points, piece = shapely.get_coordinates(simple, return_index=True)
    is_repeated = np.append(goes_on, False)[piece] & np.append(np.diff(piece) > 0, True)
    line = graph.owner[begins][piece[~is_repeated]]
    offsets = offsets_of(np.bincount(line, minlength=len(graph.edges)))
    return replace(graph, points=points[~is_repeated], offsets=offsets)


def _corners(graph: Graph) -> np.ndarray:
    """Return the vertices that rings and parallel edges must keep.

    They are the farthest from a ring's beginning, and then the farthest from the straight line between those kept so
    far.
    """
    _, pair, counts = np.unique(np.sort(graph.edges, axis=1), axis=0, return_inverse=True, return_counts=True)
    is_loop = graph.edges[:, 0] == graph.edges[:, 1]
    corners = []
    for edge in np.flatnonzero(is_loop | (counts[pair.ravel()] > 1)).tolist():
        # From a ring's beginning to its farthest vertex, or from end to end of a parallel edge; then the vertex that
        # is farthest from that straight line, by the cross product.
        begin = graph.offsets[edge]
        away = graph.line(edge) - graph.points[begin]
        far = np.hypot(*away.T).argmax() if is_loop[edge] else -1
        aside = np.abs(away[:, 0] * away[far, 1] - away[:, 1] * away[far, 0]).argmax()
        corners += [begin + aside, begin + far] if is_loop[edge] else [begin + aside]
    return np.array(corners, dtype=np.int64)
