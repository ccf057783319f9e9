"""What has become of a road network: which of its lines run on, have moved, or have no counterpart in another.

Knows lines in meters and distances between them; knows nothing of junctions, routes or layers.

- A stretch is intact where a line of the other network that runs alike is within the tolerance.
- Of what is left in both, a stretch is displaced where the nearest of the other network that runs alike lies within the
  largest displacement, and that one's nearest is this stretch again, or one within the tolerance of it. So two roads
  never share a counterpart, and what has one already is no other's.
- The rest has none. Of the network before that is lost; of the one after it is new.

Both networks are judged by the same rules, so before and after can change places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from ..networks.lines import make_lines
from ..networks.parallel_arrays import concatenated
from ..networks.road_graph import Places, RoadGraph, as_drawn
from ..networks.stretches import Stretches, near, rest

INTACT, DISPLACED, UNMATCHED = range(3)
# A stretch is judged by pieces as long as this, at most.
_PIECE_M = 2.0


@dataclass(frozen=True)
class Limits:
    """What counts as the same road.

    Parameters
    ----------
    tolerance_m, displaced_m : float
        How near an intact road and a displaced one must be.
    angle : float
        The largest difference of their directions, in degrees.
    min_stretch_m : float
        Shorter stretches become part of the longer of their neighbors on the same line.
    """

    tolerance_m: float
    displaced_m: float
    angle: float
    min_stretch_m: float


@dataclass(frozen=True)
class Fates:
    """What has become of lines: each one cut into stretches, in order along it.

    Parameters
    ----------
    stretches : Stretches
        n of them.
    kind : ndarray (n,), int64
        INTACT, DISPLACED or UNMATCHED.
    offset_m : ndarray (n,), float64
        How far displaced stretches have moved, in the mean; not a number for others.
    """

    stretches: Stretches
    kind: np.ndarray
    offset_m: np.ndarray

    @property
    def length_m(self) -> np.ndarray:
        """Length of each stretch: (n,), float64."""
        return self.stretches.end_m - self.stretches.begin_m

    def lengths_by_line(self, count: int) -> np.ndarray:
        """Return how much of each line is intact, displaced and without a counterpart: (count, 3), float64."""
        lengths_m = np.bincount(3 * self.stretches.edge + self.kind, self.length_m, minlength=3 * count)
        return lengths_m.reshape(count, 3)


def find_fates(roads: RoadGraph, other: RoadGraph, limits: Limits) -> Fates:
    """Return what has become of a network's lines, seen from another network, both as drawn; see `as_drawn`."""
    same, other_same = (near(*pair, limits.tolerance_m, limits.angle) for pair in ((roads, other), (other, roads)))
    pieces, offset_m = _displacements(roads, rest(roads, same), other, rest(other, other_same), limits)
    kind = np.where(np.isnan(offset_m), UNMATCHED, DISPLACED)
    covered = concatenated(same, pieces)
    order = np.lexsort((covered.begin_m, covered.edge))
    kind = np.concatenate([np.full(len(same.edge), INTACT), kind])[order]
    offset_m = np.concatenate([np.full(len(same.edge), np.nan), offset_m])[order]
    return _settled(covered.select(order), kind, offset_m, limits.min_stretch_m)


def _displacements(
    roads: RoadGraph, left: Stretches, other: RoadGraph, other_left: Stretches, limits: Limits
) -> tuple[Stretches, np.ndarray]:
    """Return what is left of a network in pieces, and how far each has moved; not a number where it has not."""
    pieces, stretch = _pieces(left)
    offset_m = np.full(len(stretch), np.nan)
    if not len(stretch) or not len(other_left.edge):
        return pieces, offset_m
    own, others = _alone(roads, left), _alone(other, other_left)
    middles = Places(pieces.edge, (pieces.begin_m + pieces.end_m) / 2)
    points, headings = roads.points_at(middles), roads.headings_at(middles)
    found, gap_m = others.nearest(points, limits.displaced_m, headings, limits.angle)
    met = np.flatnonzero(found.edge >= 0)
    found = found.select(met)
    back, _ = own.nearest(others.points_at(found), limits.displaced_m, others.headings_at(found), limits.angle)
    met, back = met[back.edge >= 0], back.select(back.edge >= 0)
    away_m = np.hypot(*(own.points_at(back) - points[met]).T)
    mutual = (left.edge[back.edge] == pieces.edge[met]) | (away_m <= limits.tolerance_m)
    offset_m[met[mutual]] = gap_m[met[mutual]]
    return pieces, offset_m


def _pieces(parts: Stretches) -> tuple[Stretches, np.ndarray]:
    """Return stretches cut into equal pieces that are short enough, and the number of each one's stretch."""
    lengths_m = parts.end_m - parts.begin_m
    counts = np.ceil(lengths_m / _PIECE_M).astype(np.int64)
    stretch = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(stretch)) - np.repeat(np.cumsum(counts) - counts, counts)
    begin_m, end_m = (
        parts.begin_m[stretch] + lengths_m[stretch] * (number + ahead) / counts[stretch] for ahead in (0, 1)
    )
    return Stretches(parts.edge[stretch], begin_m, end_m), stretch


def _alone(roads: RoadGraph, parts: Stretches) -> RoadGraph:
    """Return stretches as a network of their own."""
    return as_drawn(make_lines(shapes_of(roads, parts)))


def shapes_of(roads: RoadGraph, parts: Stretches) -> np.ndarray:
    """Return stretches of a network as lines: (n,), object."""
    return shapely.remove_repeated_points(roads.lines_at(parts.edge, parts.begin_m, parts.end_m))


def _settled(pieces: Stretches, kind: np.ndarray, offset_m: np.ndarray, min_stretch_m: float) -> Fates:
    """Return pieces, which cover their lines in order, joined to stretches of which none is too short."""
    length_m = pieces.end_m - pieces.begin_m
    kind = _without_flicker(pieces.edge, length_m, kind, min_stretch_m)
    run, first = _runs_of(pieces.edge, kind)
    last = np.append(first[1:], len(kind))[: len(first)] - 1
    moved = np.isfinite(offset_m)
    moved_m = np.bincount(run[moved], length_m[moved], minlength=len(first))
    weighted_m2 = np.bincount(run[moved], (offset_m * length_m)[moved], minlength=len(first))
    mean_m = np.divide(weighted_m2, moved_m, out=np.full(len(first), np.nan), where=moved_m > 0)
    stretches = Stretches(pieces.edge[first], pieces.begin_m[first], pieces.end_m[last])
    return Fates(stretches, kind[first], np.where(kind[first] == DISPLACED, mean_m, np.nan))


def _runs_of(edge: np.ndarray, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of the run of one kind on one line that each piece is in, and each run's first piece."""
    begins = np.ones(len(edge), dtype=bool)
    begins[1:] = (np.diff(edge) != 0) | (np.diff(kind) != 0)
    return np.cumsum(begins) - 1, np.flatnonzero(begins)


def _without_flicker(edge: np.ndarray, length_m: np.ndarray, kind: np.ndarray, min_stretch_m: float) -> np.ndarray:
    """Return the kinds of pieces where runs that are too short have that of their longer neighbor, shortest first."""
    while len(kind):
        run, first = _runs_of(edge, kind)
        run_m, run_kind = np.bincount(run, length_m), kind[first]
        # Of the neighbors before and behind each run: how long they are, and where there is none, less than nothing.
        goes_on = np.append(edge[first][1:] == edge[first][:-1], False)
        previous_m = np.where(np.roll(goes_on, 1), np.roll(run_m, 1), -1)
        next_m = np.where(goes_on, np.roll(run_m, -1), -1)
        is_short = (run_m < min_stretch_m) & (np.maximum(previous_m, next_m) >= 0)
        short_m = np.where(is_short, run_m, np.inf)
        # Of short runs side by side the shortest goes first, of equal ones the last: so no two of these are neighbors.
        shorter = (previous_m < 0) | (short_m <= np.roll(short_m, 1))
        changed = np.flatnonzero(is_short & shorter & ((next_m < 0) | (short_m < np.roll(short_m, -1))))
        if not changed.size:
            break
        neighbor = np.where(previous_m > next_m, np.roll(run_kind, 1), np.roll(run_kind, -1))
        run_kind[changed] = neighbor[changed]
        kind = run_kind[run]
    return kind
