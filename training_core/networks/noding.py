"""Noding: lines as a planar multigraph, split where they meet and snapped where they end; bridges are not split.

Scope: lines in meters. Independent of layers, pixels and scores, and of where bridges are known from.

- Two lines are split where they cross, touch or begin to overlap.
- Ends of lines within a tolerance of each other become one node; an end within it of another line splits that line.
- A bridge is never split, and splits others only with its ends.
- Of edges between the same nodes that lie within the tolerance of each other, the first is kept. It is open in each
  direction in which one of them is: a road is often drawn as two one-way lines on each other.
- Loops no longer than twice the tolerance are dropped.

Lines can meet in as many places as they have pairs of segments. To bound time and memory by the size of the layer,
lines that meet far more often than those of a road network are refused.

A mask shows that two roads cross, not on which levels, so that traced lines meet there. What runs along a known bridge
is the road on it: `lay_bridges` replaces it by the bridge before noding. What runs across passes below.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import shapely
from scipy.spatial import cKDTree
from shapely.geometry import LineString
from shapely.ops import substring

from ..errors import LayerError
from ..geodata.parallel_arrays import concatenated, first_of_each, offsets_of, ranges
from ..geodata.shapes import TooManyCrossings, meeting_pairs
from .graph import EMPTY, Graph, connected, select_edges, select_points
from .lines import AGAINST, ALONG, BOTH, Lines

# Crossings closer together than this are one: rounding may separate the crossings of three lines in one place.
_SAME_M = 1e-3
# Lines that meet more often than this for each segment, and in total, are not a road network.
MAX_MEETINGS_PER_SEGMENT, MAX_MEETINGS = 20, 200_000


@dataclass(frozen=True)
class _Segments:
    """The straight segments of all lines, line after line."""

    points: np.ndarray  # (p, 2) float64: vertices of the lines
    line: np.ndarray  # (p,) int64: the line of each vertex
    measure_m: np.ndarray  # (p,) float64: distance of each vertex from the start of its line, along it
    first: np.ndarray  # (s,) int64: the vertex where each segment begins; it ends at the next
    shapes: np.ndarray  # (s,) object: the segments as LineStrings

    @property
    def ends(self) -> np.ndarray:
        """The first and the last vertex of each line, line after line: (2n,) int64."""
        is_first = np.append(True, np.diff(self.line) > 0)
        return np.sort(np.concatenate([np.flatnonzero(is_first), np.flatnonzero(np.append(is_first[1:], True))]))

    def measures(self, segment: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the measures of places on segments, (k, 2) float64, along their lines: (k,) float64."""
        begin = self.first[segment]
        along_m = np.hypot(*(places - self.points[begin]).T)
        return np.minimum(self.measure_m[begin] + along_m, self.measure_m[begin + 1])


@dataclass(frozen=True)
class _Cuts:
    """Places where lines are split: the line, the measure along it, the coordinates, and the number of the node."""

    line: np.ndarray
    measure_m: np.ndarray
    places: np.ndarray
    node: np.ndarray


def node_lines(lines: Lines, tolerance_m: float, name: str = "lines") -> tuple[Graph, np.ndarray]:
    """Return the multigraph of lines, in meters, and the direction of each edge: (m,) int64.

    The origin of an edge is the line that it is a part of, and as which it runs. Its direction is BOTH, or ALONG or
    AGAINST the edge. Ends within `tolerance_m`, above 0, of another end or line are snapped to it. `name` is the lines
    in the plural. Raises LayerError if they meet in more places than `MAX_MEETINGS`, and than
    `MAX_MEETINGS_PER_SEGMENT` allows.
    """
    if not len(lines):
        return replace(EMPTY, origin=np.zeros(0, dtype=np.int64)), np.zeros(0, dtype=np.int64)
    segments = _segments(lines)
    may_cut = np.flatnonzero(~lines.bridge[segments.line[segments.first]])
    limit = max(MAX_MEETINGS, MAX_MEETINGS_PER_SEGMENT * len(segments.shapes))
    try:
        ends = _linked_ends(segments, tolerance_m, limit)
        touched = _cut_by_ends(segments, may_cut, ends, tolerance_m, limit)
        crossed = _cut_by_crossings(segments, may_cut, ends, tolerance_m, limit)
    except TooManyCrossings as error:
        raise LayerError(
            f"The {name} cross, touch or overlap each other in more than {error.limit:,} places, too many "
            f"for a road network of {len(lines):,} lines.",
            "Choose a layer in which each road is drawn once; remove duplicates and tracks first.",
        ) from error
    graph = _cut(segments, concatenated(ends, touched, crossed), tolerance_m)
    return _without_duplicates(graph, lines.direction[graph.origin], tolerance_m)


def _segments(lines: Lines) -> _Segments:
    points, line = shapely.get_coordinates(lines.shapes, return_index=True)
    # A segment begins at each vertex whose successor is of the same line. Measures are sums of steps from there on.
    within = np.diff(line) == 0
    step_m = np.where(within, np.hypot(*np.diff(points, axis=0).T), 0)
    total_m = np.concatenate([[0], np.cumsum(step_m)])
    begin = np.searchsorted(line, np.arange(len(lines)))
    first = np.flatnonzero(within)
    shapes = shapely.linestrings(np.stack([points[first], points[first + 1]], axis=1))
    return _Segments(points, line.astype(np.int64), total_m - total_m[begin][line], first, shapes)


def _linked_ends(segments: _Segments, tolerance_m: float, limit: int) -> _Cuts:
    """Return the ends of the lines as cuts with one node for each cluster of them, at its westernmost end."""
    ends = segments.ends
    places = segments.points[ends]
    node = _near_clusters(places, tolerance_m, limit)
    chosen = first_of_each(node, *places.T)
    return _Cuts(segments.line[ends], segments.measure_m[ends], places[chosen][node], node)


def _near_clusters(places: np.ndarray, distance_m: float, limit: int) -> np.ndarray:
    """Return the single-linkage cluster of each place, from 0, by gaps up to a distance: (k,) int64."""
    different, place = np.unique(places, axis=0, return_inverse=True)
    tree = cKDTree(different)
    if (tree.count_neighbors(tree, distance_m) - len(different)) // 2 > limit:
        raise TooManyCrossings(limit)
    pairs = tree.query_pairs(distance_m, output_type="ndarray")
    return connected(len(different), pairs.astype(np.int64))[place.ravel()]


def _cut_by_ends(segments: _Segments, may_cut: np.ndarray, ends: _Cuts, tolerance_m: float, limit: int) -> _Cuts:
    """Return the cuts of segments within the tolerance of an end, also of the end's own line if it comes back."""
    # Segments near each end; the cut lies where the end is projected onto the segment. The node may lie farther away,
    # at another end of its cluster.
    drawn = segments.points[segments.ends]
    first = np.unique(np.column_stack([drawn, ends.node]), axis=0, return_index=True)[1]
    points, node, places = shapely.points(drawn[first]), ends.node[first], ends.places[first]
    tree = shapely.STRtree(segments.shapes[may_cut])
    end, near = meeting_pairs(tree, points, limit, predicate="dwithin", distance=tolerance_m)
    segment = may_cut[near]
    measure_m = shapely.line_locate_point(segments.shapes[segment], points[end])
    measure_m += segments.measure_m[segments.first[segment]]
    return _Cuts(segments.line[segments.first[segment]], measure_m, places[end], node[end])


def _cut_by_crossings(segments: _Segments, may_cut: np.ndarray, ends: _Cuts, tolerance_m: float, limit: int) -> _Cuts:
    """Return the cuts where segments cross, touch or overlap; those near an end of a line get that end's node."""
    shapes = segments.shapes[may_cut]
    one, other = meeting_pairs(shapely.STRtree(shapes), shapes, limit, predicate="intersects")
    one, other = may_cut[one[one < other]], may_cut[other[one < other]]
    shared = shapely.intersection(segments.shapes[one], segments.shapes[other])
    # Consecutive segments of a line that share only their vertex do not meet there.
    follow = (other == one + 1) & (segments.first[other] == segments.first[one] + 1)
    meets = ~(follow & (shapely.get_dimensions(shared) == 0))
    places, pair = shapely.get_coordinates(shared[meets], return_index=True)
    # Crossings of several lines in one place, apart by rounding, are one node.
    node = _near_clusters(places, _SAME_M, limit) if len(places) else np.zeros(0, dtype=np.int64)
    first = np.unique(node, return_index=True)[1]
    places, node = places[first][node], node + ends.node.max() + 1
    # A crossing near an end is that end. The measure is that of the crossing, the place that of the end.
    gap_m, near = cKDTree(ends.places).query(places)
    is_end = gap_m <= tolerance_m
    node[is_end] = ends.node[near[is_end]]
    segment = np.concatenate([one[meets][pair], other[meets][pair]])
    twice = np.tile(places, (2, 1))
    measure_m = segments.measures(segment, twice)
    twice[np.tile(is_end, 2)] = np.tile(ends.places[near[is_end]], (2, 1))
    return _Cuts(segments.line[segments.first[segment]], measure_m, twice, np.tile(node, 2))


def _cut(segments: _Segments, cuts: _Cuts, tolerance_m: float) -> Graph:
    """Return the parts of lines between cuts as a graph; the origin of an edge is its line."""
    # Cuts and vertices in order along each line, a cut before a vertex at the same measure, which it replaces.
    line = np.concatenate([cuts.line, segments.line])
    measure_m = np.concatenate([cuts.measure_m, segments.measure_m])
    places = np.concatenate([cuts.places, segments.points])
    node = np.concatenate([cuts.node, np.full(len(segments.line), -1)])
    order = np.lexsort((-node, measure_m, line))
    line, measure_m, places, node = line[order], measure_m[order], places[order], node[order]
    kept = (node >= 0) | ~_at_cut(line, measure_m, node >= 0)
    line, places, node = line[kept], places[kept], node[kept]
    # An edge lies between two consecutive cuts of one line.
    cut = np.flatnonzero(node >= 0)
    is_piece = line[cut[:-1]] == line[cut[1:]]
    begin, end = cut[:-1][is_piece], cut[1:][is_piece]
    counts = end - begin + 1
    points = places[ranges(begin, counts)]
    offsets = offsets_of(counts)
    number, used = np.unique(np.concatenate([node[begin], node[end]]), return_inverse=True)
    positions = np.empty((len(number), 2))
    positions[used] = np.concatenate([places[begin], places[end]])
    # Nodes are numbered from west to east, independent of the order of the lines.
    order = np.lexsort((positions[:, 1], positions[:, 0]))
    edges = np.argsort(order)[used].reshape(2, -1).T
    graph = Graph(positions[order], edges, points, offsets, line[begin])
    # Snapping leaves small loops, and vertices that coincide with the one before or with their edge's end.
    same = np.append(False, (graph.points[1:] == graph.points[:-1]).all(axis=1))
    graph = select_points(graph, ~(same | (np.append(same[1:], False) & np.append(graph.is_end[1:], False))))
    returns = graph.edges[:, 0] == graph.edges[:, 1]
    return select_edges(graph, ~(returns & (graph.lengths() <= 2 * tolerance_m)))


def _at_cut(line: np.ndarray, measure_m: np.ndarray, is_cut: np.ndarray) -> np.ndarray:
    """Return which places, in order along their lines, coincide with a cut except for rounding: (k,) bool."""
    at_cut = np.zeros(len(line), dtype=bool)
    index = np.arange(len(line))
    # The index of the last cut before each place, and of the next one after it.
    before = np.maximum.accumulate(np.where(is_cut, index, 0))
    after = np.minimum.accumulate(np.where(is_cut, index, len(line) - 1)[::-1])[::-1]
    for cut in (before, after):
        at_cut |= (line[cut] == line) & (np.abs(measure_m[cut] - measure_m) <= _SAME_M)
    return at_cut


def _without_duplicates(graph: Graph, direction: np.ndarray, tolerance_m: float) -> tuple[Graph, np.ndarray]:
    """Return the graph without edges within the tolerance of an earlier one between the same nodes; see `node_lines`.

    The direction is that of all edges.
    """
    _, pair, counts = np.unique(np.sort(graph.edges, axis=1), axis=0, return_inverse=True, return_counts=True)
    parallel = np.flatnonzero(counts[pair.ravel()] > 1)
    if not parallel.size:
        return graph, direction
    # Every pair of parallel edges, the earlier with the later one.
    order = parallel[np.argsort(pair.ravel()[parallel], kind="stable")]
    group = pair.ravel()[order]
    begin, end = np.searchsorted(group, group, "left"), np.arange(len(group))
    earlier = order[ranges(begin, end - begin)]
    later = np.repeat(order, end - begin)
    shapes = graph.shapes()
    same = shapely.hausdorff_distance(shapes[earlier], shapes[later]) <= tolerance_m
    kept = np.ones(len(graph.edges), dtype=bool)
    kept[later[same]] = False
    shared = _shared_direction(graph, direction, np.column_stack([earlier, later])[same])
    return select_edges(graph, kept), shared[kept]


def _shared_direction(graph: Graph, direction: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the direction of edges, (m,) int64, of which those in pairs, (k, 2) int64, are one road."""
    # Ahead is from the node with the least number or, around a loop, counterclockwise.
    begin, end = graph.edges.T
    is_back = np.where(begin == end, ~shapely.is_ccw(graph.shapes()), begin > end)
    is_open = np.column_stack([direction != AGAINST, direction != ALONG])
    ahead = np.where(is_back[:, None], is_open[:, ::-1], is_open)
    road = connected(len(direction), pairs)
    shared = np.zeros_like(ahead)
    np.logical_or.at(shared, road, ahead)
    along, against = np.where(is_back[:, None], shared[road][:, ::-1], shared[road]).T
    return np.where(along & against, BOTH, np.where(along, ALONG, AGAINST))


# Traced lines lie within this distance of a bridge as it is drawn.
_BESIDE_M = 6.0
# A line runs along a bridge if it gets ahead on it by this fraction of its length: within 45 degrees.
_ALONG = np.cos(np.radians(45))
# Shorter leftovers of a line are rounding errors.
_LEAST_M = 0.01


@dataclass(frozen=True)
class _Stretches:
    """Stretches of lines along bridges."""

    bridge: np.ndarray  # (k,) int64
    line: np.ndarray  # (k,) int64
    begin_m: np.ndarray  # (k,) float64: from the start of the line, along it
    end_m: np.ndarray  # (k,) float64


def lay_bridges(lines: Lines, bridges: np.ndarray) -> tuple[Lines, np.ndarray]:
    """Return lines with bridges in place of what runs along them, and which of the bridges were laid: (b,) bool.

    A bridge begins and ends where the road on it reaches the ends of the (b,) object LineString; it has the attributes
    of that road, and follows the lines. Where no line runs along a bridge, it is not laid.
    """
    # A bridge has the attributes of the line that runs along it for longest.
    along = _stretches_along(lines.shapes, bridges)
    laid = np.unique(along.bridge)
    if not len(laid):
        return lines, np.zeros(len(bridges), dtype=bool)
    longest = along.line[first_of_each(along.bridge, along.begin_m - along.end_m)]
    decks = np.array([_deck(bridges[bridge], lines.shapes, along, bridge) for bridge in laid], dtype=object)
    rest, line = _without(lines.shapes, along)
    parted = lines.parted(np.concatenate([rest, decks]), np.concatenate([line, longest]))
    parted.bridge[len(rest) :] = True
    return parted, np.isin(np.arange(len(bridges)), laid)


def _stretches_along(shapes: np.ndarray, bridges: np.ndarray) -> _Stretches:
    # Parts of lines in the corridor of a bridge; such as get ahead along it by most of their length run along it.
    corridors = shapely.buffer(bridges, _BESIDE_M, cap_style="flat")
    bridge, line = shapely.STRtree(shapes).query(corridors, predicate="intersects")
    parts, pair = shapely.get_parts(shapely.intersection(corridors[bridge], shapes[line]), return_index=True)
    is_line = (shapely.get_dimensions(parts) == 1) & (shapely.length(parts) > _LEAST_M)
    parts, bridge, line = parts[is_line], bridge[pair[is_line]], line[pair[is_line]]
    ends = shapely.get_point(parts, 0), shapely.get_point(parts, -1)
    ahead_m = np.abs(np.subtract(*(shapely.line_locate_point(bridges[bridge], end) for end in ends)))
    runs = ahead_m >= _ALONG * shapely.length(parts)
    at_m = [shapely.line_locate_point(shapes[line], end)[runs] for end in ends]
    return _Stretches(bridge[runs], line[runs], np.minimum(*at_m), np.maximum(*at_m))


def _deck(bridge: LineString, shapes: np.ndarray, along: _Stretches, number: int) -> LineString:
    """Return a bridge from where the road on it is cut on one side to where it is cut on the other."""
    own = np.flatnonzero(along.bridge == number)
    line = np.tile(shapes[along.line[own]], 2)
    at_m = np.concatenate([along.begin_m[own], along.end_m[own]])
    is_cut = (at_m > _LEAST_M) & (at_m < shapely.length(line) - _LEAST_M)
    cuts = shapely.line_interpolate_point(line[is_cut], at_m[is_cut])
    ahead_m = shapely.line_locate_point(bridge, cuts)
    middle_m, points = bridge.length / 2, list(bridge.coords)
    # Where the road was not traced up to an end of the bridge, that end stays.
    if (ahead_m < middle_m).any():
        points = [cuts[ahead_m.argmin()].coords[0], *points[1:]]
    if (ahead_m >= middle_m).any():
        points = [*points[:-1], cuts[ahead_m.argmax()].coords[0]]
    return LineString(points)


def _without(shapes: np.ndarray, along: _Stretches) -> tuple[np.ndarray, np.ndarray]:
    """Return what is left of lines without stretches of them, and the line of each part: (n,) object and int64."""
    is_cut = np.isin(np.arange(len(shapes)), along.line)
    parts, line = list(shapes[~is_cut]), list(np.flatnonzero(~is_cut))
    # Between stretches in order along a line, which may overlap, its rest remains.
    for number in np.flatnonzero(is_cut):
        shape, own = shapes[number], along.line == number
        begun_m = 0.0
        for begin_m, end_m in sorted([*zip(along.begin_m[own], along.end_m[own]), (shape.length, shape.length)]):
            if begin_m - begun_m > _LEAST_M:
                parts.append(substring(shape, begun_m, begin_m))
                line.append(number)
            begun_m = max(begun_m, end_m)
    order = np.argsort(line, kind="stable")
    return np.array(parts, dtype=object)[order], np.array(line, dtype=np.int64)[order]
