"""Registration of two road networks: the translation by which one as a whole is offset from the other.

Scope: lines in meters. Independent of the reason for the offset.

A road shows its offset only across its own direction (the aperture problem). So the shift is the one that explains most
of these offsets at once, by least absolute deviations (iteratively reweighted least squares). Each point is compared
with the nearest road of similar direction: point-to-line ICP, the iterative closest point (Chen and Medioni, "Object
modelling by registration of multiple range images", Image and Vision Computing 10 (1992)), for a translation.
"""

from __future__ import annotations

from typing import Optional

import numpy as np

from ..networks.road_graph import RoadGraph, as_drawn, places_along
from .buffer_matching import matched_intervals

_TURNS, _ROUNDS = 8, 10
_SPACING_M, _MAX_POINTS = 10.0, 20_000
# Residuals below this have equal weight.
_MIN_M = 0.1
# Smallest eigenvalue of the normals' covariance; below it the roads have one direction and do not determine a shift.
_MIN_EIGENVALUE = 0.03
# Shifts below this fraction of the tolerance do not matter.
_MIN_SHIFT = 0.1


def measure_shift(roads: RoadGraph, other: RoadGraph, within_m: float, angle: float) -> Optional[np.ndarray]:
    """Return the shift (east, north) in meters of another network from a network as a whole: (2,) float64.

    None if no roads, or only roads of one direction, have a counterpart. Both are `as_drawn`. Counterparts lie within
    `within_m` with directions that differ by at most `angle` degrees.
    """
    places = places_along(roads, max(_SPACING_M, roads.length_m.sum() / _MAX_POINTS))
    points, headings = roads.points_at(places), roads.headings_at(places)
    shift = np.zeros(2)
    for _ in range(_TURNS):
        # Each point with the nearest road, and its offset across that road.
        nearest, _ = other.nearest(points + shift, within_m, headings, angle)
        is_met = nearest.edge >= 0
        nearest = nearest.select(is_met)
        if not is_met.any():
            return None
        across = other.headings_at(nearest)[:, ::-1] * (1, -1)
        offset_m = ((other.points_at(nearest) - points[is_met]) * across).sum(axis=1)
        better = _explain(across, offset_m, shift)
        if better is None:
            return None
        step_m, shift = np.hypot(*(better - shift)), better
        if step_m < 1e-3:
            break
    return shift


def move_closer(
    roads: RoadGraph, other: RoadGraph, shift: np.ndarray, tolerance_m: float, angle: float
) -> Optional[RoadGraph]:
    """Return a network moved by a (2,) float64 shift if that matters and brings more of it near the other one.

    Near is `tolerance_m`; much smaller shifts do not matter. `angle` in degrees is as for `measure_shift`.
    """
    if np.hypot(*shift) < _MIN_SHIFT * tolerance_m:
        return None
    moved = as_drawn(roads.lines.moved(shift))
    without_m, with_m = (matched_intervals(network, other, tolerance_m, angle).length_m for network in (roads, moved))
    return moved if with_m > without_m else None


def _explain(across: np.ndarray, offset_m: np.ndarray, shift: np.ndarray) -> Optional[np.ndarray]:
    """Return the shift that explains most offsets across roads, or None if these have only one direction."""
    if np.linalg.eigvalsh(across.T @ across / len(across))[0] < _MIN_EIGENVALUE:
        return None
    for _ in range(_ROUNDS):
        weight = 1 / np.maximum(np.abs(offset_m - across @ shift), _MIN_M)
        products = across.T @ (weight[:, None] * across)
        shift = np.linalg.solve(products, across.T @ (weight * offset_m))
    return shift
