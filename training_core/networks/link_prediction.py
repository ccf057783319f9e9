"""Link prediction: dead ends joined with dead ends and roads along the likeliest path, where a road is likely.

Scope: candidates, their features, and the choice among them. Independent of how a path is found, and of rasters and
files. The probability of a link is a logistic regression; `scripts/networks/fit.py` prints its coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import geopandas
import numpy as np
import shapely
from scipy.spatial import KDTree
from scipy.special import expit

from ..geodata.parallel_arrays import first_of_each, selected
from .cleaning import TIE_DIGITS
from .gaps import WAY_AROUND, DeadEnds, angles, dead_ends, first_met, greedy_matching
from .graph import Graph
from .graph_edits import link, split_edges
from .road_graph import path_costs
from .surroundings import Paths, Surroundings, straight_paths

# No road turns by more than this, in degrees, to begin a link.
_WIDEST_TURN = 100.0
# Candidates of a dead end are its nearest roads. It has none if more dead ends than this, with itself, are around it.
_MAX_ROADS, _MAX_ENDS = 6, 8
# A link that ends this near to a dead end is one to it.
_AT_END_M = 0.5
_SOURCES = 64  # of shortest paths at a time

# The worst evidence is the least mean of this number of consecutive vertices.
_WINDOW = 3
# Samples of the evidence beside a link: their number on each side, and their distance from it.
_SAMPLES, _BESIDE_M = 16, 5.0
# Coefficients of the features; see `link_features`.
COEFFICIENTS = {
    "constant": -0.670,
    "length": 0.040,
    "log_length": -0.993,
    "turn": -1.323,
    "turn_squared": 0.491,
    "bend": -1.729,
    "mean_evidence": 0.774,
    "worst_evidence": 0.356,
    "beside": -0.908,
    "is_road": 0.387,
    "log_stub": 0.433,
}

JOINED = "joined"
UNLIKELY, OTHER, CONNECTED = "a road there is unlikely", "another link is likelier", "connected nearby"


@dataclass(frozen=True)
class Links:
    """Candidates for links of dead ends."""

    end: np.ndarray  # (k,) int64: number of the dead end where each begins
    other: np.ndarray  # (k,) int64: number of the dead end where it ends, or -1
    edge: np.ndarray  # (k,) int64: number of the road where it ends, or -1
    paths: Paths
    features: dict[str, np.ndarray]  # (k,) float64 by name: see `link_features`
    probability: np.ndarray  # (k,) float64: of a road along each; see `logistic`
    outcome: np.ndarray  # (k,) object: JOINED, or why it is not

    @staticmethod
    def none() -> Links:
        """Return no candidates."""
        nothing, nowhere = np.zeros(0, dtype=np.int64), np.zeros((0, 2))
        paths = straight_paths(nowhere, nowhere)
        return Links(nothing, nothing, nothing, paths, {}, np.zeros(0), np.zeros(0, dtype=object))

    def to_table(self) -> geopandas.GeoDataFrame:
        """Return the links as lines in meters with `outcome`, `probability` of a road and `length_m`."""
        lines = self.paths.shapes()
        columns = {"outcome": self.outcome, "probability": self.probability, "length_m": shapely.length(lines)}
        return geopandas.GeoDataFrame(columns, geometry=lines)


def join_likely(
    graph: Graph, reach_m: float, min_probability: float, surroundings: Surroundings
) -> tuple[Graph, Links]:
    """Return the graph with dead ends joined where a road is likely, and all links that were considered.

    Each dead end is joined once, the likeliest links first. A link ends where it first meets a road that is not a
    bridge. Its ends lie within `reach_m` and not at the edge of the data, and the probability of a road along it is at
    least `min_probability`, 0 to 1. A new edge has the origin of the road that it extends.
    """
    ends = dead_ends(graph, surroundings)
    if reach_m <= 0 or not len(ends.node):
        return graph, Links.none()
    # Where dead ends are as thick as in noise, likelihood means nothing. So the number of links is proportional to
    # that of dead ends.
    around = KDTree(ends.place).query_ball_point(ends.place, reach_m, return_length=True)
    ends = selected(ends, around <= _MAX_ENDS)
    if not len(ends.node):
        return graph, Links.none()
    links = _chosen(graph, ends, _candidates(graph, ends, reach_m, surroundings), min_probability)
    return _joined(graph, ends, links, surroundings), links


def _candidates(graph: Graph, ends: DeadEnds, reach_m: float, surroundings: Surroundings) -> Links:
    """Return the possible links: to dead ends, to the nearest points of roads around, and to the road ahead.

    Their outcome is still open.
    """
    is_bridge = surroundings.is_bridge(graph)
    pairs = KDTree(ends.place).query_pairs(reach_m, output_type="ndarray").astype(np.int64).reshape(-1, 2)
    pairs = pairs[ends.edge[pairs[:, 0]] != ends.edge[pairs[:, 1]]]
    ahead, met, meeting = first_met(graph, ends, reach_m, is_bridge)
    near, passed, nearest = _nearest_roads(graph, ends, reach_m, is_bridge)
    end = np.concatenate([pairs[:, 0], ahead, near])
    other = np.concatenate([pairs[:, 1], np.full(len(ahead) + len(near), -1)])
    edge = np.concatenate([np.full(len(pairs), -1), met, passed])
    goal = np.concatenate([ends.place[pairs[:, 1]], shapely.get_coordinates(meeting), nearest])
    # No road turns back into a link, and what ends at a dead end is a candidate already as a pair.
    chord = goal - ends.place[end]
    fits = (_turns(ends, end, other, chord) <= _WIDEST_TURN) & (np.hypot(*chord.T) > 0) & (ends.edge[end] != edge)
    fits &= (other >= 0) | (KDTree(ends.place).query(goal)[0] > _AT_END_M)
    end, other, edge = end[fits], other[fits], edge[fits]
    paths = surroundings.paths(ends.place[end], goal[fits])
    links = _cut_where_they_meet(graph, ends, replace(Links.none(), end=end, other=other, edge=edge, paths=paths))
    paths, is_pair = links.paths, links.other >= 0
    chord = paths.points[paths.offsets[1:] - 1] - paths.points[paths.offsets[:-1]]
    turn = _turns(ends, links.end, links.other, chord)
    # The shorter of the roads that end there.
    length_m = graph.lengths()
    stub_m, other_m = length_m[ends.edge[links.end]], length_m[ends.edge[links.other]]
    stub_m = np.where(is_pair, np.minimum(stub_m, other_m), stub_m)
    features = link_features(paths, turn, ~is_pair, stub_m, surroundings)
    return _without_duplicates(replace(links, features=features, probability=logistic(features, COEFFICIENTS)))


def _without_duplicates(links: Links) -> Links:
    """Return the likeliest of the links between the same places: some were cut where they meet the same road."""
    goal = np.round(links.paths.points[links.paths.offsets[1:] - 1], TIE_DIGITS)
    between = np.column_stack([links.end, links.other, links.edge, goal])
    kept = np.sort(first_of_each(np.unique(between, axis=0, return_inverse=True)[1], -links.probability))
    return replace(
        links,
        end=links.end[kept],
        other=links.other[kept],
        edge=links.edge[kept],
        paths=links.paths.select(kept),
        features={name: values[kept] for name, values in links.features.items()},
        probability=links.probability[kept],
    )


def _turns(ends: DeadEnds, end: np.ndarray, other: np.ndarray, chord: np.ndarray) -> np.ndarray:
    """Return the larger angle in degrees by which roads turn into links along chords: (k,) float64."""
    return np.maximum(angles(ends.ahead[end], chord), np.where(other >= 0, angles(ends.ahead[other], -chord), 0))


def _nearest_roads(
    graph: Graph, ends: DeadEnds, reach_m: float, is_bridge: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the roads around dead ends: the (k,) dead ends and edges and the (k, 2) nearest points."""
    edges = np.flatnonzero(~is_bridge)
    shapes, places = graph.shapes()[edges], shapely.points(ends.place)
    end, road = shapely.STRtree(shapes).query(places, predicate="dwithin", distance=reach_m)
    nearest = shapely.get_point(shapely.shortest_line(places[end], shapes[road]), 1)
    distance_m = shapely.distance(places[end], nearest)
    # The nearest roads of each dead end, without its own.
    order = np.lexsort((*shapely.get_coordinates(nearest).T, np.round(distance_m, TIE_DIGITS), end))
    order = order[ends.edge[end[order]] != edges[road[order]]]
    rank = np.arange(len(order)) - np.searchsorted(end[order], end[order])
    order = order[rank < _MAX_ROADS]
    return end[order], edges[road[order]], shapely.get_coordinates(nearest[order])


def _cut_where_they_meet(graph: Graph, ends: DeadEnds, links: Links) -> Links:
    """Return links that end where they first meet a road, other than those that they begin and end at."""
    lines, shapes = links.paths.shapes(), graph.shapes()
    # Pairs of links and edges that meet, without the edges at both ends of the link.
    link_, met = shapely.STRtree(shapes).query(lines, predicate="intersects")
    begin_edge, end_edge = ends.edge[links.end[link_]], np.where(links.other >= 0, ends.edge[links.other], -1)[link_]
    is_between = (met != begin_edge) & (met != end_edge)
    link_, met = link_[is_between], met[is_between]
    part, number = shapely.get_parts(shapely.intersection(lines[link_], shapes[met]), return_index=True)
    link_, met = link_[number], met[number]
    along_m = shapely.line_locate_point(lines[link_], shapely.get_point(shapely.shortest_line(lines[link_], part), 0))
    # Each link ends at the first of its meetings.
    first = first_of_each(link_, along_m)
    until_m, edge, other = shapely.length(lines), links.edge.copy(), links.other.copy()
    until_m[link_[first]], edge[link_[first]], other[link_[first]] = along_m[first], met[first], -1
    return replace(links, edge=edge, other=other, paths=links.paths.cut(until_m))


def _chosen(graph: Graph, ends: DeadEnds, links: Links, min_probability: float) -> Links:
    """Return the links with their outcomes."""
    outcome = np.full(len(links.paths), UNLIKELY, dtype=object)
    likely = np.flatnonzero(links.probability >= min_probability)
    outcome[likely] = OTHER
    near = likely[_is_connected_nearby(graph, ends, links, likely)]
    outcome[near] = CONNECTED
    likely = np.setdiff1d(likely, near)
    # Greedy matching, the likeliest first; among equals the upper left one.
    x, y = links.paths.points[links.paths.offsets[1:] - 1][likely].T
    likely = likely[np.lexsort((x, y, -np.round(links.probability[likely], TIE_DIGITS)))]
    outcome[likely[greedy_matching(np.column_stack([links.end[likely], links.other[likely]]))]] = JOINED
    return replace(links, outcome=outcome)


def _is_connected_nearby(graph: Graph, ends: DeadEnds, links: Links, chosen: np.ndarray) -> np.ndarray:
    """Return whether the network connects a link's ends by a path that is not much longer: (k,) bool."""
    lines, length_m = links.paths.shapes()[chosen], graph.lengths()
    begin, end = ends.edge[links.end[chosen]], links.edge[chosen]
    end = np.where(end < 0, ends.edge[links.other[chosen]], end)
    begin_m = np.where(graph.edges[begin, 0] == ends.node[links.end[chosen]], 0, length_m[begin])
    end_m = shapely.line_locate_point(graph.shapes()[end], shapely.get_point(lines, -1))
    costs = path_costs(graph, length_m, np.append(begin, end), np.append(begin_m, end_m))
    # Shortest paths from a few starts at a time, no farther than the longest limit among them.
    limit_m, around_m = WAY_AROUND * shapely.length(lines), np.full(len(chosen), np.inf)
    for sources in np.split(np.arange(len(chosen)), range(_SOURCES, len(chosen), _SOURCES)):
        if sources.size:
            to_nodes = costs.to_nodes(sources, float(limit_m[sources].max()))
            goals = len(chosen) + sources
            to_goals = np.take_along_axis(to_nodes, costs.ends[goals], axis=1) + costs.away[goals]
            around_m[sources] = to_goals.min(axis=1)
    return around_m < limit_m


def _joined(graph: Graph, ends: DeadEnds, links: Links, surroundings: Surroundings) -> Graph:
    """Return the graph with the links that were chosen."""
    # Links to roads end at new nodes of these, others at the node of the other dead end.
    chosen = np.flatnonzero(links.outcome == JOINED)
    paths = links.paths.select(chosen)
    is_road = links.other[chosen] < 0
    place = shapely.points(paths.points[paths.offsets[1:] - 1])
    edge = links.edge[chosen][is_road]
    along_m = shapely.line_locate_point(graph.shapes()[edge], place[is_road])
    origin = graph.origin_of(ends.edge[links.end[chosen]])
    split, nodes = split_edges(graph, edge, along_m)
    last = ends.node[links.other[chosen]]
    last[is_road] = nodes
    pairs = np.column_stack([ends.node[links.end[chosen]], last])
    return link(split, pairs, origin, surroundings.is_bridge(split), paths)


def logistic(features: dict[str, np.ndarray], coefficients: dict[str, float]) -> np.ndarray:
    """Return the probability of a road by a logistic regression of its features, (k,) each: (k,) float64."""
    return expit(sum(coefficients[name] * features[name] for name in coefficients))


def link_features(
    paths: Paths, turn: np.ndarray, is_road: np.ndarray, stub_m: np.ndarray, surroundings: Surroundings
) -> dict[str, np.ndarray]:
    """Return the features of each link, (k,) float64, by name: lengths in tens of meters or logarithms, radians.

    Roads at a link's ends turn into it by `turn` degrees, the larger angle. It ends on a road, not at a dead end, if
    `is_road`, (k,) bool. The shorter road that ends there is `stub_m` long.
    """
    lines = paths.shapes()
    length_m = shapely.length(lines)
    first, last = paths.points[paths.offsets[:-1]], paths.points[paths.offsets[1:] - 1]
    chord_m = np.hypot(*(last - first).T)
    mean, worst = _mean_and_worst(paths)
    radians = np.radians(turn)
    return {
        "constant": np.ones(len(paths)),
        "length": length_m / 10,
        "log_length": np.log(np.maximum(length_m, 1)),
        "turn": radians,
        "turn_squared": radians**2,
        "bend": length_m / np.maximum(chord_m, 1e-9) - 1,
        "mean_evidence": mean,
        "worst_evidence": worst,
        "beside": _evidence_beside(lines, surroundings),
        "is_road": is_road.astype(np.float64),
        "log_stub": np.log(np.clip(stub_m, 2, 200)),
    }


def _evidence_beside(lines: np.ndarray, surroundings: Surroundings) -> np.ndarray:
    """Return the mean evidence next to each of (k,) lines, which is low where a road stands out: (k,) float64."""
    # Each line is cut into equal chords; samples lie beside the middle of each, on both sides.
    along = shapely.length(lines)[:, None] * np.linspace(0, 1, _SAMPLES + 1)
    cuts = shapely.get_coordinates(shapely.line_interpolate_point(lines[:, None], along)).reshape(*along.shape, 2)
    chord, middle = np.diff(cuts, axis=1), (cuts[:, 1:] + cuts[:, :-1]) / 2
    chord_m = np.maximum(np.hypot(chord[..., 0], chord[..., 1]), 1e-9)[..., None]
    aside = _BESIDE_M * np.stack([-chord[..., 1], chord[..., 0]], axis=-1) / chord_m
    places = np.stack([middle + aside, middle - aside], axis=1)
    evidence = surroundings.evidence(surroundings.probability(places.reshape(-1, 2)))
    return evidence.reshape(len(lines), 2 * _SAMPLES).mean(axis=1)


def _mean_and_worst(paths: Paths) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean evidence of each path, and the least mean of consecutive vertices: (k,) float64 each."""
    total = np.concatenate([[0], np.cumsum(paths.evidence)])
    begin, end = paths.offsets[:-1], paths.offsets[1:]
    mean = (total[end] - total[begin]) / (end - begin)
    # The mean from each vertex on, by the running sum, where the path has enough vertices after it.
    window = np.full(len(paths.evidence), np.inf)
    inner = np.flatnonzero(np.arange(len(paths.evidence)) + _WINDOW <= end[paths.owner])
    window[inner] = (total[inner + _WINDOW] - total[inner]) / _WINDOW
    worst = np.minimum.reduceat(window, begin) if len(paths) else mean
    return mean, np.where(np.isfinite(worst), worst, mean)
