"""Surroundings of a graph: road width, edge of the data, likely roads and bridges at any place.

Scope: questions about places, paths and edges in meters. Independent of the source of answers: a raster
(`extraction.road_extraction`), the fields of lines (`pipelines.cleannetwork`), or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .graph import Graph
from .paths import Paths, straight_paths

_MIN_ODDS = 1 / 254


@dataclass(frozen=True)
class Surroundings:
    """Functions of places in the plane of a graph, in meters; by default nothing is known.

    Places are (n, 2) float64 points, and starts and ends of paths are as many.

    - `clearance_m`: (n,) float64 distance to the nearest roadside: infinite where none is known, 0 without a raster.
    - `width_m`: (n,) float64 width of the road at points on center-lines; as `clearance_m`.
    - `is_data_edge`: whether the edge of the data cuts off a road that ends there, (n,) bool.
    - `is_likely`: whether a road may run straight from starts to ends, (n,) bool.
    - `paths`: the likeliest `Paths` from starts to ends; straight where nothing is known.
    - `probability`: (n,) float64 probability of road: NaN where it is unknown; from `threshold` on a pixel is road.
    - `is_bridge`: from a graph to which of its edges others cross without a node, (m,) bool.
    - `half_pixel_m`: how far the clearance reaches beyond the roadside: to the center of the first pixel beyond.
    """

    clearance_m: Callable[[np.ndarray], np.ndarray] = lambda points: np.zeros(len(points))
    width_m: Callable[[np.ndarray], np.ndarray] = lambda points: np.zeros(len(points))
    is_data_edge: Callable[[np.ndarray], np.ndarray] = lambda points: np.zeros(len(points), dtype=bool)
    is_likely: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda starts, ends: np.ones(len(starts), dtype=bool)
    paths: Callable[[np.ndarray, np.ndarray], Paths] = straight_paths
    probability: Callable[[np.ndarray], np.ndarray] = lambda points: np.full(len(points), np.nan)
    threshold: float = float("nan")
    is_bridge: Callable[[Graph], np.ndarray] = lambda graph: np.zeros(len(graph.edges), dtype=bool)
    half_pixel_m: float = 0.0

    def evidence(self, probability: np.ndarray) -> np.ndarray:
        """Return the log odds of road probabilities, (n,) float64, less those of the threshold; NaN without it."""
        if np.isnan(self.threshold):
            return np.full(len(probability), np.nan)
        return log_odds(probability) - log_odds(np.array(self.threshold))


def log_odds(probability: np.ndarray) -> np.ndarray:
    """Return the log odds of probabilities, (...) float64, bounded by those of a byte; NaN counts as 0."""
    bounded = np.clip(np.nan_to_num(probability, nan=0.0), _MIN_ODDS, 1 - _MIN_ODDS)
    return np.log(bounded / (1 - bounded))
