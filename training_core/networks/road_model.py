"""The probability that a line is a road: logistic regression of measurements along it.

`scripts/networks/fit.py` prints the coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cleaning import mean_of_lines
from .graph import Graph

# Of the features; see `features`.
COEFFICIENTS = {
    "constant": 0.212,
    "log_length": -0.116,
    "length": 0.043,
    "mean_evidence": 0.439,
    "low_evidence": 0.027,
    "beside": -0.310,
    "width": 0.611,
    "width_spread": -2.099,
    "bend": 0.514,
    "dead_end": -0.784,
    "alone": -1.775,
}
_LONG_M = 200.0  # beyond, length adds nothing
_LOWEST = 0.25  # quantile of the low evidence: above the part of a line that overshoots its road


@dataclass(frozen=True)
class Seen:
    """Measurements at each vertex of lines; NaN where a vertex does not count."""

    probability: np.ndarray  # (p,) float64: of road
    evidence: np.ndarray  # (p,) float64: log odds of road on it, less those of the threshold
    beside: np.ndarray  # (p,) float64: and next to it: the lower, the clearer the road is
    width_m: np.ndarray  # (p,) float64: of the road; infinite where no roadside is known
    is_dead_end: np.ndarray  # (p,) bool: vertices at which a road ends, except at the edge of the data


def features(graph: Graph, seen: Seen) -> dict[str, np.ndarray]:
    """Return the features of each line of a graph in meters: (m,) float64, by name.

    Lengths and widths are in tens of meters, or logarithms; NaN without evidence.
    """
    length_m = graph.lengths()
    chord_m = np.hypot(*(graph.points[graph.offsets[1:] - 1] - graph.points[graph.offsets[:-1]]).T)
    width_m = np.where(np.isfinite(seen.width_m), seen.width_m, np.nan)
    mean_m, square_m2 = (np.nan_to_num(mean_of_lines(graph, values)) for values in (width_m, width_m**2))
    dead_ends = np.bincount(graph.owner, seen.is_dead_end, minlength=len(graph.edges))
    # The lower quartile of each line's evidence, in which NaN comes last.
    order = np.lexsort((seen.evidence, graph.owner))
    counts = np.bincount(graph.owner[~np.isnan(seen.evidence)], minlength=len(graph.edges))
    low_evidence = seen.evidence[order[graph.offsets[:-1] + (_LOWEST * counts).astype(np.int64)]]
    return {
        "constant": np.ones(len(length_m)),
        "log_length": np.log(np.clip(length_m, 1, _LONG_M)),
        "length": np.minimum(length_m, _LONG_M) / 10,
        "mean_evidence": mean_of_lines(graph, seen.evidence),
        "low_evidence": low_evidence,
        "beside": mean_of_lines(graph, seen.beside),
        "width": mean_m / 10,
        "width_spread": np.sqrt(np.maximum(square_m2 - mean_m**2, 0)) / 10,
        "bend": np.minimum(length_m / np.maximum(chord_m, 1), 3) - 1,
        "dead_end": (dead_ends == 1).astype(np.float64),
        "alone": (dead_ends > 1).astype(np.float64),
    }


def road_probability(graph: Graph, seen: Seen) -> np.ndarray:
    """Return the probability that each line of a graph in meters is a road: (m,) float64; NaN without evidence."""
    values = features(graph, seen)
    score = sum(COEFFICIENTS[name] * values[name] for name in COEFFICIENTS)
    return 1 / (1 + np.exp(-score))
