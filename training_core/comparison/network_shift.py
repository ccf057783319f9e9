"""How far one road network as a whole lies aside of another.

Knows lines in meters; knows nothing of why they are aside.

A road tells only how far it lies aside across its own direction. So the shift is sought that explains most of these
distances at once, by least absolute deviations (iteratively reweighted least squares), each point being compared with
the nearest road that runs alike, in turns: the iterative closest point (Chen and Medioni, "Object modelling by
registration of multiple range images", Image and Vision Computing 10 (1992)), for a translation.
"""

from __future__ import annotations

from typing import Optional

import numpy as np

from ..networks.road_graph import RoadGraph, as_drawn, places_along
from ..networks.stretches import near

_TURNS, _ROUNDS = 8, 10
_SPACING_M, _MOST_POINTS = 10.0, 20_000
# Distances below this count alike.
_LEAST_M = 0.1
# Of the directions of roads, the rarer must make up this share, for else nobody can tell.
_LEAST_SHARE = 0.03
# What is less than this share of the tolerance is no shift that matters.
_LEAST_SHIFT = 0.1


def measure_shift(roads: RoadGraph, other: RoadGraph, within_m: float, angle: float) -> Optional[np.ndarray]:
    """Return how far east and north the other network lies of a network as a whole.

    Parameters
    ----------
    roads, other : RoadGraph
        As drawn; see `as_drawn`.
    within_m : float
        How far roads are looked for.
    angle : float
        The largest difference of directions of roads that may be the same, in degrees.

    Returns
    -------
    ndarray (2,), float64, or None
        None where roads of one direction alone, or none at all, have a counterpart.
    """
    places = places_along(roads, max(_SPACING_M, roads.length_m.sum() / _MOST_POINTS))
    points, headings = roads.points_at(places), roads.headings_at(places)
    shift = np.zeros(2)
    for _ in range(_TURNS):
        found, _ = other.nearest(points + shift, within_m, headings, angle)
        met = found.edge >= 0
        found = found.select(met)
        if not met.any():
            return None
        across = other.headings_at(found)[:, ::-1] * (1, -1)
        aside_m = ((other.points_at(found) - points[met]) * across).sum(axis=1)
        last, shift = shift, _explain(across, aside_m, shift)
        if shift is None or np.hypot(*(shift - last)) < 1e-3:
            break
    return shift


def fits_better(roads: RoadGraph, other: RoadGraph, shift: np.ndarray, tolerance_m: float, angle: float) -> bool:
    """Whether a shift is one that matters, and more of a network lies near the other with it than without."""
    if np.hypot(*shift) < _LEAST_SHIFT * tolerance_m:
        return False
    without_m, with_m = (
        near(each, other, tolerance_m, angle).length_m for each in (roads, as_drawn(roads.lines.moved(shift)))
    )
    return with_m > without_m


def _explain(across: np.ndarray, aside_m: np.ndarray, shift: np.ndarray) -> Optional[np.ndarray]:
    """Return the shift that explains most distances across roads; None where these have one direction alone."""
    if np.linalg.eigvalsh(across.T @ across / len(across))[0] < _LEAST_SHARE:
        return None
    for _ in range(_ROUNDS):
        weight = 1 / np.maximum(np.abs(aside_m - across @ shift), _LEAST_M)
        products = across.T @ (weight[:, None] * across)
        shift = np.linalg.solve(products, across.T @ (weight * aside_m))
    return shift
