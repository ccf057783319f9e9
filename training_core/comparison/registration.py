"""Registration of two road networks: the translation by which one as a whole is offset from the other.

Scope: lines in meters. Independent of why they are offset.

A road shows its offset only across its own direction (the aperture problem). So the shift is sought that explains most
of these offsets at once, by least absolute deviations (iteratively reweighted least squares), each point being compared
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
# Smallest eigenvalue of the normals' covariance: below it roads have one direction, and the shift is undetermined.
_MIN_SHARE = 0.03
# Shifts below this share of the tolerance do not matter.
_MIN_SHIFT = 0.1


def measure_shift(roads: RoadGraph, other: RoadGraph, within_m: float, angle: float) -> Optional[np.ndarray]:
    """Return the shift of the other network from a network as a whole.

    Parameters
    ----------
    roads, other : RoadGraph
        As drawn; see `as_drawn`.
    within_m : float
        Search distance for counterparts.
    angle : float
        Largest difference of the directions of counterparts, in degrees.

    Returns
    -------
    ndarray (2,), float64, or None
        East and north, in meters; None where roads of one direction alone, or none at all, have a counterpart.
    """
    places = places_along(roads, max(_SPACING_M, roads.length_m.sum() / _MAX_POINTS))
    points, headings = roads.points_at(places), roads.headings_at(places)
    shift = np.zeros(2)
    for _ in range(_TURNS):
        found, _ = other.nearest(points + shift, within_m, headings, angle)
        met = found.edge >= 0
        found = found.select(met)
        if not met.any():
            return None
        across = other.headings_at(found)[:, ::-1] * (1, -1)
        offset_m = ((other.points_at(found) - points[met]) * across).sum(axis=1)
        last, shift = shift, _explain(across, offset_m, shift)
        if shift is None or np.hypot(*(shift - last)) < 1e-3:
            break
    return shift


def move_closer(
    roads: RoadGraph, other: RoadGraph, shift: np.ndarray, tolerance_m: float, angle: float
) -> Optional[RoadGraph]:
    """Return a network moved by a shift, if that is large enough to matter and brings more of it near the other one.

    Parameters
    ----------
    roads, other : RoadGraph
        As drawn; see `as_drawn`.
    shift : ndarray (2,), float64
        East and north, in meters.
    tolerance_m : float
        How near counts as near; much smaller shifts do not matter.
    angle : float
        As for `measure_shift`.
    """
    if np.hypot(*shift) < _MIN_SHIFT * tolerance_m:
        return None
    moved = as_drawn(roads.lines.moved(shift))
    without_m, with_m = (matched_intervals(each, other, tolerance_m, angle).length_m for each in (roads, moved))
    return moved if with_m > without_m else None


def _explain(across: np.ndarray, offset_m: np.ndarray, shift: np.ndarray) -> Optional[np.ndarray]:
    """Return the shift that explains most offsets across roads; None where these have one direction alone."""
    if np.linalg.eigvalsh(across.T @ across / len(across))[0] < _MIN_SHARE:
        return None
    for _ in range(_ROUNDS):
        weight = 1 / np.maximum(np.abs(offset_m - across @ shift), _MIN_M)
        products = across.T @ (weight[:, None] * across)
        shift = np.linalg.solve(products, across.T @ (weight * offset_m))
    return shift
