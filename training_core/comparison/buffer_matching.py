"""Buffer matching: the parts of a road network within a tolerance of another, and scores by their lengths.

Scope: road graphs on a plane in meters. Independent of paths along them (see `path_scores`).

The buffer of a straight segment is convex, so the part of another straight segment inside it is one interval, which is
computed exactly, without approximating buffers by polygons.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import harmonic_mean

import numpy as np
import pandas

from ..geodata.parallel_arrays import concatenated, selected
from ..networks.road_graph import RoadGraph

# Distances this far above the tolerance are within it, and gaps shorter than this do not count, because of rounding.
_ROUNDING_M = 1e-6


@dataclass(frozen=True)
class Intervals:
    """Parts of (n,) int64 edges in order along them, each between two (n,) float64 distances in meters."""

    edge: np.ndarray
    begin_m: np.ndarray
    end_m: np.ndarray

    @property
    def length_m(self) -> float:
        """Total length of the parts."""
        return float((self.end_m - self.begin_m).sum())


def matched_intervals(
    roads: RoadGraph, other: RoadGraph, tolerance_m: float, within_degrees: float = 90.0
) -> Intervals:
    """Return the parts of a network's edges within a tolerance of edges of another network with a similar heading.

    `within_degrees` is the largest angle between segments that are compared; 90 compares all.
    """
    parts = [Intervals(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))]
    # For each pair of near segments, the interval of the first one in the buffer of the other; all intervals united.
    for vertex, other_vertex in roads.neighbors(other, tolerance_m):
        begin, step = roads.graph.points[vertex], roads.graph.points[vertex + 1] - roads.graph.points[vertex]
        if within_degrees < 90:
            likewise = other.runs_like(other_vertex, step / np.hypot(*step.T)[:, None], within_degrees)
            vertex, other_vertex, begin, step = (values[likewise] for values in (vertex, other_vertex, begin, step))
        other_begin, other_end = other.graph.points[other_vertex], other.graph.points[other_vertex + 1]
        low, high = _within_capsule(begin, step, other_begin, other_end, tolerance_m + _ROUNDING_M)
        met, along_m = low <= high, roads.along_m[vertex]
        parts.append(_united(Intervals(roads.graph.owner[vertex][met], (along_m + low)[met], (along_m + high)[met])))
    return _united(concatenated(*parts))


def complement(roads: RoadGraph, parts: Intervals) -> Intervals:
    """Return a network's edges without some parts of them."""
    edges = np.arange(len(roads.graph.edges))
    # In order along each edge, a gap begins at the edge's start or a part's end, and ends at a part's start or the end.
    begin = np.concatenate([np.zeros(len(edges)), parts.end_m])
    end = np.concatenate([parts.begin_m, roads.length_m])
    begin_order = np.lexsort((begin, np.concatenate([edges, parts.edge])))
    end_order = np.lexsort((end, np.concatenate([parts.edge, edges])))
    begin, end = begin[begin_order], end[end_order]
    kept = end - begin > _ROUNDING_M
    return selected(Intervals(np.concatenate([edges, parts.edge])[begin_order], begin, end), kept)


def _within_capsule(
    begin: np.ndarray, step: np.ndarray, one: np.ndarray, other: np.ndarray, radius_m: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the interval of each straight segment within a radius of another, in meters from its start.

    The buffer of a segment is a capsule: two disks and the rectangle between them. An interval is empty if it begins
    after its end. A segment has a start and a step to its end. The other one has both ends. All are (n, 2) float64.
    """
    length_m = np.hypot(*step.T)
    heading = step / length_m[:, None]
    parts = [_within_disk(begin, heading, center, radius_m) for center in (one, other)]
    # The rectangle: between both ends along its axis, and within the radius across it.
    axis = other - one
    axis_m = np.hypot(*axis.T)
    axis = axis / axis_m[:, None]
    away = begin - one
    along = _within_band((away * axis).sum(axis=1), (heading * axis).sum(axis=1), 0.0, axis_m)
    aside = _within_band(_cross(axis, away), _cross(axis, heading), -radius_m, radius_m)
    low, high = np.maximum(along[0], aside[0]), np.minimum(along[1], aside[1])
    parts.append((np.where(low <= high, low, np.inf), np.where(low <= high, high, -np.inf)))
    # The union of disks and rectangle is convex, so its interval reaches from the least start to the greatest end.
    low = np.minimum.reduce([part[0] for part in parts])
    high = np.maximum.reduce([part[1] for part in parts])
    return np.maximum(low, 0), np.minimum(high, length_m)


def _within_disk(
    begin: np.ndarray, heading: np.ndarray, center: np.ndarray, radius_m: float
) -> tuple[np.ndarray, np.ndarray]:
    middle = ((center - begin) * heading).sum(axis=1)
    half2 = radius_m**2 - _cross(heading, center - begin) ** 2
    half = np.sqrt(np.maximum(half2, 0))
    return np.where(half2 >= 0, middle - half, np.inf), np.where(half2 >= 0, middle + half, -np.inf)


def _within_band(
    position: np.ndarray, speed: np.ndarray, low: float, high: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the interval in which position + t * speed lies between two bounds."""
    # Times at which both bounds are crossed; without movement, always or never.
    inside = (position >= low) & (position <= high)
    moves = speed != 0
    speed = np.where(moves, speed, 1)
    first, second = (low - position) / speed, (high - position) / speed
    enter = np.where(moves, np.minimum(first, second), np.where(inside, -np.inf, np.inf))
    leave = np.where(moves, np.maximum(first, second), np.where(inside, np.inf, -np.inf))
    return enter, leave


def _cross(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]


def _united(parts: Intervals) -> Intervals:
    """Return the union of parts of edges, which may overlap and be in any order."""
    order = np.lexsort((parts.begin_m, parts.edge))
    edge, begin_m = parts.edge[order], parts.begin_m[order]
    # The farthest end so far on each edge: a part that begins beyond it, but for rounding, is the next of the union.
    reach_m = pandas.Series(parts.end_m[order]).groupby(edge).cummax().to_numpy()
    is_first = np.ones(len(edge), dtype=bool)
    is_first[1:] = (np.diff(edge) > 0) | (begin_m[1:] - reach_m[:-1] > _ROUNDING_M)
    is_last = np.roll(is_first, -1)
    return Intervals(edge[is_first], begin_m[is_first], reach_m[is_last])


@dataclass(frozen=True)
class LineScores:
    """How much of the truth is found, and how much of the proposal is true, within a tolerance.

    Completeness, correctness and quality are defined by Heipke, Mayer, Wiedemann and Jamet, "Evaluation of automatic
    road extraction", International Archives of Photogrammetry and Remote Sensing 32 (1997). On center-lines
    completeness is also the relaxed recall, and correctness the relaxed precision, of Mnih and Hinton, "Learning to
    detect roads in high-resolution aerial images", ECCV 2010: the limit of counting points along the lines as their
    spacing goes to 0.

    Of the truth, `found_m` is within the tolerance of the proposal; of the proposal, `true_m` within that of the truth.
    """

    tolerance_m: float
    truth_m: float
    found_m: float
    proposal_m: float
    true_m: float

    @property
    def completeness(self) -> float:
        """Fraction of the true length that is found: the relaxed recall."""
        return self.found_m / self.truth_m if self.truth_m else 0.0

    @property
    def correctness(self) -> float:
        """Fraction of the proposed length that is true: the relaxed precision."""
        return self.true_m / self.proposal_m if self.proposal_m else 0.0

    @property
    def quality(self) -> float:
        """Length-based IoU: correct length, divided by proposed and missed length together."""
        everything_m = self.proposal_m + self.truth_m - self.found_m
        return self.true_m / everything_m if everything_m else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of relaxed precision and recall."""
        return float(harmonic_mean([self.correctness, self.completeness]))


def score_lines(truth: RoadGraph, proposal: RoadGraph, tolerance_m: float) -> LineScores:
    """Return how much of each of two networks lies within a tolerance of the other."""
    truth_m, proposal_m = (float(roads.length_m.sum()) for roads in (truth, proposal))
    found_m, true_m = (
        matched_intervals(*pair, tolerance_m).length_m for pair in ((truth, proposal), (proposal, truth))
    )
    # Rounding must not match more than the whole length.
    return LineScores(tolerance_m, truth_m, min(found_m, truth_m), proposal_m, min(true_m, proposal_m))
