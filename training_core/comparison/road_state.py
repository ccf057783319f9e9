"""The state of known roads: what probabilities of road show along their lines, and the stretches of each state.

Scope: lines in meters, and probabilities on grids. Independent of models, layers and files.

The evidence at a place is the log odds of the highest probability across the line there, less those of the threshold,
averaged along the line. It is expected to be what roads of the same class and width have in the same image; with an
image before, what this line had there. A logistic regression of the two gives the probability that the road is lost.
`benchmarks/road_status.py` plants the events on which it is fitted, where about one meter in ten is lost.

Of several images after, the newest that shows a place decides there. An older one contradicts it where one of the two
is far more certain than the other that the road is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyproj
import shapely
from shapely.geometry.base import BaseGeometry

from ..geodata.grid import Grid, is_on_grid, pixels_on
from ..geodata.parallel_arrays import selected
from ..geodata.pixel_codes import CERTAIN, NO_DATA
from ..jobs.status import HIDDEN, IN_HAZARD, NOT_SEEN, OUTSIDE, PARTLY_SEEN, SEEN, UNDER_WATER
from ..networks.displacement import Field
from ..networks.link_prediction import logistic
from ..networks.road_graph import Places, RoadGraph, places_along
from ..networks.surroundings import log_odds
from .buffer_matching import Intervals
from .changes import runs_of, without_flicker

# Distance between places, and the length along a line over which evidence is averaged.
_STEP_M, _WINDOW_M = 2.0, 40.0
# Distances between samples across a line, and from it to samples beside it.
_ACROSS_M, _BESIDE_M = 1.0, np.array([10.0, 15.0, 20.0])
# So many places of a group count as much as what is expected of all roads.
_FEW = 100
# From these probabilities of being lost on, a road is partly seen, and not seen.
_PARTLY, _LOST = 0.2, 0.5
# Upper bounds, in meters, of widths that are about the same.
_WIDTHS_M = (4.0, 6.0, 9.0, 14.0)
# Fraction of roads that are lost in the events on which the coefficients are fitted: expected where nothing is known.
LOST_FRACTION = 0.1
COEFFICIENTS = {"constant": -3.009, "evidence": -0.852, "expected": 0.653}
COEFFICIENTS_WITH_BEFORE = {"constant": -3.727, "evidence": -1.177, "before": 0.829}


@dataclass(frozen=True, eq=False)
class View:
    """Probability bytes of an image on a grid, (height, width) uint8, and the threshold of road."""

    probability: np.ndarray
    grid: Grid
    threshold: float

    def at(self, pixels: np.ndarray) -> np.ndarray:
        """Return the bytes at columns and rows, (n, 2) float64: (n,) uint8, NO_DATA beside the grid."""
        is_inside = is_on_grid(self.grid, pixels)
        columns, rows = pixels[is_inside].astype(np.int64).T
        found = np.full(len(pixels), NO_DATA, dtype=np.uint8)
        found[is_inside] = self.probability[rows, columns]
        return found


@dataclass(frozen=True)
class Seen:
    """What a view shows at n places along lines: float64 evidence along and beside it.

    NaN where it has no data, or where water covers the line, or clouds hide it.
    """

    along: np.ndarray
    beside: np.ndarray
    is_inside: np.ndarray  # bool: on the grid
    under_water: np.ndarray  # bool


@dataclass(frozen=True)
class Stretches:
    """Stretches of lines, as drawn, of one state each; they cover the lines in order.

    Images are numbers of looks, (n,) int64, -1 for none: `image` decided about most of a stretch, and `contradicted_by`
    contradicts it along half of the stretch or more. The other numbers are means along a stretch, (n,) float64: NaN
    where nothing is known.
    """

    intervals: Intervals
    state: np.ndarray  # (n,) object: a word of `jobs.status.STATES`
    image: np.ndarray
    contradicted_by: np.ndarray
    lost_probability: np.ndarray
    evidence: np.ndarray
    beside: np.ndarray
    expected: np.ndarray
    evidence_before: np.ndarray


def places_on(roads: RoadGraph) -> Places:
    """Return the places along lines, as drawn, at which their state is found."""
    return places_along(roads, _STEP_M)


def look(
    view: View, roads: RoadGraph, places: Places, plane: pyproj.CRS, reach_m: float, field: Field | None = None
) -> Seen:
    """Return what a view shows at places, moved by a field; roads may lie up to `reach_m` beside their lines there."""
    points, to_pixels = aligned(roads.points_at(places), field), pixels_on(view.grid, plane)
    center = to_pixels(points)
    is_inside = is_on_grid(view.grid, center)
    # Of many lines, few may lie on an image.
    heading = roads.headings_at(selected(places, np.flatnonzero(is_inside)))
    points, center = points[is_inside], center[is_inside]
    # One meter to the left, in pixels.
    left = to_pixels(points + np.column_stack([-heading[:, 1], heading[:, 0]])) - center

    def seen(offset_m: float) -> np.ndarray:
        found = view.at(center + offset_m * left)
        return np.where(found == NO_DATA, np.nan, found / CERTAIN)

    def averaged_odds(probability: np.ndarray) -> np.ndarray:
        odds = log_odds(probability) - log_odds(np.array(view.threshold))
        everywhere = np.full(len(places), np.nan)
        everywhere[is_inside] = np.where(np.isnan(probability), np.nan, odds)
        return averaged(everywhere, places.edge)

    count = int(np.ceil(reach_m / _ACROSS_M))
    best = middle = seen(0.0)
    for offset_m in np.linspace(-reach_m, reach_m, 2 * count + 1):
        best = np.fmax(best, seen(offset_m))
    beside = np.stack([seen(offset_m) for offset_m in (*-_BESIDE_M, *_BESIDE_M)])
    known = np.isfinite(beside)
    beside = np.where(known, beside, 0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    along = averaged_odds(np.where(np.isnan(middle), np.nan, best))
    return Seen(along, averaged_odds(beside), is_inside, np.zeros(len(places), dtype=bool))


def aligned(points: np.ndarray, field: Field | None) -> np.ndarray:
    """Return points, (n, 2) float64, moved by a field, if there is one."""
    return field.shifted(points) if field else points


def averaged(values: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Return the mean of values, (n,) float64, around each place on its line: (n,) float64; NaN stays and is left out.

    Lines are (n,) int64, ascending.
    """
    known, place = np.isfinite(values), np.arange(len(values))
    half = int(_WINDOW_M / _STEP_M / 2)
    begin = np.maximum(place - half, np.searchsorted(line, line, "left"))
    end = np.minimum(place + half + 1, np.searchsorted(line, line, "right"))
    total, count = (np.concatenate([[0], np.cumsum(each)]) for each in (np.where(known, values, 0.0), known))
    return np.where(known, (total[end] - total[begin]) / np.maximum(count[end] - count[begin], 1), np.nan)


def groups_of(classes: np.ndarray, width_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of each line, and its class and width together: (n,) int64 each.

    Classes are (n,) object, and widths (n,) float64, NaN where unknown.
    """
    of_class = np.unique(classes.astype(str), return_inverse=True)[1].ravel()
    of_width = np.where(np.isnan(width_m), len(_WIDTHS_M) + 1, np.digitize(width_m, _WIDTHS_M))
    return of_class, of_class * (len(_WIDTHS_M) + 2) + of_width


def expected_evidence(along: np.ndarray, line: np.ndarray, groups: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return what evidence is expected at each place, (n,) float64: that of other lines of its group.

    Groups, (lines,) int64 each, become smaller. In small ones, what is expected of the larger counts as well.
    """
    known = np.isfinite(along)
    values = np.where(known, along, 0.0)
    expected = np.full(len(along), values.sum() / max(1, known.sum()))
    own_count, own_total = np.bincount(line, known), np.bincount(line, values)
    for group in groups:
        at = group[line]
        count = np.bincount(at, known)[at] - own_count[line]
        total = np.bincount(at, values)[at] - own_total[line]
        expected = (total + _FEW * expected) / (count + _FEW)
    return expected


def lost_probability(along: np.ndarray, expected: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the probability that a road is lost at each place, (n,) float64; NaN without evidence.

    `before`, (n,) float64, is the evidence in an image before; NaN where there is none.
    """
    constant = np.ones(len(along))
    alone = logistic({"constant": constant, "evidence": along, "expected": expected}, COEFFICIENTS)
    pair = logistic({"constant": constant, "evidence": along, "before": before}, COEFFICIENTS_WITH_BEFORE)
    return np.where(np.isnan(before), alone, pair)


def stretches_of(
    roads: RoadGraph, places: Places, looks: Sequence[Seen], before: Seen | None, groups: tuple[np.ndarray, ...],
    area: BaseGeometry | None, hazards: BaseGeometry, min_stretch_m: float,
) -> Stretches:  # fmt: skip
    """Return the stretches of lines, none shorter than `min_stretch_m` unless its line is.

    Looks are those after, from the newest to the oldest, and groups those of `groups_of`. Hazards come first, and what
    lies outside the area, or outside all images, second. No area means everywhere.
    """
    evidence_before = np.full(len(places), np.nan) if before is None else before.along
    along, beside = (np.stack([getattr(each, name) for each in looks]) for name in ("along", "beside"))
    expected = np.stack([expected_evidence(each, places.edge, groups) for each in along])
    lost = np.stack([lost_probability(*each, evidence_before) for each in zip(along, expected)])
    is_wet = np.stack([each.under_water for each in looks])
    image = (np.isfinite(lost) | is_wet).argmax(axis=0)
    contradicted_by = _contradiction(lost, image)
    lost, along, beside, expected, is_wet = (
        each[image, np.arange(len(places))] for each in (lost, along, beside, expected, is_wet)
    )
    points = roads.points_at(places)
    is_inside = np.any([each.is_inside for each in looks], axis=0)
    if area is not None:
        is_inside &= shapely.contains_xy(area, points)
    cases = {
        IN_HAZARD: shapely.contains_xy(hazards, points), OUTSIDE: ~is_inside, UNDER_WATER: is_wet,
        HIDDEN: np.isnan(lost), NOT_SEEN: lost >= _LOST, PARTLY_SEEN: lost >= _PARTLY,
    }  # fmt: skip
    words = np.array([*cases, SEEN], dtype=object)
    kind = np.select(list(cases.values()), np.arange(len(cases)), len(cases))
    # Each place stands for an equal part of its line.
    part_m = roads.length_m[places.edge] / np.bincount(places.edge)[places.edge]
    kind = without_flicker(places.edge, part_m, kind, min_stretch_m)
    run, first, last = runs_of(places.edge, kind)
    is_known = (np.isfinite(lost) | is_wet) & is_inside

    def mean(values: np.ndarray) -> np.ndarray:
        known = np.isfinite(values) & is_inside
        count = np.bincount(run[known], minlength=len(first))
        total = np.bincount(run[known], values[known], minlength=len(first))
        return np.divide(total, count, out=np.full(len(first), np.nan), where=count > 0)

    def most(images: np.ndarray, least: float) -> np.ndarray:
        counts = [np.bincount(run[is_known & (images == each)], minlength=len(first)) for each in range(len(looks))]
        shares = np.stack(counts) / np.bincount(run)
        return np.where((shares.max(axis=0) > 0) & (shares.max(axis=0) >= least), shares.argmax(axis=0), -1)

    begin_m, end_m = places.along_m - part_m / 2, places.along_m + part_m / 2
    intervals = Intervals(places.edge[first], begin_m[first], end_m[last])
    numbers = map(mean, (lost, along, beside, expected, evidence_before))
    return Stretches(intervals, words[kind[first]], most(image, 0.0), most(contradicted_by, 0.5), *numbers)


def _contradiction(lost: np.ndarray, image: np.ndarray) -> np.ndarray:
    """Return the newest look that contradicts the one that decides at each place, (n,) int64; -1 for none.

    Probabilities of being lost are (looks, n) float64, NaN where a look shows nothing.
    """
    decided = lost[image, np.arange(len(image))]
    is_opposite = ((decided >= _LOST) & (lost < _PARTLY)) | ((decided < _PARTLY) & (lost >= _LOST))
    return np.where(is_opposite.any(axis=0), is_opposite.argmax(axis=0), -1)
