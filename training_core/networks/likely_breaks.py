"""Likely breaks: places where a network may be broken, ranked by the shortest paths that would change if it were not.

Scope: gaps that were not joined, dead ends that were removed, and separate components. Independent of rasters and
files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from scipy.spatial import KDTree

from ..geodata.parallel_arrays import concatenated, first_of_each, selected
from .cleaning import TIE_DIGITS, Removed, component_lengths
from .graph import Graph
from .link_prediction import UNLIKELY, Links, link_features, link_probability
from .road_graph import path_costs
from .surroundings import Surroundings

# The field of the kind of a break in their layer, and its words.
KIND = "kind"
GAP, DEAD_END, APART = KINDS = "gap not joined", "dead end removed", "component apart"

# Number of places between which shortest paths run, evenly along all roads; sources and gaps at a time bound memory.
_PLACES, _SOURCES, _GAPS = 128, 16, 64
# Distances at which other components are searched, and of how many components, the longest.
_REACHES_M, _MAX_APART = (50.0, 200.0), 1000
# Breaks closer together than this are one place to check.
_SAME_PLACE_M = 15.0


@dataclass(frozen=True)
class Breaks:
    """Places where a network may be broken, those first where most shortest paths would change."""

    points: np.ndarray  # (k, 2) float64: the middle of the missing line in meters
    kind: np.ndarray  # (k,) str: GAP, DEAD_END or APART
    probability: np.ndarray  # (k,) float64: of a road there; NaN where it is unknown
    paths_share: np.ndarray  # (k,) float64: fraction of the shortest paths that a road there would change
    length_m: np.ndarray  # (k,) float64: of the missing line


def likely_breaks(graph: Graph, links: Links, removed: Removed, surroundings: Surroundings) -> Breaks:
    """Return where a network may be broken, each place once.

    A component is apart if no gap between it and another one was considered. The graph comes from `join_likely`, in
    meters, and still has the dead ends and short components that are removed later.
    """
    if not len(graph.edges):
        return _breaks(GAP, removed.shapes[:0], np.zeros(0), np.zeros(0))
    refused = links.paths.select(links.outcome == UNLIKELY)
    gaps = refused.shapes()
    apart, apart_probability = _paths_between_components(graph, gaps, surroundings)
    shares = _path_shares(graph, np.concatenate([gaps, apart]))
    length_m = component_lengths(graph)
    # A removed dead end connects its own length, like a place on it, with all others of its component.
    removed_component = graph.edge_component[graph.tree.nearest(shapely.get_point(removed.shapes, 0))]
    stub_share = 2 * shapely.length(removed.shapes) * length_m[removed_component] / length_m.sum() ** 2
    breaks = concatenated(
        _breaks(GAP, gaps, links.probability[links.outcome == UNLIKELY], shares[: len(gaps)]),
        _breaks(APART, apart, apart_probability, shares[len(gaps) :]),
        _breaks(DEAD_END, removed.shapes, removed.probability, stub_share),
    )
    return _one_for_each_place(breaks)


def _breaks(kind: str, lines: np.ndarray, probability: np.ndarray, paths_share: np.ndarray) -> Breaks:
    """Return breaks of one kind, in the middle of lines, (k,) object."""
    middles = shapely.get_coordinates(shapely.line_interpolate_point(lines, 0.5, normalized=True))
    kinds = np.full(len(lines), kind, dtype="U24")
    return Breaks(middles.reshape(-1, 2), kinds, probability, paths_share, shapely.length(lines))


def _paths_between_components(
    graph: Graph, gaps: np.ndarray, surroundings: Surroundings
) -> tuple[np.ndarray, np.ndarray]:
    """Return the likeliest path from each component to the nearest other one, and its probability.

    The longest component has none. Nor have those at the (k,) object gaps.
    """
    components, length_m = graph.edge_component, component_lengths(graph)
    # Gaps between two components are breaks already.
    has_gap = np.zeros(len(length_m), dtype=bool)
    between = components[np.stack([graph.tree.nearest(shapely.get_point(gaps, end)) for end in (0, -1)])]
    has_gap[between[:, between[0] != between[1]]] = True
    has_gap[length_m.argmax()] = True
    apart = np.flatnonzero(~has_gap)
    longest = apart[np.argsort(-length_m[apart], kind="stable")[:_MAX_APART]]
    lines = _to_nearest_others(graph, longest)
    ends = shapely.get_coordinates(lines).reshape(-1, 2, 2)
    paths = surroundings.paths(ends[:, 0], ends[:, 1])
    at_road, no_turn = np.ones(len(paths), dtype=bool), np.zeros(len(paths))
    component = components[graph.tree.nearest(shapely.points(ends[:, 0]))]
    return paths.shapes(), link_probability(link_features(paths, no_turn, at_road, length_m[component], surroundings))


def _to_nearest_others(graph: Graph, apart: np.ndarray) -> np.ndarray:
    """Return the shortest lines from (k,) int64 components to another one except from remote ones: object."""
    components, shapes = graph.edge_component, graph.shapes()
    lines = []
    # Near first: a wide search for all components would find too many pairs.
    for reach_m in _REACHES_M:
        edges = np.flatnonzero(np.isin(components, apart))
        one, other = graph.tree.query(shapes[edges], predicate="dwithin", distance=reach_m)
        one = edges[one]
        is_between = components[one] != components[other]
        one, other = one[is_between], other[is_between]
        nearest = first_of_each(components[one], np.round(shapely.distance(shapes[one], shapes[other]), TIE_DIGITS))
        lines.append(shapely.shortest_line(shapes[one[nearest]], shapes[other[nearest]]))
        apart = np.setdiff1d(apart, components[one])
    return np.concatenate(lines)


def _path_shares(graph: Graph, lines: np.ndarray) -> np.ndarray:
    """Return the fraction of the shortest paths that each of the (k,) object lines alone would change: (k,) float64.

    Between two components it counts the pairs of places that the line would connect. Within one it is estimated from
    the paths between places evenly along all roads.
    """
    length_m, component_m = graph.lengths(), component_lengths(graph)
    total_m = length_m.sum()
    ends = [shapely.get_point(lines, end) for end in (0, -1)]
    edges = np.stack([graph.tree.nearest(places) for places in ends])
    along_m = shapely.line_locate_point(graph.shapes()[edges], np.stack(ends))
    first, last = graph.edge_component[edges]
    shares = 2 * component_m[first] * component_m[last] / total_m**2
    within = np.flatnonzero(first == last)
    if not within.size:
        return shares
    # Places evenly along all roads, then both ends of the lines.
    at_m = (np.arange(_PLACES) + 0.5) / _PLACES * total_m
    until_m = np.cumsum(length_m)
    edge = np.minimum(np.searchsorted(until_m, at_m), len(length_m) - 1)
    place_edge = np.concatenate([edge, *edges[:, within]])
    costs = path_costs(
        graph, length_m, place_edge, np.concatenate([at_m - until_m[edge] + length_m[edge], *along_m[:, within]])
    )
    parts = np.split(np.arange(_PLACES), range(_SOURCES, _PLACES, _SOURCES))
    to_all = np.concatenate([costs.between(sources, costs.to_nodes(sources)) for sources in parts])
    shares[within] = _changed(to_all, shapely.length(lines[within]))
    return shares


def _changed(costs: np.ndarray, length_m: np.ndarray) -> np.ndarray:
    """Return the fraction of the paths between places that would be shorter through a gap of `length_m`: (k,) float64.

    The (places, places + 2 k) float64 `costs` lead from each place to all places and then to both ends of each gap.
    """
    # For all pairs of places: the path to one end of a gap, through it, and on from its other end, in the better of
    # both directions, against the path without the gap.
    to_first, to_last = np.split(costs[:, _PLACES:].T, 2)
    fraction = np.zeros(len(length_m))
    for part in np.split(np.arange(len(length_m)), range(_GAPS, len(length_m), _GAPS)):
        through = to_first[part, :, None] + to_last[part, None] + length_m[part, None, None]
        through = np.minimum(through, through.transpose(0, 2, 1))
        fraction[part] = (through < costs[:, :_PLACES] - _SAME_PLACE_M).sum((1, 2)) / (_PLACES * (_PLACES - 1))
    return fraction


def _one_for_each_place(breaks: Breaks) -> Breaks:
    """Return the breaks where most paths would change first, without others at the same place.

    Among equals the likelier come first. Probability counts no further: a model is most certain where it sees nothing.
    """
    unlikely = np.where(np.isnan(breaks.probability), 0, 1 - breaks.probability)
    # By importance; then each place keeps its first break, and those after it nearby go.
    order = np.lexsort((*breaks.points.T, *np.round((unlikely, -breaks.paths_share), 2 * TIE_DIGITS)))
    order = order[breaks.paths_share[order] > 0]
    breaks = selected(breaks, order)
    is_taken = np.zeros(len(order), dtype=bool)
    for number, around in enumerate(KDTree(breaks.points).query_ball_point(breaks.points, _SAME_PLACE_M)):
        if not is_taken[number]:
            is_taken[[other for other in around if other > number]] = True
    return selected(breaks, ~is_taken)
