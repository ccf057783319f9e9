"""A network after its review: rejected stretches cut out, accepted ones marked, and labels to train on.

Scope: lines and verdicts in a plane of meters. Independent of layers and fields.

A stretch belongs to the line on which it lies. One that no line runs along any more, since that was moved or deleted,
changes nothing. An answer that was applied before is not applied again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from scipy.spatial import KDTree

from ..geodata.parallel_arrays import concatenated, selected
from ..jobs.review import ACCEPTED, DRAWN, MACHINE, REJECTED
from ..networks.lines import Lines, make_lines
from ..networks.road_graph import as_drawn
from .attachment import attach

# A stretch lies on a line, and its length is that of a part of it, to within this: GeoJSON and editing move vertices.
_ON_LINE_M = 0.5
# Rounding may leave so much between stretches that follow each other.
_SLIVER_M = 0.05
# Places of two people are the same within this distance of their ends and middles.
_SAME_M = 0.5
# A line runs along a rejected stretch where it is within this distance, and goes on along it by this fraction of its
# length. One that crosses it, or passes its end, does not.
_REJECTED_M, _ALONG = 5.0, 0.75
# New lines run beside judged ones by more than this, and are at least so long where they were cut.
BESIDE_M, _SHORTEST_M = 8.0, 10.0
# Ground that was seen by who judged a line.
_SEEN_M = 50.0
# Labels: width of a road that has none, ground beside a rejected stretch, and judged ground beside any: so wide that
# as much of it is background as in the image.
_USUAL_WIDTH_M, _MARGIN_M, _AROUND_M = 6.0, 2.0, 30.0


@dataclass(frozen=True)
class Verdicts:
    """Stretches with verdicts, (n,) each: shapes, ACCEPTED or REJECTED, width or NaN."""

    shapes: np.ndarray
    verdict: np.ndarray
    width_m: np.ndarray


def agreed(*given: Verdicts) -> tuple[Verdicts, int]:
    """Return the verdicts of people with each place once, without contradictions, and the number of these.

    If a person accepted and rejected the same stretch, it is rejected, as a click on a line of an accepted view means.
    """
    verdicts, person = concatenated(*given), np.repeat(np.arange(len(given)), [len(each.shapes) for each in given])
    if not len(verdicts.shapes):
        return verdicts, 0
    fractions = np.array([0.0, 0.5, 1.0])
    points = shapely.get_coordinates(
        shapely.line_interpolate_point(verdicts.shapes[:, None], fractions, normalized=True)
    ).reshape(len(verdicts.shapes), 6)
    pairs = KDTree(points).query_pairs(_SAME_M, p=np.inf, output_type="ndarray")
    kept = np.ones(len(points), dtype=bool)
    own = pairs[person[pairs[:, 0]] == person[pairs[:, 1]]]
    own = own[verdicts.verdict[own[:, 0]] != verdicts.verdict[own[:, 1]]]
    kept[own[verdicts.verdict[own] == ACCEPTED]] = False
    pairs = pairs[kept[pairs].all(axis=1)]
    is_contradicted = verdicts.verdict[pairs[:, 0]] != verdicts.verdict[pairs[:, 1]]
    kept[pairs[:, 1]] = False
    kept[pairs[is_contradicted].ravel()] = False
    return selected(verdicts, kept), len(np.unique(pairs[is_contradicted].min(axis=1)))


@dataclass(frozen=True)
class Judged:
    """Parts of lines, (k,) object, the (k,) int64 line of each, and (k,) bool which of them a person accepted.

    `not_found` stretches lie on no line, and were not applied before.
    """

    shapes: np.ndarray
    line: np.ndarray
    is_accepted: np.ndarray
    not_found: int


def judge(lines: Lines, verdicts: Verdicts, status: np.ndarray) -> Judged:
    """Return lines without rejected stretches, cut where accepted ones begin and end; lines nobody judged stay.

    So do those that a person has drawn by their status, (n,) object: perhaps where the stretch was that is rejected.
    """
    place, line, begin_m, end_m = _on_lines(lines, verdicts.shapes)
    kept = status[line] != DRAWN
    place, line, begin_m, end_m = place[kept], line[kept], begin_m[kept], end_m[kept]
    is_rejected, length_m = verdicts.verdict[place] == REJECTED, lines.length_m
    # The parts of all lines as owner, begin, end and whether accepted; a line that nobody judged is one part.
    rest = np.setdiff1d(np.arange(len(lines)), line)
    parts = [np.column_stack([rest, np.zeros(len(rest)), length_m[rest], np.zeros(len(rest))])]
    for number in np.unique(line):
        own = line == number
        cuts = np.unique([0.0, *begin_m[own], *end_m[own], length_m[number]])
        middle_m = (cuts[1:] + cuts[:-1]) / 2
        is_within = (begin_m[own][:, None] - _SLIVER_M <= middle_m) & (middle_m <= end_m[own][:, None] + _SLIVER_M)
        is_gone = (is_within & is_rejected[own][:, None]).any(axis=0)
        is_good = is_within.any(axis=0)
        # Neighbors of one verdict are one part.
        runs = np.flatnonzero(np.append(True, (np.diff(is_gone) != 0) | (np.diff(is_good) != 0)))
        ends_m = np.append(cuts[runs[1:]], length_m[number])
        kept = ~is_gone[runs]
        parts.append(np.column_stack([np.full(len(runs), number), cuts[runs], ends_m, is_good[runs]])[kept])
    owner, begins_m, ends_m, is_accepted = np.concatenate(parts).T
    order = np.argsort(owner, kind="stable")
    owner = owner[order].astype(np.int64)
    is_whole = np.isin(owner, rest)
    shapes = lines.shapes[owner]
    pieces = as_drawn(lines).lines_at(owner[~is_whole], begins_m[order][~is_whole], ends_m[order][~is_whole])
    shapes[~is_whole] = shapely.remove_repeated_points(pieces)
    missed = selected(verdicts, np.setdiff1d(np.arange(len(verdicts.shapes)), place))
    middle = shapely.line_interpolate_point(missed.shapes, 0.5, normalized=True)
    is_gone = (missed.verdict == REJECTED) & ~_near(middle, lines.shapes, BESIDE_M)
    is_there = (missed.verdict == ACCEPTED) & _are_roads_of(lines.shapes[status != MACHINE], missed.shapes)
    return Judged(shapes, owner, is_accepted[order] > 0, int((~is_gone & ~is_there).sum()))


def _near(shapes: np.ndarray, network: np.ndarray, within_m: float) -> np.ndarray:
    """Return which shapes, (n,) object, are within a distance of any of a network, (m,) object: (n,) bool."""
    found = shapely.STRtree(network).query(shapes, predicate="dwithin", distance=within_m)[0]
    return np.bincount(found, minlength=len(shapes)) > 0


def _are_roads_of(network: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Return which lines, (n,) object, run mostly beside a network, (m,) object, as its own roads do: (n,) bool."""
    network = network[_near(network, shapes, BESIDE_M)]
    around = shapely.union_all(shapely.buffer(network, BESIDE_M))
    return shapely.length(shapely.intersection(shapes, around)) > shapely.length(shapes) / 2


def _on_lines(lines: Lines, shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return which (k,) stretches lie on which lines, and where each begins and ends along its line in meters."""
    if not len(shapes) or not len(lines):
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros(0), np.zeros(0)
    middle = shapely.line_interpolate_point(shapes, 0.5, normalized=True)
    place, line = shapely.STRtree(lines.shapes).query(middle, predicate="dwithin", distance=_ON_LINE_M)
    on, stretch = lines.shapes[line], shapes[place]
    length_m, whole_m = shapely.length(stretch), shapely.length(on)
    at_m = np.sort([shapely.line_locate_point(on, shapely.get_point(stretch, index)) for index in (0, -1)], axis=0)
    # On a ring, its beginning is its end as well: of the parts around the middle, the one as long as the stretch.
    (first_m, last_m), middle_m = at_m, shapely.line_locate_point(on, middle[place])
    nowhere = np.zeros(len(place))
    begins_m = np.array([first_m, last_m, nowhere, nowhere])
    ends_m = np.array([last_m, whole_m, first_m, whole_m])
    is_around = (begins_m <= middle_m) & (middle_m <= ends_m)
    best = np.where(is_around, np.abs(ends_m - begins_m - length_m), np.inf).argmin(axis=0)
    begin_m, end_m = (np.take_along_axis(each, best[None], axis=0)[0] for each in (begins_m, ends_m))
    begin_m = np.where(begin_m < _ON_LINE_M, 0, begin_m)
    end_m = np.where(whole_m - end_m < _ON_LINE_M, whole_m, end_m)
    along = shapely.line_interpolate_point(stretch, np.array([[0], [0.25], [0.75], [1]]), normalized=True)
    away_m = shapely.distance(along, on).max(axis=0)
    fits = (away_m <= _ON_LINE_M) & (np.abs(end_m - begin_m - length_m) <= 2 * _ON_LINE_M)
    return place[fits], line[fits], begin_m[fits], end_m[fits]


def connected(lines: Lines, new: np.ndarray, join_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Return lines and new ones, (n,) and (k,) object, with a vertex in both where they are connected."""
    # A new line ends where the ground of the others begins, so that it points at the road that it came from.
    joined, before = attach(make_lines(new), lines.shapes, lines, 1.5 * BESIDE_M, join_m)
    return before, joined


def outside_box(shapes: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parts of lines, (n,) object, outside the box around new ones: (k,) object, and their (k,) int64 lines.

    Beyond it, nothing may have been extracted anew.
    """
    if len(new):
        shapes = shapely.difference(shapes, shapely.box(*shapely.total_bounds(new)))
    parts, owner = shapely.get_parts(shapes, return_index=True)
    has_length = shapely.length(parts) > 0
    return parts[has_length], owner[has_length]


def off_judged(
    new: np.ndarray, judged: np.ndarray, rejected: np.ndarray, unjudged: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the parts of new lines, (n,) object, off judged ground: (k,) object, and the (k,) int64 line of each.

    They keep clear of judged lines, and do not run along rejected stretches. Short rests are left out, and so is what
    lies near judged lines alone and no unjudged line was before: who judged these saw that nothing was missing there.
    """
    line, near = shapely.STRtree(judged).query(new, predicate="dwithin", distance=BESIDE_M)
    along, runs = _runs_along(new, rejected)
    line, ground = np.append(line, along), np.append(shapely.buffer(judged, BESIDE_M)[near], runs)
    rest, order = new.copy(), np.argsort(line, kind="stable")
    numbers, begins = np.unique(line[order], return_index=True)
    for number, grounds in zip(numbers, np.split(ground[order], begins[1:])):
        rest[number] = shapely.difference(new[number], shapely.union_all(grounds))
    parts, owner = shapely.get_parts(rest, return_index=True)
    seen = shapely.union_all(shapely.buffer(np.concatenate([judged, rejected]), _SEEN_M))
    shapely.prepare(seen)
    kept = (shapely.length(parts) >= _SHORTEST_M) | ~np.isin(owner, line)
    kept &= ~shapely.covered_by(parts, seen) | _are_roads_of(unjudged, parts)
    return parts[kept], owner[kept]


def _runs_along(new: np.ndarray, rejected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where new lines run along rejected stretches: (k,) int64 lines, and the runs as (k,) object polygons."""
    line, stretch = shapely.STRtree(rejected).query(new, predicate="dwithin", distance=_REJECTED_M)
    around = shapely.buffer(rejected, _REJECTED_M, cap_style="flat")
    runs, pair = shapely.get_parts(shapely.intersection(new[line], around[stretch]), return_index=True)
    has_length = shapely.length(runs) > 0
    runs, pair = runs[has_length], pair[has_length]
    along = rejected[stretch[pair]]
    points, run = shapely.get_coordinates(runs, return_index=True)
    steps_m = np.abs(np.diff(shapely.line_locate_point(along[run], shapely.points(points))))
    gone_m = np.bincount(run[1:], steps_m * (np.diff(run) == 0), minlength=len(runs))
    is_along = (gone_m >= _ALONG * shapely.length(runs)) & (
        gone_m >= np.minimum(_REJECTED_M, shapely.length(along) / 2)
    )
    return line[pair[is_along]], shapely.buffer(runs[is_along], _SLIVER_M, cap_style="flat")


def labels_of(
    bad: Verdicts, network: np.ndarray, widths_m: np.ndarray, is_judged: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what a review teaches: the lines that are labels, ground without a road, and judged ground.

    The lines, (n,) bool, are those of the network after its review, (n,) object with widths or NaN, that are judged,
    (n,) bool, or lie on judged ground: learning ignores these. Ground is (k,) object polygons.
    """
    half_m = np.where(np.isnan(widths_m), _USUAL_WIDTH_M, widths_m) / 2
    bad_m = np.where(np.isnan(bad.width_m), _USUAL_WIDTH_M, bad.width_m) / 2 + _MARGIN_M
    roads = shapely.union_all(shapely.buffer(network, half_m))
    no_road = _polygons(shapely.difference(shapely.buffer(bad.shapes, bad_m, cap_style="flat"), roads))
    ground = shapely.union_all(shapely.buffer(network[is_judged], _AROUND_M, cap_style="flat"))
    aoi = _polygons(np.array([shapely.union_all([ground, *no_road])]))
    return is_judged | shapely.intersects(network, shapely.union_all(aoi)), no_road, aoi


def _polygons(shapes: np.ndarray) -> np.ndarray:
    """Return the polygons of shapes that have an area: (k,) object."""
    parts = shapely.get_parts(shapes)
    return parts[shapely.area(parts) > 0]
