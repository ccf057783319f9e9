"""Dual carriageways: lines with another one alongside, across a median; their tags, and their directions.

Scope: lines in a plane of meters, and their widths. Independent of rasters and files.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from ..jobs import RIGHT, UNKNOWN
from .graph import Graph

# OpenStreetMap's keys: https://wiki.openstreetmap.org/wiki/Key:dual_carriageway.
DUAL, ONEWAY, YES = "dual_carriageway", "oneway", "yes"

# A carriageway has at least two lanes, and a median these widths; farther away lie other streets.
_NARROWEST_M, _MEDIAN_M = 5.5, (1.0, 12.0)
# Both run in parallel at these distances along the road, within some meters; at two of them they may not.
_ALONG_M, _FAILING, _NEAR_M, _PARALLEL = (-80.0, -40.0, 40.0, 80.0), 2, 6.0, np.cos(np.radians(20))
# Largest difference of both widths, as a fraction of their mean.
_WIDTH_RATIO = 0.6
# Steps in which the distance of the other carriageway is searched.
_STEP_M = 4.0
# Fraction of a line's vertices that must have the other carriageway alongside.
_MIN_FRACTION = 0.5


def other_carriageway(
    points: np.ndarray, direction: np.ndarray, width_m: np.ndarray, lines: "ParallelLines"
) -> np.ndarray:
    """Return unit vectors from vertices of lines toward the carriageway alongside: (p, 2) float64; 0 for none.

    Looks no farther than about 120 m around a vertex. The (p, 2) float64 `points` are meters and `direction` unit
    vectors along the lines. The road's (p,) float64 `width_m` is infinite where no roadside is known.
    """
    toward_other = np.zeros_like(points)
    wide = np.flatnonzero(np.isfinite(width_m) & (width_m >= _NARROWEST_M))
    points, direction, width_m = points[wide], direction[wide], width_m[wide]
    normal = np.column_stack([-direction[:, 1], direction[:, 0]])
    nearest_m = np.full(len(wide), np.inf)
    # On either side, the nearest parallel line that goes on alongside; the nearer side counts.
    for side in (-1, 1):
        away_m = lines.across_median(points, direction, side * normal, width_m)
        closer = np.flatnonzero(away_m < nearest_m)
        closer = closer[_runs_alongside(points[closer], direction[closer], side * away_m[closer], lines)]
        nearest_m[closer] = away_m[closer]
        toward_other[wide[closer]] = side * normal[closer]
    return toward_other


class ParallelLines:
    """Vertices of lines wide enough for carriageways, searched for lines that run in a direction.

    All are float64: `points` in meters and `direction` as unit vectors, (n, 2), and `width_m` of the road, (n,).
    """

    def __init__(self, points: np.ndarray, direction: np.ndarray, width_m: np.ndarray) -> None:
        is_wide = np.isfinite(width_m) & (width_m >= _NARROWEST_M)
        self._points, self._direction, self._width_m = points[is_wide], direction[is_wide], width_m[is_wide]
        self._tree = KDTree(self._points) if is_wide.any() else None

    def near(self, places: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return a vertex near each place whose line runs parallel: (n,) int64; -1 if none of the three nearest."""
        if self._tree is None or not len(places):
            return np.full(len(places), -1)
        # Take the first of the three nearest vertices within reach whose line runs parallel, in either direction.
        distance_m, vertex = self._tree.query(places, k=3, distance_upper_bound=_NEAR_M)
        in_reach = np.isfinite(distance_m)
        vertex = np.where(in_reach, vertex, 0)
        along = np.abs((self._direction[vertex] * direction[:, None]).sum(axis=2))
        fits = in_reach & (along >= _PARALLEL)
        return np.where(fits.any(axis=1), np.take_along_axis(vertex, fits.argmax(axis=1)[:, None], 1)[:, 0], -1)

    def across_median(
        self, points: np.ndarray, direction: np.ndarray, normal: np.ndarray, width_m: np.ndarray
    ) -> np.ndarray:
        """Return the distance to the nearest parallel line on one side, across a median: (n,) float64; or infinity.

        Direction and normal are unit vectors along the road and to that side, (n, 2) float64.
        """
        away_m = np.full(len(points), np.inf)
        if self._tree is None or not len(points):
            return away_m
        least_m, most_m = _MEDIAN_M
        steps_m = np.arange(_NARROWEST_M + least_m, 2 * most_m + _STEP_M, _STEP_M)
        # Most roads have no line at any of these distances: one query for all spares them the search.
        middles, radius_m = points + steps_m.mean() * normal, np.ptp(steps_m) / 2 + _NEAR_M
        is_open = np.isfinite(self._tree.query(middles, distance_upper_bound=radius_m)[0])
        # From near to far; what remains between both roadsides must be as wide as a median.
        for at_m in steps_m:
            rest = np.flatnonzero(is_open & np.isinf(away_m) & (width_m + least_m <= at_m + _STEP_M))
            vertex = self.near(points[rest] + at_m * normal[rest], direction[rest])
            rest, vertex = rest[vertex >= 0], vertex[vertex >= 0]
            across_m = ((self._points[vertex] - points[rest]) * normal[rest]).sum(axis=1)
            both_m = (self._width_m[vertex] + width_m[rest]) / 2
            alike = np.abs(self._width_m[vertex] - width_m[rest]) <= _WIDTH_RATIO * both_m
            fits = alike & (across_m - both_m >= least_m) & (across_m - both_m <= most_m)
            away_m[rest[fits]] = across_m[fits]
        return away_m


def _runs_alongside(
    points: np.ndarray, direction: np.ndarray, across_m: np.ndarray, lines: ParallelLines
) -> np.ndarray:
    """Return whether a line and another one to its left go on before and after points: (n,) bool."""
    aside = across_m[:, None] * np.column_stack([-direction[:, 1], direction[:, 0]])
    goes_on = np.zeros(len(points), dtype=np.int64)
    for along_m in _ALONG_M:
        places = points + along_m * direction
        goes_on += (lines.near(places, direction) >= 0) & (lines.near(places + aside, direction) >= 0)
    return goes_on >= len(_ALONG_M) - _FAILING


def left_fraction(graph: Graph, direction: np.ndarray, to_other: np.ndarray) -> np.ndarray:
    """Return on which side of each line the other carriageway is: (m,) float64.

    It is the fraction of the vertices with the other carriageway to the left (x points right and y up) or the negative
    fraction of those with it to the right. The (p, 2) float64 `direction` and `to_other` are as for
    `other_carriageway`. Vertices with NaN do not count.
    """
    side = np.sign(direction[:, 0] * to_other[:, 1] - direction[:, 1] * to_other[:, 0])
    known = np.bincount(graph.owner, ~np.isnan(side), minlength=len(graph.edges))
    return np.bincount(graph.owner, np.nan_to_num(side), minlength=len(graph.edges)) / np.maximum(known, 1)


def carriageway_tags(left: np.ndarray, driving_side: str) -> dict[str, np.ndarray]:
    """Return the (m,) object tags of dual carriageways, yes or None, from the (m,) float64 `left_fraction`.

    They are `dual_carriageway` and for a known side of `jobs.DRIVING_SIDES` also `oneway`.
    """
    tag = np.full(len(left), None, dtype=object)
    tag[np.abs(left) >= _MIN_FRACTION] = YES
    return {DUAL: tag} if driving_side == UNKNOWN else {DUAL: tag, ONEWAY: tag.copy()}


def runs_against(left: np.ndarray, driving_side: str) -> np.ndarray:
    """Return which carriageways run against their traffic, (m,) bool; see `carriageway_tags`."""
    if driving_side == UNKNOWN:
        return np.zeros(len(left), dtype=bool)
    return (np.abs(left) >= _MIN_FRACTION) & ((left > 0) != (driving_side == RIGHT))
