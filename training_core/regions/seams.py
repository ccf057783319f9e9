"""Seams: the lines of all parts of a region as one network, joined where the borders of parts cut them.

First the cut ends are matched, which shows which lines form one chain and which components are one. What is held for
this grows with the seams of a region, not with its area. Then the lines are put together, part after part. Besides the
current part, only lines are kept that later parts continue. Scope: graphs and measures. Independent of files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

import geopandas
import numpy as np
import pyproj
from scipy.spatial import KDTree

from ..extraction.line_measures import MEASURES, LineMeasures, along_traffic, attributes
from ..geodata.grid import Grid
from ..geodata.road_classes import RoadClass
from ..jobs import NetworkOptions
from ..networks.cleaning import component_lengths, simplify
from ..networks.graph import Graph, connected, find_chains, scaled
from ..networks.graph_edits import BOTTOM, LEFT, RIGHT, TOP, WITHIN
from ..networks.network_tables import geodesic_lengths, line_table, rank
from .part_roads import PartRoads

# Two ends closer than this on a seam are one line: parts that see the same differ by rounding alone.
_SAME_PX = 1.0
_OPPOSITE = {LEFT: RIGHT, TOP: BOTTOM}
# The ends of a ring that was cut are the same place, but for rounding; no other line is so short.
_RING_PX = 1e-3


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
    chain: np.ndarray  # (lines,) int64: the chain of each cut line
    position: np.ndarray  # (lines,) int64: its place there
    is_reversed: np.ndarray  # (lines,) bool: whether the chain runs against it
    chain_size: np.ndarray  # (chains,) int64
    mismatches: int  # ends on a seam without a counterpart


def join_parts(parts: Sequence[PartOutline]) -> Joining:
    """Find how parts that lie side by side are joined."""
    first_line = np.cumsum([0, *(len(part.edge) for part in parts)])
    first_component = np.cumsum([0, *(len(part.lengths_m) for part in parts)])
    component = np.concatenate([np.zeros(0, np.int64), *(p.component + f for p, f in zip(parts, first_component))])
    is_cut = np.concatenate([np.zeros((0, 2), bool), *(part.is_cut for part in parts)])
    pairs = _matched(parts, is_cut)
    # Both ends of a pair have the same node.
    node = np.arange(2 * len(is_cut))
    node[pairs[:, 1]] = node[pairs[:, 0]]
    whole = connected(first_component[-1], component[pairs // 2])
    length_m = np.bincount(whole, np.concatenate([np.zeros(0), *(part.lengths_m for part in parts)]))
    chain, position, is_reversed, sizes = _chains(node.reshape(-1, 2))
    return Joining(
        first_line, first_component, whole, length_m, chain, position, is_reversed, sizes,
        int(is_cut.sum()) - 2 * len(pairs),
    )  # fmt: skip


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


def _chains(node: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the chain of each line between nodes, its place there and whether it is reversed, and chains' sizes."""
    count = len(node)
    # Chains depend on the topology alone, so the lines need no shapes.
    shapeless = Graph(np.zeros((2 * count, 2)), node, np.zeros((2 * count, 2)), np.arange(0, 2 * count + 1, 2))
    chains = find_chains(shapeless)
    sizes = np.diff(chains.offsets)
    chain, position, is_reversed = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, bool)
    chain[chains.edges] = np.repeat(np.arange(len(sizes)), sizes)
    position[chains.edges] = np.arange(count) - np.repeat(chains.offsets[:-1], sizes)
    is_reversed[chains.edges] = chains.is_reversed
    return chain, position, is_reversed, sizes


@dataclass(frozen=True, eq=False)
class _Line:
    """A line with its nodes, points (p, 2), measures at these (p, n), and votes (classes,) if the model has classes."""

    nodes: tuple[tuple[int, int], tuple[int, int]]
    points: np.ndarray
    vertices: np.ndarray
    votes: Optional[np.ndarray]

    def reversed(self) -> "_Line":
        return _Line(self.nodes[::-1], self.points[::-1], self.vertices[::-1], self.votes)


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
    waiting: dict[int, dict[int, _Line]] = defaultdict(dict)  # lines of unfinished chains, by chain and position
    for number, (part, edges) in enumerate(zip(parts, outlines)):
        component = rank_of[joining.component[joining.first_component[number] + part.graph.edge_component]]
        cut = np.zeros(len(part.graph.edges), dtype=bool)
        cut[edges.edge] = True
        lines, ranks = [], []
        # Lines within the part are whole already.
        for edge in np.flatnonzero(~cut & (component > 0)).tolist():
            lines.append(_line(part, edge, number))
            ranks.append(component[edge])
        # A cut line waits until all lines of its chain have come.
        for index, edge in enumerate(edges.edge.tolist(), joining.first_line[number]):
            chain = joining.chain[index]
            line = _line(part, edge, number)
            waiting[chain][joining.position[index]] = line.reversed() if joining.is_reversed[index] else line
            if len(waiting[chain]) == joining.chain_size[chain]:
                pieces = waiting.pop(chain)
                if component[edge]:
                    lines.append(_joined([pieces[position] for position in range(len(pieces))]))
                    ranks.append(component[edge])
        yield _table(lines, np.array(ranks, dtype=np.int64), part.pixel_m, grid, options, classes)


def _line(part: PartRoads, edge: int, number: int) -> _Line:
    graph, measures = part.graph, part.measures
    span = slice(graph.offsets[edge], graph.offsets[edge + 1])
    first, second = ((number, int(node)) for node in graph.edges[edge])
    votes = None if measures.votes is None else measures.votes[edge]
    return _Line((first, second), graph.points[span], measures.vertices[span], votes)


def _joined(pieces: list[_Line]) -> _Line:
    """Return the pieces of a chain as one line, without the vertices at which it was cut."""
    last = len(pieces) - 1
    spans = [slice(int(at > 0), len(piece.points) - int(at < last)) for at, piece in enumerate(pieces)]
    points, vertices = (
        np.concatenate([getattr(piece, name)[span] for piece, span in zip(pieces, spans)])
        for name in ("points", "vertices")
    )
    votes = None if pieces[0].votes is None else np.sum([piece.votes for piece in pieces], axis=0)  # type: ignore[arg-type]  # all have votes, or none
    nodes = pieces[0].nodes[0], pieces[-1].nodes[1]
    is_ring = last > 0 and np.hypot(*(points[0] - points[-1])) < _RING_PX
    return _Line((nodes[0], nodes[0]) if is_ring else nodes, points, vertices, votes)


def _table(
    lines: list[_Line],
    component: np.ndarray,
    pixel_m: np.ndarray,
    grid: Grid,
    options: NetworkOptions,
    classes: Sequence[RoadClass],
) -> geopandas.GeoDataFrame:
    graph, measures = _graph(lines, len(classes))
    ground = scaled(graph, pixel_m)
    columns = attributes(ground, measures, classes, options.driving_side)
    directed = along_traffic(ground, measures, grid, options.driving_side)
    simple = scaled(simplify(directed, options.simplify_m), 1 / pixel_m)
    points = np.column_stack(grid.transform @ tuple((simple.points + 0.5).T))
    crs = pyproj.CRS.from_user_input(grid.crs)
    return line_table(simple, points, crs, geodesic_lengths(simple, points, crs), columns, component)


def _graph(lines: list[_Line], class_count: int) -> tuple[Graph, LineMeasures]:
    """Return lines as a graph, those with a node in common connected, and their measures."""
    numbers: dict[tuple[int, int], int] = {}
    edges = np.array(
        [[numbers.setdefault(node, len(numbers)) for node in line.nodes] for line in lines], dtype=np.int64
    ).reshape(-1, 2)
    points = np.concatenate([np.zeros((0, 2)), *(line.points for line in lines)])
    offsets = np.cumsum([0, *(len(line.points) for line in lines)])
    nodes = np.zeros((len(numbers), 2))
    nodes[edges[:, 0]], nodes[edges[:, 1]] = points[offsets[:-1]], points[offsets[1:] - 1]
    vertices = np.concatenate([np.zeros((0, len(MEASURES))), *(line.vertices for line in lines)])
    votes = np.array([line.votes for line in lines]).reshape(-1, class_count) if class_count else None
    return Graph(nodes, edges, points, offsets), LineMeasures(vertices, votes)
