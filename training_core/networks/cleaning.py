"""From the graph of a skeleton to a road network: small functions from a graph to a cleaner one.

Knows spurs, components and the shape of lines, all measured in meters on the ground; knows nothing of masks, maps or
files. Coordinates stay columns and rows; `pixel_m` is the ground size of a pixel along both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import shapely

from .chains import join_chains
from .graph import Graph, move_nodes, runs, select_edges


def prune_spurs(
    graph: Graph,
    pixel_m: tuple[float, float],
    spur_m: float,
    width_m: Callable[[np.ndarray], np.ndarray],
    is_cut: Callable[[np.ndarray], np.ndarray],
    join: Callable[[Graph], Graph] = join_chains,
) -> Graph:
    """Return the graph without short dead ends.

    A dead end that leaves a junction goes where it is shorter than `spur_m`, or than the road is wide at the junction:
    thinning turns every bump of a road's side, and each corner of its end, into such a spur. At each junction the
    shortest goes first, and nodes left with two edges are joined before the next is looked at, so that of the two
    spurs at a road's end one stays as its continuation, and no component goes as a whole. For rules other than length
    see Bai, Latecki and Liu, "Skeleton pruning by contour partitioning with discrete curve evolution", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 29 (2007).

    Parameters
    ----------
    graph : Graph
    pixel_m : tuple of float
        Ground size of a pixel in meters along columns and along rows.
    spur_m : float
        Length in meters.
    width_m : callable
        Width of the road in meters at points (n, 2).
    is_cut : callable
        Whether points (n, 2) are ends only since the data ends there; such an end stays.
    join : callable
        Makes one of edges that go on in each other.
    """
    while True:
        spurs = _spurs(graph, pixel_m, spur_m, width_m, is_cut)
        if not spurs.size:
            return graph
        kept = np.ones(len(graph.edges), dtype=bool)
        kept[spurs] = False
        graph = join(select_edges(graph, kept))


def _spurs(
    graph: Graph,
    pixel_m: tuple[float, float],
    spur_m: float,
    width_m: Callable[[np.ndarray], np.ndarray],
    is_cut: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the shortest spur of each junction that has any: (k,), int64."""
    degrees = graph.degree[graph.edges]
    dead = np.flatnonzero((degrees.min(axis=1) == 1) & (degrees.max(axis=1) > 2))
    first_is_end = degrees[dead, 0] == 1
    end = np.where(first_is_end, graph.edges[dead, 0], graph.edges[dead, 1])
    junction = np.where(first_is_end, graph.edges[dead, 1], graph.edges[dead, 0])
    length_m = graph.lengths(pixel_m)[dead]
    short = length_m < np.maximum(spur_m, width_m(graph.nodes[junction]))
    short &= ~is_cut(graph.nodes[end])
    order = np.lexsort((length_m[short], junction[short]))
    _, shortest = np.unique(junction[short][order], return_index=True)
    return dead[short][order][shortest]


def drop_short_components(graph: Graph, pixel_m: tuple[float, float], min_length_m: float) -> Graph:
    """Return the graph without the connected components whose edges are shorter in all than `min_length_m`."""
    long_enough = component_lengths(graph, pixel_m) >= min_length_m
    return select_edges(graph, long_enough[graph.edge_component])


def component_lengths(graph: Graph, pixel_m: tuple[float, float]) -> np.ndarray:
    """Return the length in meters of the edges of each connected component: (components,), float64."""
    count = graph.component.max(initial=-1) + 1
    return np.bincount(graph.edge_component, graph.lengths(pixel_m), minlength=count)


def median_of_lines(graph: Graph, values: np.ndarray) -> np.ndarray:
    """Return the median of each line's vertices: (m,), float64; not a number where it is infinite."""
    order = np.lexsort((values, graph.owner))
    low, high = (graph.sizes - 1) // 2, graph.sizes // 2
    middle = (values[order[graph.offsets[:-1] + low]] + values[order[graph.offsets[:-1] + high]]) / 2
    return np.where(np.isfinite(middle), middle, np.nan)


def simplify(graph: Graph, pixel_m: tuple[float, float], tolerance_m: float) -> Graph:
    """Return the graph with as few vertices as keep every line within a tolerance of what it was.

    The method is that of Douglas and Peucker, "Algorithms for the reduction of the number of points required to
    represent a digitized line or its caricature", Cartographica 10 (1973). A ring keeps at least three corners, and
    parallel edges at least one vertex each between their ends, so that none is lost or falls upon another.

    Parameters
    ----------
    graph : Graph
    pixel_m : tuple of float
        Ground size of a pixel in meters along columns and along rows.
    tolerance_m : float
        Distance in meters.
    """
    if not len(graph.edges):
        return graph
    points_m = graph.points * pixel_m
    begins = np.union1d(graph.offsets[:-1], _corners(graph, points_m))
    goes_on = np.isin(begins[1:], graph.offsets, invert=True)  # in the next piece, which begins where this one ends
    counts = np.diff(begins, append=len(points_m)) + np.append(goes_on, False)
    pieces = shapely.linestrings(
        points_m[runs(begins, counts, np.ones_like(begins))], indices=np.repeat(np.arange(len(begins)), counts)
    )
    simple = shapely.simplify(pieces, tolerance_m, preserve_topology=False)
    points_m, piece = shapely.get_coordinates(simple, return_index=True)
    stands_twice = np.append(goes_on, False)[piece] & np.append(np.diff(piece) > 0, True)
    line = graph.owner[begins][piece[~stands_twice]]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(line, minlength=len(graph.edges)))])
    simplified = replace(graph, points=points_m[~stands_twice] / pixel_m, offsets=offsets)
    return move_nodes(simplified, graph.nodes)  # back from meters without a rounding error, so that lines meet


def _corners(graph: Graph, points_m: np.ndarray) -> np.ndarray:
    """Return the vertices that rings and parallel edges must keep.

    Of a ring it is the one farthest from its beginning, and of both the one farthest from the straight line between
    the vertices kept so far.
    """
    _, pair, counts = np.unique(np.sort(graph.edges, axis=1), axis=0, return_inverse=True, return_counts=True)
    is_loop = graph.edges[:, 0] == graph.edges[:, 1]
    corners = []
    for edge in np.flatnonzero(is_loop | (counts[pair.ravel()] > 1)):
        begin, end = graph.offsets[edge], graph.offsets[edge + 1]
        away = points_m[begin:end] - points_m[begin]
        far = np.hypot(*away.T).argmax() if is_loop[edge] else -1
        aside = np.abs(away[:, 0] * away[far, 1] - away[:, 1] * away[far, 0]).argmax()
        corners += [begin + aside, begin + far] if is_loop[edge] else [begin + aside]
    return np.array(corners, dtype=np.int64)
