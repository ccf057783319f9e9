"""Seams: the lines of all parts of a region as one network, joined where the borders of parts cut them.

First the cut ends are matched, which shows which lines form one chain and which components are one. What is held for
this grows with the seams of a region, not with its area. Then the lines are put together, part after part. Besides the
current part, only lines are kept that later parts continue. Scope: graphs and measures. Independent of files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import geopandas
import numpy as np
import pyproj
from scipy.spatial import KDTree

from ..extraction.line_measures import LineMeasures, along_traffic, attributes
from ..geodata.grid import Grid
from ..geodata.parallel_arrays import concatenated, offsets_of
from ..geodata.road_classes import RoadClass
from ..jobs import NetworkOptions
from ..networks.cleaning import component_lengths, simplify
from ..networks.graph import Graph, connected, find_chains, join, scaled, select_points
from ..networks.graph_edits import BOTTOM, LEFT, RIGHT, TOP, WITHIN
from ..networks.network_tables import geodesic_lengths, line_table, rank

# Two ends closer than this on a seam are one line: parts that see the same differ by rounding alone.
_SAME_PX = 1.0
_OPPOSITE = {LEFT: RIGHT, TOP: BOTTOM}


@dataclass(frozen=True, eq=False)
class PartRoads:
    """The roads within the core of a part."""

    graph: Graph  # in columns and rows of the region's grid, centers of pixels at whole numbers
    side: np.ndarray  # (n,) int8: the side of the core on which a node was cut; see `graph_edits`
    measures: LineMeasures  # of the graph's lines; the vertices at cuts count for nothing
    pixel_m: np.ndarray  # (2,) float64: ground size of a pixel along columns and along rows


@dataclass(frozen=True, eq=False)
class PartOutline:
    """The k cut lines of a part, for joining; a line cut at both ends has one entry."""

    lengths_m: np.ndarray  # (components,) float64: of all connected components of the part
    edge: np.ndarray  # (k,) int64: number of each line
    component: np.ndarray  # (k,) int64
    is_cut: np.ndarray  # (k, 2) bool: which of the line's ends were cut
    place: np.ndarray  # (k, 2, 2) float64: column and row of both ends
    side: np.ndarray  # (k, 2) int8: sides of the part on which they were cut; see `graph_edits`


def outline(part: PartRoads) -> PartOutline:
    """Return the cut lines of a part."""
    graph = part.graph
    side = part.side[graph.edges]
    edge = np.flatnonzero((side != WITHIN).any(axis=1))
    lengths_m = component_lengths(scaled(graph, part.pixel_m))
    ends = graph.nodes[graph.edges[edge]]
    return PartOutline(lengths_m, edge, graph.edge_component[edge], side[edge] != WITHIN, ends, side[edge])


@dataclass(frozen=True, eq=False)
class Joining:
    """How parts are joined. Cut lines are numbered through all parts."""

    first_line: np.ndarray  # (parts + 1,) int64: number of each part's first cut line
    first_component: np.ndarray  # (parts + 1,) int64: and of its first component
    component: np.ndarray  # (components of all parts,) int64: component of the region to which each belongs
    length_m: np.ndarray  # (components of the region,) float64
    node: np.ndarray  # (lines, 2) int64: a number for each end of each cut line; ends that meet have the same
    whole_at: np.ndarray  # (lines,) int64: the last part that has a line of the same chain
    mismatches: int  # ends on a seam without a counterpart


def join_parts(parts: Sequence[PartOutline]) -> Joining:
    """Find how parts that lie side by side are joined."""
    first_line = offsets_of(np.array([len(part.edge) for part in parts], dtype=np.int64))
    first_component = offsets_of(np.array([len(part.lengths_m) for part in parts], dtype=np.int64))
    component = np.concatenate([np.zeros(0, np.int64), *(p.component + f for p, f in zip(parts, first_component))])
    is_cut = np.concatenate([np.zeros((0, 2), bool), *(part.is_cut for part in parts)])
    pairs = _matched(parts, is_cut)
    # Both ends of a pair have the same node.
    node = np.arange(2 * len(is_cut))
    node[pairs[:, 1]] = node[pairs[:, 0]]
    whole = connected(first_component[-1], component[pairs // 2])
    length_m = np.bincount(whole, np.concatenate([np.zeros(0), *(part.lengths_m for part in parts)]))
    # A chain is whole with the last part in which one of its lines lies.
    chain = connected(len(is_cut), pairs // 2)
    last = np.zeros(len(is_cut), dtype=np.int64)
    np.maximum.at(last, chain, np.repeat(np.arange(len(parts)), np.diff(first_line)))
    mismatches = int(is_cut.sum()) - 2 * len(pairs)
    return Joining(first_line, first_component, whole, length_m, node.reshape(-1, 2), last[chain], mismatches)


def _matched(parts: Sequence[PartOutline], is_cut: np.ndarray) -> np.ndarray:
    """Return the pairs of ends that are mutually nearest: (k, 2) int64; end 2 i + j is the j-th of line i."""
    place = np.concatenate([np.zeros((0, 2, 2)), *(part.place for part in parts)]).reshape(-1, 2)
    side = np.concatenate([np.zeros((0, 2), np.int8), *(part.side for part in parts)]).ravel()
    pairs = [np.zeros((0, 2), np.int64)]
    for one, other in _OPPOSITE.items():
        ends, others = np.flatnonzero(is_cut.ravel() & (side == one)), np.flatnonzero(is_cut.ravel() & (side == other))
        if len(ends) and len(others):
            # A pair counts only if each end is the nearest of the other: parallel lines may cross close together.
            away_px, nearest = KDTree(place[others]).query(place[ends], distance_upper_bound=_SAME_PX)
            _, back = KDTree(place[ends]).query(place[others], distance_upper_bound=_SAME_PX)
            is_near = np.isfinite(away_px)
            mutual = np.flatnonzero(is_near)[back[nearest[is_near]] == np.flatnonzero(is_near)]
            pairs.append(np.column_stack([ends[mutual], others[nearest[mutual]]]))
    return np.concatenate(pairs)


@dataclass(frozen=True, eq=False)
class _Lines:
    """Lines of several parts."""

    nodes: np.ndarray  # (m, 2) int64: the nodes of each, numbered through all parts; those at seams come first
    rank: np.ndarray  # (m,) int64: of their component, by its length
    whole_at: np.ndarray  # (m,) int64: see `Joining`
    votes: np.ndarray  # (m, classes) int64
    sizes: np.ndarray  # (m,) int64: vertices of each
    vertices: np.ndarray  # (p, 2 + MEASURES + 1) float64: place, measures, and whether the line is cut there

    def select(self, chosen: np.ndarray) -> "_Lines":
        """Return some of the lines, (m,) bool."""
        return _Lines(
            self.nodes[chosen], self.rank[chosen], self.whole_at[chosen], self.votes[chosen], self.sizes[chosen],
            self.vertices[np.repeat(chosen, self.sizes)],
        )  # fmt: skip


def joined_roads(
    parts: Iterable[PartRoads],
    outlines: Sequence[PartOutline],
    joining: Joining,
    grid: Grid,
    options: NetworkOptions,
    classes: Sequence[RoadClass] = (),
) -> Iterator[geopandas.GeoDataFrame]:
    """Yield the network's lines, as `Network.roads`: for each part, its own and those that end with it.

    Parts come in the order of their outlines, from which the joining was made. Lines have votes for the classes.
    """
    # Components shorter than the minimum get rank 0, and are left out.
    is_kept = joining.length_m >= options.min_length_m
    rank_of = np.zeros(len(is_kept), dtype=np.int64)
    rank_of[is_kept] = rank(joining.length_m[is_kept])
    seam_nodes = first_node = joining.node.size
    waiting: list[_Lines] = []  # of unfinished chains
    for number, (part, cut) in enumerate(zip(parts, outlines)):
        lines = _lines(part, cut, number, joining, first_node, rank_of, len(classes))
        lines = concatenated(*waiting, lines.select(lines.rank > 0))
        first_node += len(part.graph.nodes)
        is_whole = lines.whole_at == number
        waiting = [lines.select(~is_whole)]
        yield _table(lines.select(is_whole), seam_nodes, part.pixel_m, grid, options, classes)


def _lines(
    part: PartRoads,
    cut: PartOutline,
    number: int,
    joining: Joining,
    first_node: int,
    rank_of: np.ndarray,
    class_count: int,
) -> _Lines:
    graph, votes = part.graph, part.measures.votes
    component = joining.component[joining.first_component[number] + graph.edge_component]
    nodes, whole_at = first_node + graph.edges, np.full(len(graph.edges), number)
    span = slice(*joining.first_line[number : number + 2])
    nodes[cut.edge] = np.where(cut.is_cut, joining.node[span], nodes[cut.edge])
    whole_at[cut.edge] = joining.whole_at[span]
    is_cut = np.zeros((len(graph.points), 1))
    is_cut[graph.offsets[cut.edge], 0] = cut.is_cut[:, 0]
    is_cut[graph.offsets[cut.edge + 1] - 1, 0] = cut.is_cut[:, 1]
    vertices = np.hstack([graph.points, part.measures.vertices, is_cut])
    votes = np.zeros((len(graph.edges), class_count), np.int64) if votes is None else votes
    return _Lines(nodes, rank_of[component], whole_at, votes, graph.sizes, vertices)


def _table(
    lines: _Lines,
    seam_nodes: int,
    pixel_m: np.ndarray,
    grid: Grid,
    options: NetworkOptions,
    classes: Sequence[RoadClass],
) -> geopandas.GeoDataFrame:
    """Return lines as a table, those that meet at a seam as one line without the vertices at which it was cut."""
    names, nodes = np.unique(lines.nodes, return_inverse=True)
    unplaced = Graph(np.zeros((len(names), 2)), nodes.reshape(-1, 2), lines.vertices, offsets_of(lines.sizes))
    chains = find_chains(unplaced, names >= seam_nodes)
    joined = join(unplaced, chains)
    joined = select_points(joined, joined.points[:, -1] == 0)
    firsts = chains.offsets[:-1]
    votes = np.add.reduceat(lines.votes[chains.edges], firsts) if classes else None
    places = np.zeros((len(joined.nodes), 2))
    places[joined.edges] = joined.points[np.column_stack([joined.offsets[:-1], joined.offsets[1:] - 1]), :2]
    graph = replace(joined, nodes=places, points=joined.points[:, :2])
    measures = LineMeasures(joined.points[:, 2:-1], votes)
    ground = scaled(graph, pixel_m)
    columns = attributes(ground, measures, classes, options.driving_side)
    directed = along_traffic(ground, measures, grid, options.driving_side)
    simple = scaled(simplify(directed, options.simplify_m), 1 / pixel_m)
    points = np.column_stack(grid.transform @ tuple((simple.points + 0.5).T))
    crs = pyproj.CRS.from_user_input(grid.crs)
    component = lines.rank[chains.edges[firsts]]
    return line_table(simple, points, crs, geodesic_lengths(simple, points, crs), columns, component)
