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

    Parameters
    ----------
    clearance_m : callable
        From (n, 2) float64 points to the (n,) float64 distance to the nearest roadside: infinite where no roadside is
        known, 0 without a raster.
    width_m : callable
        From (n, 2) float64 points on center-lines to the (n,) float64 width of the road; as `clearance_m`.
    is_data_edge : callable
        From (n, 2) float64 points to whether the edge of the data cuts off a road that ends there: (n,) bool.
    is_likely : callable
        From (n, 2) float64 starts and ends of straight paths to whether a road may run there: (n,) bool.
    paths : callable
        From (n, 2) float64 starts and ends to the likeliest `Paths` between them: straight where nothing is known.
    probability : callable
        From (n, 2) float64 points to the (n,) float64 probability of road: NaN where it is unknown.
    threshold : float
        Probability from which a pixel is road; NaN without a raster.
    is_bridge : callable
        From a graph to which of its edges others cross without a node: (m,) bool.
    half_pixel_m : float
        How far the clearance reaches beyond the roadside: to the center of the first pixel that is not road.
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
        """Return the log odds of road probabilities, less those of the threshold: (n,) float64, each.

        NaN if the threshold is.
        """
        if np.isnan(self.threshold):
            return np.full(len(probability), np.nan)
        return log_odds(probability) - log_odds(np.array(self.threshold))


def log_odds(probability: np.ndarray) -> np.ndarray:
    """Return the log odds of probabilities, (...) float64, bounded by those of a byte; NaN counts as 0."""
    bounded = np.clip(np.nan_to_num(probability, nan=0.0), _MIN_ODDS, 1 - _MIN_ODDS)
    return np.log(bounded / (1 - bounded))
