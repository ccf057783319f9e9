"""How likely a road runs along a link between dead ends and roads: logistic regression.

The coefficients are those that `scripts/networks/fit_links.py` prints.
"""

from __future__ import annotations

import numpy as np
import shapely

from .paths import Ways

# The worst evidence is the least mean of so many vertices in a row.
_STRETCH = 3


# Of the features; see there.
COEFFICIENTS = {
    "constant": 1.368,
    "length": -0.176,
    "log_length": -0.477,
    "turn": -1.079,
    "turn_squared": -0.008,
    "bend": 2.188,
    "mean_evidence": 0.494,
    "worst_evidence": 0.415,
    "is_road": -0.527,
    "log_stub": 0.306,
}


def link_probability(found: dict[str, np.ndarray]) -> np.ndarray:
    """Return the probability that a road runs along each link: (k,), float64, from its features, (k,) each."""
    score = sum(COEFFICIENTS.get(name, 0.0) * values for name, values in found.items())
    return 1 / (1 + np.exp(-score))


def features(ways: Ways, turn: np.ndarray, is_road: np.ndarray, stub_m: np.ndarray) -> dict[str, np.ndarray]:
    """Return what is known of each link.

    Parameters
    ----------
    turn : ndarray (k,), float64
        Degrees by which the roads at its ends turn into it, the larger angle.
    is_road : ndarray (k,), bool
        Whether it ends on a road, and not at a dead end.
    stub_m : ndarray (k,), float64
        Length of the road that ends there, the shorter one.

    Returns
    -------
    dict of str to ndarray (k,), float64
        Lengths in tens of meters or as their logarithm, turns in radians, evidence as `Ways` has it.
    """
    length_m = shapely.length(ways.shapes())
    first, last = ways.points[ways.offsets[:-1]], ways.points[ways.offsets[1:] - 1]
    chord_m = np.hypot(*(last - first).T)
    mean, worst = _mean_and_worst(ways)
    radians = np.radians(turn)
    return {
        "constant": np.ones(len(ways)),
        "length": length_m / 10,
        "log_length": np.log(np.maximum(length_m, 1)),
        "turn": radians,
        "turn_squared": radians**2,
        "bend": length_m / np.maximum(chord_m, 1e-9) - 1,
        "mean_evidence": mean,
        "worst_evidence": worst,
        "is_road": is_road.astype(np.float64),
        "log_stub": np.log(np.clip(stub_m, 2, 200)),
    }


def _mean_and_worst(ways: Ways) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean evidence of each way, and the least mean of three vertices in a row: (k,), float64 each."""
    total = np.concatenate([[0], np.cumsum(ways.evidence)])
    begin, end = ways.offsets[:-1], ways.offsets[1:]
    mean = (total[end] - total[begin]) / (end - begin)
    stretch = np.full(len(ways.evidence), np.inf)
    inner = np.flatnonzero(np.arange(len(ways.evidence)) + _STRETCH <= end[ways.owner])
    stretch[inner] = (total[inner + _STRETCH] - total[inner]) / _STRETCH
    worst = np.minimum.reduceat(stretch, begin) if len(ways) else mean
    return mean, np.where(np.isfinite(worst), worst, mean)
