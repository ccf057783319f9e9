"""Likely breaks: places where a network may be broken, ranked by the shortest paths that would change if it were not.

Scope: gaps that were not joined, dead ends that were removed, and separate components. Independent of rasters and
files.
"""

from __future__ import annotations

import geopandas
import numpy as np
import shapely
from scipy.spatial import KDTree

from ..geodata.parallel_arrays import first_of_each
from .cleaning import TIE_DIGITS, Removed, component_lengths
from .graph import Graph
from .link_prediction import COEFFICIENTS, UNLIKELY, Links, link_features, logistic
from .path_shares import LINES, PLACES, SOURCES, paths_through, places_evenly
from .road_graph import path_costs
from .surroundings import Surroundings

# The field of the kind of a break in their layer, and its words.
KIND = "kind"
GAP, DEAD_END, APART = KINDS = "gap not joined", "dead end removed", "component apart"

# Distances at which other components are searched, and of how many components, the longest.
_REACHES_M, _MAX_APART = (50.0, 200.0), 1000
# Breaks closer together than this are one place to check.
_SAME_PLACE_M = 15.0


def likely_breaks(graph: Graph, links: Links, removed: Removed, surroundings: Surroundings) -> geopandas.GeoDataFrame:
    """Return where a network may be broken, each place once, those first where most shortest paths would change.

    The middle of each missing line is a point in meters, with the columns `rank` from 1; `kind`, one of KINDS;
    `paths_share`, the fraction of the shortest paths that a road there would change; `probability` of a road there, NaN
    where it is unknown; and `length_m` of the missing line. A component is apart if no gap between it and another one
    was considered. The graph comes from `join_likely`, in meters, and still has the dead ends and short components that
    are removed later.
    """
    is_gap = links.outcome == UNLIKELY
    gaps, gap_probability = links.paths.shapes()[is_gap], links.probability[is_gap]
    if not len(graph.edges):
        return _ranked(np.full(len(gaps), GAP), gaps, np.zeros(len(gaps)), gap_probability)
    apart, apart_probability = _paths_between_components(graph, gaps, surroundings)
    shares = _path_shares(graph, np.concatenate([gaps, apart]))
    length_m = component_lengths(graph)
    # A removed dead end connects its own length, like a place on it, with all others of its component.
    removed_component = graph.edge_component[graph.tree.nearest(shapely.get_point(removed.shapes, 0))]
    stub_share = 2 * shapely.length(removed.shapes) * length_m[removed_component] / length_m.sum() ** 2
    return _ranked(
        np.repeat((GAP, APART, DEAD_END), (len(gaps), len(apart), len(removed.shapes))),
        np.concatenate([gaps, apart, removed.shapes]),
        np.concatenate([shares, stub_share]),
        np.concatenate([gap_probability, apart_probability, removed.probability]),
    )


def _ranked(
    kind: np.ndarray, missing: np.ndarray, paths_share: np.ndarray, probability: np.ndarray
) -> geopandas.GeoDataFrame:
    """Return the breaks along missing lines by importance, without others at the same place; see `likely_breaks`.

    Among equals the likelier come first. Probability counts no further: a model is most certain where it sees nothing.
    """
    middles = shapely.line_interpolate_point(missing, 0.5, normalized=True)
    points = shapely.get_coordinates(middles)
    unlikely = np.where(np.isnan(probability), 0, 1 - probability)
    order = np.lexsort((*points.T, *np.round((unlikely, -paths_share), 2 * TIE_DIGITS)))
    order = order[paths_share[order] > 0]
    # Each place keeps its first break, and those after it nearby go.
    is_taken = np.zeros(len(order), dtype=bool)
    for number, around in enumerate(KDTree(points[order]).query_ball_point(points[order], _SAME_PLACE_M)):
        if not is_taken[number]:
            is_taken[[other for other in around if other > number]] = True
    chosen = order[~is_taken]
    columns = {
        "rank": np.arange(1, len(chosen) + 1),
        KIND: kind[chosen].astype(object),
        "paths_share": paths_share[chosen],
        "probability": probability[chosen],
        "length_m": shapely.length(missing[chosen]),
    }
    return geopandas.GeoDataFrame(columns, geometry=middles[chosen])


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
    features = link_features(paths, no_turn, at_road, length_m[component], surroundings)
    return paths.shapes(), logistic(features, COEFFICIENTS)


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
    places = places_evenly(length_m, PLACES)
    costs = path_costs(
        graph,
        length_m,
        np.concatenate([places.edge, *edges[:, within]]),
        np.concatenate([places.along_m, *along_m[:, within]]),
    )
    parts = np.split(np.arange(PLACES), range(SOURCES, PLACES, SOURCES))
    to_all = np.concatenate([costs.between(sources, costs.to_nodes(sources)) for sources in parts])
    shares[within] = _changed(to_all, shapely.length(lines[within]))
    return shares


def _changed(costs: np.ndarray, length_m: np.ndarray) -> np.ndarray:
    """Return the fraction of the paths between places that would be shorter through a gap of `length_m`: (k,) float64.

    The (places, places + 2 k) float64 `costs` lead from each place to all places and then to both ends of each gap.
    """
    to_first, to_last = np.split(costs[:, PLACES:].T, 2)
    fraction = np.zeros(len(length_m))
    for part in np.split(np.arange(len(length_m)), range(LINES, len(length_m), LINES)):
        through = paths_through(to_first[part], to_last[part], length_m[part])
        fraction[part] = (through < costs[:, :PLACES] - _SAME_PLACE_M).sum((1, 2)) / (PLACES * (PLACES - 1))
    return fraction
