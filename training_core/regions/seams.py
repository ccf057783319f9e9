"""Seams: which lines of neighboring parts are one line, which parts' components are one, and which chains result.

Scope: the places where lines were cut, as tables. Independent of the lines' shapes and of files. What is held grows
with the seams of a region, not with its area.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree

from ..networks.chains import find_chains
from ..networks.cleaning import component_lengths
from ..networks.graph import Graph, connected, scaled
from ..networks.graph_edits import BOTTOM, LEFT, RIGHT, TOP, WITHIN
from .part_roads import PartRoads

# Two ends closer than this on a seam are one line: parts that see the same differ by rounding alone.
_SAME_PX = 1.0
_OPPOSITE = {LEFT: RIGHT, TOP: BOTTOM}


@dataclass(frozen=True, eq=False)
class PartOutline:
    """What joining parts needs to know of one.

    Parameters
    ----------
    lengths_m : ndarray (components,), float64
        Of its connected components.
    edge : ndarray (k,), int64
        Of each line that was cut, its number; a line cut at both ends is there once.
    component : ndarray (k,), int64
        That of the line.
    is_cut : ndarray (k, 2), bool
        Which of the line's ends were cut.
    place : ndarray (k, 2, 2), float64
        Column and row of both ends.
    side : ndarray (k, 2), int8
        Sides of the part on which they were cut; see `cutting`.
    """

    lengths_m: np.ndarray
    edge: np.ndarray
    component: np.ndarray
    is_cut: np.ndarray
    place: np.ndarray
    side: np.ndarray


def outline(part: PartRoads) -> PartOutline:
    """Return what joining needs to know of a part."""
    graph = part.graph
    side = part.side[graph.edges]
    edge = np.flatnonzero((side != WITHIN).any(axis=1))
    lengths_m = component_lengths(scaled(graph, part.pixel_m))
    ends = graph.nodes[graph.edges[edge]]
    return PartOutline(lengths_m, edge, graph.edge_component[edge], side[edge] != WITHIN, ends, side[edge])


@dataclass(frozen=True, eq=False)
class Joining:
    """How parts are joined. The lines that were cut are numbered through all parts.

    Parameters
    ----------
    first_line, first_component : ndarray (parts + 1,), int64
        Of each part, the number of its first cut line and of its first component.
    component : ndarray (components of all parts,), int64
        Number of the region's component that each belongs to.
    length_m : ndarray (components of the region,), float64
    chain, position, is_reversed : ndarray (lines,), int64, int64, bool
        The chain that each cut line is a part of, its place there, and whether the chain runs against it.
    chain_size : ndarray (chains,), int64
        Number of lines.
    mismatches : int
        Ends on a seam that have no counterpart there.
    """

    first_line: np.ndarray
    first_component: np.ndarray
    component: np.ndarray
    length_m: np.ndarray
    chain: np.ndarray
    position: np.ndarray
    is_reversed: np.ndarray
    chain_size: np.ndarray
    mismatches: int


def join_parts(parts: Sequence[PartOutline]) -> Joining:
    """Find how parts that lie side by side are joined."""
    first_line = np.cumsum([0, *(len(part.edge) for part in parts)])
    first_component = np.cumsum([0, *(len(part.lengths_m) for part in parts)])
    component = np.concatenate([np.zeros(0, np.int64), *(p.component + f for p, f in zip(parts, first_component))])
    is_cut = np.concatenate([np.zeros((0, 2), bool), *(part.is_cut for part in parts)])
    pairs = _matched(parts, is_cut)
    node = _nodes(len(is_cut), pairs)
    whole = connected(first_component[-1], component[pairs // 2])
    length_m = np.bincount(whole, np.concatenate([np.zeros(0), *(part.lengths_m for part in parts)]))
    chain, position, is_reversed, sizes = _chains(node)
    return Joining(
        first_line, first_component, whole, length_m, chain, position, is_reversed, sizes,
        int(is_cut.sum()) - 2 * len(pairs),
    )  # fmt: skip


def _matched(parts: Sequence[PartOutline], is_cut: np.ndarray) -> np.ndarray:
    """Return which ends of lines are one, mutually nearest: (k, 2), int64; end 2 i + j is the j-th of line i."""
    place = np.concatenate([np.zeros((0, 2, 2)), *(part.place for part in parts)]).reshape(-1, 2)
    side = np.concatenate([np.zeros((0, 2), np.int8), *(part.side for part in parts)]).ravel()
    pairs = [np.zeros((0, 2), np.int64)]
    for one, other in _OPPOSITE.items():
        ends, others = np.flatnonzero(is_cut.ravel() & (side == one)), np.flatnonzero(is_cut.ravel() & (side == other))
        if len(ends) and len(others):
            away_px, nearest = KDTree(place[others]).query(place[ends], distance_upper_bound=_SAME_PX)
            _, back = KDTree(place[ends]).query(place[others], distance_upper_bound=_SAME_PX)
            is_near = np.isfinite(away_px)
            mutual = np.flatnonzero(is_near)[back[nearest[is_near]] == np.flatnonzero(is_near)]
            pairs.append(np.column_stack([ends[mutual], others[nearest[mutual]]]))
    return np.concatenate(pairs)


def _nodes(count: int, pairs: np.ndarray) -> np.ndarray:
    """Return a node for each end of so many lines, (count, 2), int64, the same for both of each pair."""
    node = np.arange(2 * count)
    node[pairs[:, 1]] = node[pairs[:, 0]]
    return node.reshape(-1, 2)


def _chains(node: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the chain of each line between nodes, its place there and whether it is reversed, and chains' sizes."""
    count = len(node)
    shapeless = Graph(np.zeros((2 * count, 2)), node, np.zeros((2 * count, 2)), np.arange(0, 2 * count + 1, 2))
    chains = find_chains(shapeless)
    sizes = np.diff(chains.offsets)
    chain, position, is_reversed = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, bool)
    chain[chains.edges] = np.repeat(np.arange(len(sizes)), sizes)
    position[chains.edges] = np.arange(count) - np.repeat(chains.offsets[:-1], sizes)
    is_reversed[chains.edges] = chains.is_reversed
    return chain, position, is_reversed, sizes
