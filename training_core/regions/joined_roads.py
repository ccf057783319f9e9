"""Joined roads: the lines of all parts of a region as one network, part after part.

Scope: shapes and measures of lines that parts share. Independent of files' formats. Besides the part at hand, only the
lines are kept that parts to come go on with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import geopandas
import numpy as np

from ..extraction.road_extraction import MEASURES, LineMeasures, along_traffic, attributes
from ..geodata.grid import Grid
from ..geodata.road_classes import RoadClass
from ..jobs import NetworkOptions
from ..networks.cleaning import simplify
from ..networks.graph import Graph, scaled
from ..networks.network_tables import rank, to_lines
from .part_roads import PartRoads
from .seams import Joining, PartOutline

# The ends of a ring that was cut are the same place, but for rounding; no other line is so short.
_RING_PX = 1e-3


@dataclass(frozen=True, eq=False)
class _Line:
    """A line with its measures: nodes (2,), points (p, 2), what is measured there (p, n), votes (classes,) or None."""

    nodes: tuple[Any, Any]
    points: np.ndarray
    vertices: np.ndarray
    votes: Any

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
    """Yield the network's lines, those of a part and those that end with it at a time.

    Parameters
    ----------
    parts : iterable of PartRoads
        In the order of their outlines.
    joining : Joining
        Of these outlines.
    grid : Grid
        Of the region.
    options : NetworkOptions
        Shortest component and simplification.
    classes : sequence of RoadClass
        Those that lines' votes are for.

    Yields
    ------
    GeoDataFrame
        As `Network.roads`; without lines where a part has none.
    """
    is_kept = joining.length_m >= options.min_length_m
    rank_of = np.zeros(len(is_kept), dtype=np.int64)
    rank_of[is_kept] = rank(joining.length_m[is_kept])
    waiting: dict[int, dict[int, _Line]] = defaultdict(dict)  # by chain, by position
    for number, (part, edges) in enumerate(zip(parts, outlines)):
        component = rank_of[joining.component[joining.first_component[number] + part.graph.edge_component]]
        cut = np.zeros(len(part.graph.edges), dtype=bool)
        cut[edges.edge] = True
        lines, ranks = [], []
        for edge in np.flatnonzero(~cut & (component > 0)).tolist():
            lines.append(_line(part, edge, number))
            ranks.append(component[edge])
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
    votes = None if pieces[0].votes is None else np.sum([piece.votes for piece in pieces], axis=0)
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
    return to_lines(simple, _to_map(grid), grid.crs, columns, component)


def _graph(lines: list[_Line], class_count: int) -> tuple[Graph, LineMeasures]:
    """Return lines as a graph, those with a node in common connected, and their measures."""
    numbers: dict[Any, int] = {}
    edges = np.array(
        [[numbers.setdefault(node, len(numbers)) for node in line.nodes] for line in lines], dtype=np.int64
    ).reshape(-1, 2)
    points = np.concatenate([np.zeros((0, 2)), *(line.points for line in lines)])
    offsets = np.cumsum([0, *(len(line.points) for line in lines)])
    nodes = np.zeros((len(numbers), 2))
    nodes[edges[:, 0]], nodes[edges[:, 1]] = points[offsets[:-1]], points[offsets[1:] - 1]
    vertices = np.concatenate([np.zeros((0, MEASURES)), *(line.vertices for line in lines)])
    votes = np.array([line.votes for line in lines]).reshape(-1, class_count) if class_count else None
    return Graph(nodes, edges, points, offsets), LineMeasures(vertices, votes)


def _to_map(grid: Grid) -> Callable[[np.ndarray], np.ndarray]:
    return lambda points: np.column_stack(grid.transform @ tuple((points + 0.5).T))
