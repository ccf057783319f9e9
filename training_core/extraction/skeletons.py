"""Skeletons: a mask thinned to lines one pixel wide, and these traced, smoothed and thinned out as a multigraph.

Scope: masks as bits, and graphs with a vertex a pixel. Foreground is 8-connected, background 4-connected. Independent
of roads and files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..networks.graph import Graph, contract, join_chains, select_points
from .compact_masks import BitMask

# Boards of which neighbors are computed at a time: what that takes fits into the processor's cache.
_CHUNK = 1 << 13
_Neighbors = Sequence[np.ndarray]


def thin(road: np.ndarray, fixed: np.ndarray | None = None) -> np.ndarray:
    """Return the skeleton of a mask as `thin_bits` does; all arrays are (height, width) bool."""
    fixed = np.zeros_like(road) if fixed is None else fixed
    return thin_bits(BitMask.of(road), BitMask.of(fixed)).unpacked()


def thin_bits(road: BitMask, fixed: BitMask) -> BitMask:
    """Return the skeleton of a mask: lines one pixel wide with the mask's components, holes and ends.

    Boundary layers are peeled by the parallel algorithm A1 of Guo & Hall, "Parallel thinning with two-subiteration
    algorithms", Communications of the ACM 32 (1989). It preserves the length of thin diagonal roads, where that of
    Zhang and Suen halves it. The rest is reduced, one pixel of any neighborhood at a time, until each pixel left is an
    end or its removal would change the topology. `fixed` pixels are never removed.
    """
    boards = road.boards.copy()
    _remove(boards, ~fixed.boards, (_peels_first, _peels_second))
    _remove(boards, ~fixed.boards, [_redundant_in(*place) for place in ((0, 0), (0, 1), (1, 0), (1, 1))])
    return BitMask(boards, road.height, road.width)


def _remove(boards: np.ndarray, free: np.ndarray, rules: Sequence[Callable[[_Neighbors], np.ndarray]]) -> None:
    """Remove pixels in place, by one rule after the other, until none of them removes any.

    A rule is evaluated only on boards in whose neighborhood a pixel was removed since its last evaluation there, which
    gives the same result as evaluating it everywhere.
    """
    flat, free, stride = boards.ravel(), free.ravel(), boards.shape[1]
    around = [row * stride + column for row in (-1, 0, 1) for column in (-1, 0, 1)]
    is_due = np.full(len(flat), (1 << len(rules)) - 1, dtype=np.uint8)  # a bit for each rule to be evaluated
    while is_due.any():
        for bit, rule in enumerate(rules):
            # Boards due for this rule that still have pixels; the rule decides for all of them before any changes.
            at = np.flatnonzero(is_due & (1 << bit))
            is_due &= 0xFF ^ 1 << bit
            at = at[flat[at] != 0]
            chunks = [at[begin : begin + _CHUNK] for begin in range(0, len(at), _CHUNK)]
            removed = [rule(_neighbors(flat, chunk, stride)) & free[chunk] & flat[chunk] for chunk in chunks]
            # A board that changed makes all rules due in it and in its eight neighbors.
            for chunk, bits in zip(chunks, removed):
                flat[chunk] &= ~bits
                changed = chunk[bits != 0]
                for step in around:
                    is_due[changed + step] = (1 << len(rules)) - 1


def _neighbors(flat: np.ndarray, at: np.ndarray, stride: int) -> _Neighbors:
    """Return the neighbors p1 ... p8 of Guo & Hall, clockwise from the upper left one, of each pixel of some boards.

    Bit i of the k-th array is the k-th neighbor of the pixel of bit i, also across a board's border.
    """
    # Each board shifted by a row, with the row that enters from the board above or below; the same left and right.
    here, above, below = flat[at], flat[at - stride], flat[at + stride]
    left, right = flat[at - 1], flat[at + 1]
    down = here << _ROW | above >> _TO_LAST_ROW  # at each pixel the one above it
    up = here >> _ROW | below << _TO_LAST_ROW
    left_down = left << _ROW | flat[at - stride - 1] >> _TO_LAST_ROW
    left_up = left >> _ROW | flat[at + stride - 1] << _TO_LAST_ROW
    right_down = right << _ROW | flat[at - stride + 1] >> _TO_LAST_ROW
    right_up = right >> _ROW | flat[at + stride + 1] << _TO_LAST_ROW
    return (
        _from_left(down, left_down), down, _from_right(down, right_down), _from_right(here, right),
        _from_right(up, right_up), up, _from_left(up, left_up), _from_left(here, left),
    )  # fmt: skip


def _from_left(boards: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return the pixel to the left of each pixel."""
    return boards << _ONE & ~_FIRST_COLUMN | left >> _TO_LAST_COLUMN & _FIRST_COLUMN


def _from_right(boards: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the pixel to the right of each pixel."""
    return boards >> _ONE & ~_LAST_COLUMN | right << _TO_LAST_COLUMN & _LAST_COLUMN


def _is_simple(neighbors: _Neighbors) -> np.ndarray:
    """Return the simple pixels, whose removal keeps the topology: those with the crossing number C of 1."""
    p1, p2, p3, p4, p5, p6, p7, p8 = neighbors
    a, b, c, d = ~p2 & (p3 | p4), ~p4 & (p5 | p6), ~p6 & (p7 | p8), ~p8 & (p1 | p2)
    return (a ^ b) & ~(c | d) | (c ^ d) & ~(a | b)


def _peelable(neighbors: _Neighbors) -> np.ndarray:
    """Return what both subiterations may peel: simple pixels with N, the lesser count of neighbor pairs, 2 or 3."""
    p1, p2, p3, p4, p5, p6, p7, p8 = neighbors
    two_of_first, all_of_first = _counted(p1 | p2, p3 | p4, p5 | p6, p7 | p8)
    two_of_second, all_of_second = _counted(p2 | p3, p4 | p5, p6 | p7, p8 | p1)
    return _is_simple(neighbors) & two_of_first & two_of_second & ~(all_of_first & all_of_second)


def _counted(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where two or more of four are set, and where all four are."""
    both, others = a & b, c & d
    return both | others | (a | b) & (c | d), both & others


def _peels_first(neighbors: _Neighbors) -> np.ndarray:
    _, p2, p3, p4, p5, _, _, _ = neighbors
    return _peelable(neighbors) & ~((p2 | p3 | ~p5) & p4)


def _peels_second(neighbors: _Neighbors) -> np.ndarray:
    p1, _, _, _, _, p6, p7, p8 = neighbors
    return _peelable(neighbors) & ~((p6 | p7 | ~p1) & p8)


def _redundant_in(row: int, column: int) -> Callable[[_Neighbors], np.ndarray]:
    """Return the rule that removes simple pixels, no ends, in every second row and column: no two are neighbors."""
    chosen = np.uint64(sum(1 << 8 * r + c for r in range(row, 8, 2) for c in range(column, 8, 2)))

    def rule(neighbors: _Neighbors) -> np.ndarray:
        # Bitwise counters: where at least one and at least two of the neighbors are set.
        one = two = np.zeros_like(neighbors[0])
        for neighbor in neighbors:
            one, two = one | neighbor, two | one & neighbor
        return _is_simple(neighbors) & two & chosen

    return rule


_ONE, _ROW, _TO_LAST_COLUMN, _TO_LAST_ROW = (np.uint64(bits) for bits in (1, 8, 7, 56))
_FIRST_COLUMN, _LAST_COLUMN = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


_LINE_SMOOTHING_PASSES = 4  # of vertices; `centering` smooths shifts
# A vertex is kept where its line enters every fourth column or row of pixels; a line with fewer vertices than three
# times that keeps all. Its direction is that of `_REACH` vertices to either side.
_SPACING, _SHORT_LINE, _REACH = 4, 3, 3


def trace_pixels(pixels: np.ndarray) -> Graph:
    """Return the graph of a skeleton: its components and holes become components and cycles.

    Pixels are linked to their neighbors, and links joined to chains at pixels of degree 2. Adjacent junction pixels are
    contracted to one node at their mean unless they surround a hole. A ring without a junction becomes an edge from a
    node to itself, and an isolated pixel a node without edges.

    The (n, 2) int64 pixels are column and row in any order of lines one pixel wide. Of a thicker mask the topology is
    right too but not the shape.
    """
    # Every link between pixels is an edge first; chains of edges are joined, then junction pixels side by side.
    stride = pixels[:, 0].max(initial=0) + 1
    pixels = pixels[np.argsort(pixels[:, 1] * stride + pixels[:, 0], kind="stable")]
    nodes, links = pixels.astype(np.float64), _pixel_links(pixels)
    offsets = np.arange(0, 2 * len(links) + 1, 2)
    graph = join_chains(Graph(nodes, links, nodes[links.ravel()], offsets))
    is_junction = graph.degree > 2
    return contract(graph, is_junction[graph.edges].all(axis=1) & (graph.sizes == 2))


def smooth(graph: Graph) -> Graph:
    """Return the graph with pixel stairs smoothed; nodes stay.

    Each pass moves a vertex to the mean of itself, with weight 2, and its two neighbors. Together they are a Gaussian
    with a standard deviation of about 1.4 vertices. Without it a line at 22.5 degrees is measured 8 % too long.
    """
    points, ends = graph.points.copy(), np.flatnonzero(graph.is_end)
    for _ in range(_LINE_SMOOTHING_PASSES):
        middles = (points[1:] + points[:-1]) / 2
        points[1:-1] = (middles[1:] + middles[:-1]) / 2
        points[ends] = graph.points[ends]
    return replace(graph, points=points)


def thin_out(graph: Graph, pixels: np.ndarray) -> Graph:
    """Return the graph of smoothed lines with about every fourth of their vertices.

    A line that runs more along the columns keeps its vertices in every fourth column, another one those in every fourth
    row. So the choice depends on the place alone and not on where the line begins, and parts of an image extracted one
    by one have the same lines. A smoothed line with bends of a radius of 20 pixels or more is nowhere farther than 0.1
    pixels from its thinned-out one, and all later steps have a quarter of the work. Short lines keep all vertices.

    The (p, 2) int64 `pixels` are the column and row of each vertex before it was smoothed. Up to multiples of four they
    count from the same place for all parts of an image.
    """
    before, after = graph.neighbors(_REACH)
    along = np.abs(pixels[after] - pixels[before])
    is_flat = along[:, 0] >= along[:, 1]
    at = np.where(is_flat, pixels[:, 0], pixels[:, 1])
    is_short = graph.sizes < _SHORT_LINE * _SPACING
    return select_points(graph, (at % _SPACING == 0) | is_short[graph.owner])


def _pixel_links(pixels: np.ndarray) -> np.ndarray:
    """Return links between neighboring pixels that have the topology of the 8-connected mask: (m, 2) int64.

    Links between all neighbors would add cycles: three of them form a triangle, and a block of 2 x 2 pixels a square,
    around which the mask has no hole. In terms of cell complexes these faces are collapsed, each with one link. A
    triangle loses its diagonal link, so that diagonal links are left only where no orthogonal path is next to them. A
    square loses its upper link. Since a square's lower link may be the upper one of the next, squares collapse from the
    top down.

    The (n, 2) int64 pixels are column and row in order of rows and from left to right. Links are pairs of their
    positions.
    """
    stride = pixels[:, 0].max(initial=0) + 2  # with an empty column, so that a row's last pixel is not next to a first
    at = pixels[:, 1] * stride + pixels[:, 0]
    padded, here = np.append(at, -1), np.arange(len(at))  # -1, after the last pixel, is a neighbor of none
    # Pixels are sorted by position: the three below are next to each other, and the search for one finds all.
    lower_left = np.searchsorted(at, at + stride - 1)
    below = lower_left + (padded[lower_left] == at + stride - 1)
    lower_right = below + (padded[below] == at + stride)
    has_right = padded[here + 1] == at + 1
    has_left = np.append(False, has_right[:-1])[: len(at)]
    has_lower_left, has_below = below > lower_left, lower_right > below
    has_lower_right = padded[lower_right] == at + stride + 1
    # The links that remain after each face is collapsed.
    links = (
        (has_right & ~(has_below & has_lower_right), here + 1),
        (has_below, below),
        (has_lower_right & ~has_right & ~has_below, lower_right),
        (has_lower_left & ~has_left & ~has_below, lower_left),
    )
    return np.concatenate([np.column_stack([here[linked], to[linked]]) for linked, to in links])
