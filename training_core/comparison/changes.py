"""Change classification of two road networks: which parts of their lines are intact, displaced or unmatched.

Scope: lines in meters and distances between them. Independent of topology, routes and layers.

- A segment is intact where a line of the other network of similar direction is within the tolerance.
- Of the rest of both, a segment is displaced where the nearest one of the other network of similar direction lies
  within the largest displacement, and the nearest one to that is this segment again, or one within the tolerance of it
  (mutual nearest neighbors). So two roads never share a counterpart.
- The remainder is unmatched: lost in the network before, new in the one after.

The rules are symmetric, so before and after can be swapped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely

from ..geodata.parallel_arrays import concatenated, ranges, selected
from ..jobs import CompareNetworks
from ..networks.lines import Lines, make_lines
from ..networks.road_graph import Places, RoadGraph, as_drawn
from .buffer_matching import Intervals, complement, matched_intervals

INTACT, DISPLACED, UNMATCHED = range(3)
# Largest length of the pieces for which displacement is measured.
_PIECE_M = 2.0


@dataclass(frozen=True)
class ChangeSegments:
    """A network's lines, as drawn, cut into n segments by change, in order along each line.

    The (n,) int64 `kind` is INTACT, DISPLACED or UNMATCHED. The (n,) float64 `offset_m` is the mean displacement of
    displaced segments; NaN for others. The intervals together cover every line, which has the number of its edge.
    """

    roads: RoadGraph
    intervals: Intervals
    kind: np.ndarray
    offset_m: np.ndarray

    @property
    def is_matched(self) -> np.ndarray:
        """Whether each segment is intact or displaced: (n,) bool."""
        return self.kind != UNMATCHED

    @property
    def length_m(self) -> np.ndarray:
        """Length of each segment: (n,) float64."""
        return self.intervals.end_m - self.intervals.begin_m

    @cached_property
    def lines(self) -> Lines:
        """The segments as n lines, with the attributes of the lines that they are parts of."""
        return self.roads.lines.parted(shapes_of(self.roads, self.intervals), self.intervals.edge)

    def lengths_by_line(self) -> np.ndarray:
        """Return the length in meters of each line that is intact, displaced and unmatched: (lines, 3) float64."""
        count = len(self.roads.lines)
        lengths_m = np.bincount(3 * self.intervals.edge + self.kind, self.length_m, minlength=3 * count)
        return lengths_m.reshape(count, 3)


@dataclass(frozen=True)
class _Remainder:
    """The parts of a network that are not intact."""

    roads: RoadGraph
    parts: Intervals

    @cached_property
    def graph(self) -> RoadGraph:
        """These parts alone: edge i is part i."""
        return as_drawn(make_lines(shapes_of(self.roads, self.parts)))


def classify_changes(
    before: RoadGraph, after: RoadGraph, job: CompareNetworks
) -> tuple[ChangeSegments, ChangeSegments]:
    """Return the lines of two networks, as drawn, cut into segments that are intact, displaced or unmatched."""
    intact = [
        matched_intervals(*pair, job.tolerance_m, job.parallel_angle) for pair in ((before, after), (after, before))
    ]
    rest, rest_after = (_Remainder(roads, complement(roads, parts)) for roads, parts in zip((before, after), intact))
    return _classified(rest, intact[0], rest_after, job), _classified(rest_after, intact[1], rest, job)


def _classified(rest: _Remainder, intact: Intervals, other: _Remainder, job: CompareNetworks) -> ChangeSegments:
    """Return all segments of a network from its intact ones and the rest."""
    # Intact intervals and pieces of the rest, which are displaced or not, in order along each line.
    pieces, offset_m = _displacements(rest, other, job)
    kind = np.where(np.isnan(offset_m), UNMATCHED, DISPLACED)
    covered = concatenated(intact, pieces)
    order = np.lexsort((covered.begin_m, covered.edge))
    kind = np.concatenate([np.full(len(intact.edge), INTACT), kind])[order]
    offset_m = np.concatenate([np.full(len(intact.edge), np.nan), offset_m])[order]
    return ChangeSegments(rest.roads, *_settled(selected(covered, order), kind, offset_m, job.min_stretch_m))


def _displacements(rest: _Remainder, other: _Remainder, job: CompareNetworks) -> tuple[Intervals, np.ndarray]:
    """Return the rest of a network in pieces, and the displacement of each; NaN if it has none."""
    pieces, interval = _pieces(rest.parts)
    offset_m = np.full(len(interval), np.nan)
    if not len(interval) or not len(other.parts.edge):
        return pieces, offset_m
    middles = Places(pieces.edge, (pieces.begin_m + pieces.end_m) / 2)
    points, headings = rest.roads.points_at(middles), rest.roads.headings_at(middles)
    # The counterpart of each piece, and the nearest place to that on this network again.
    counterpart, gap_m = other.graph.nearest(points, job.displaced_m, headings, job.parallel_angle)
    met = np.flatnonzero(counterpart.edge >= 0)
    counterpart = selected(counterpart, met)
    other_points, headings = other.graph.points_at(counterpart), other.graph.headings_at(counterpart)
    back, _ = rest.graph.nearest(other_points, job.displaced_m, headings, job.parallel_angle)
    met, back = met[back.edge >= 0], selected(back, back.edge >= 0)
    # Mutual neighbors: back on the same line, or near the piece.
    away_m = np.hypot(*(rest.graph.points_at(back) - points[met]).T)
    mutual = (rest.parts.edge[back.edge] == pieces.edge[met]) | (away_m <= job.tolerance_m)
    offset_m[met[mutual]] = gap_m[met[mutual]]
    return pieces, offset_m


def _pieces(parts: Intervals) -> tuple[Intervals, np.ndarray]:
    """Return intervals cut into equal pieces that are short enough, and the number of each piece's interval."""
    lengths_m = parts.end_m - parts.begin_m
    counts = np.ceil(lengths_m / _PIECE_M).astype(np.int64)
    interval = np.repeat(np.arange(len(counts)), counts)
    number = ranges(np.zeros_like(counts), counts)
    begin_m, end_m = (
        parts.begin_m[interval] + lengths_m[interval] * (number + ahead) / counts[interval] for ahead in (0, 1)
    )
    return Intervals(parts.edge[interval], begin_m, end_m), interval


def shapes_of(roads: RoadGraph, parts: Intervals) -> np.ndarray:
    """Return parts of a network as lines: (n,) object."""
    return shapely.remove_repeated_points(roads.lines_at(parts.edge, parts.begin_m, parts.end_m))


def _settled(
    pieces: Intervals, kind: np.ndarray, offset_m: np.ndarray, min_stretch_m: float
) -> tuple[Intervals, np.ndarray, np.ndarray]:
    """Return pieces, which cover their lines in order, merged into segments none of which is too short."""
    length_m = pieces.end_m - pieces.begin_m
    kind = without_flicker(pieces.edge, length_m, kind, min_stretch_m)
    run, first, last = runs_of(pieces.edge, kind)
    # The offset of a run is the mean of its displaced pieces by their length.
    moved = np.isfinite(offset_m)
    moved_m = np.bincount(run[moved], length_m[moved], minlength=len(first))
    weighted_m2 = np.bincount(run[moved], (offset_m * length_m)[moved], minlength=len(first))
    mean_m = np.divide(weighted_m2, moved_m, out=np.full(len(first), np.nan), where=moved_m > 0)
    intervals = Intervals(pieces.edge[first], pieces.begin_m[first], pieces.end_m[last])
    return intervals, kind[first], np.where(kind[first] == DISPLACED, mean_m, np.nan)


def runs_of(edge: np.ndarray, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the number of each piece's run (of one kind on one line), and the first and last piece of each run."""
    begins = np.ones(len(edge), dtype=bool)
    begins[1:] = (np.diff(edge) != 0) | (np.diff(kind) != 0)
    return np.cumsum(begins) - 1, np.flatnonzero(begins), np.flatnonzero(np.roll(begins, -1))


def without_flicker(edge: np.ndarray, length_m: np.ndarray, kind: np.ndarray, min_stretch_m: float) -> np.ndarray:
    """Return the kinds of pieces after short runs, the shortest first, took the kind of their longer neighbor."""
    while len(kind):
        run, first, _ = runs_of(edge, kind)
        run_m, run_kind = np.bincount(run, length_m), kind[first]
        # Lengths of each run's neighbors on the same line, -1 where there is none.
        goes_on = np.append(edge[first][1:] == edge[first][:-1], False)
        previous_m = np.where(np.roll(goes_on, 1), np.roll(run_m, 1), -1)
        next_m = np.where(goes_on, np.roll(run_m, -1), -1)
        is_short = (run_m < min_stretch_m) & (np.maximum(previous_m, next_m) >= 0)
        short_m = np.where(is_short, run_m, np.inf)
        # The shortest of adjacent short runs changes first, among equals the last: so no two neighbors change at once.
        shorter = (previous_m < 0) | (short_m <= np.roll(short_m, 1))
        changed = np.flatnonzero(is_short & shorter & ((next_m < 0) | (short_m < np.roll(short_m, -1))))
        if not changed.size:
            break
        neighbor = np.where(previous_m > next_m, np.roll(run_kind, 1), np.roll(run_kind, -1))
        run_kind[changed] = neighbor[changed]
        kind = run_kind[run]
    return kind
