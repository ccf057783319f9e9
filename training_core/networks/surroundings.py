"""What is known of places beside the graph itself: road width, edge of the data, likely roads, bridges.

Scope: questions about points, straight paths and edges in meters. Independent of what answers them: a raster
(`extraction.road_extraction`), the fields of lines (`pipelines.cleannetwork`), or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .graph import Graph
from .paths import Paths, straight_paths

_MIN_ODDS = 1 / 254


def _zero(points: np.ndarray) -> np.ndarray:
    return np.zeros(len(points))


def _unknown(points: np.ndarray) -> np.ndarray:
    return np.full(len(points), np.nan)


def _nowhere(points: np.ndarray) -> np.ndarray:
    return np.zeros(len(points), dtype=bool)


def _anywhere(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    return np.ones(len(starts), dtype=bool)


def _no_edge(graph: Graph) -> np.ndarray:
    return np.zeros(len(graph.edges), dtype=bool)


@dataclass(frozen=True)
class Surroundings:
    """Functions of places in the plane of a graph, in meters; by default nothing is known of any place.

    Parameters
    ----------
    clearance_m : callable
        From points, (n, 2), float64, to the distance to the nearest roadside, (n,), float64: infinite where no
        roadside is known, 0 where there is no raster.
    width_m : callable
        From points on center-lines, (n, 2), float64, to the width of the road, (n,), float64; as `clearance_m`.
    is_data_edge : callable
        From points, (n, 2), float64, to whether a road that ends there is cut off by the edge of the data: (n,), bool.
    is_likely : callable
        From begins and ends of straight paths, both (n, 2), float64, to whether a road may run there: (n,), bool.
    paths : callable
        From begins and ends, both (n, 2), float64, to the likeliest paths between them, `Paths`: straight where nothing
        is known.
    probability : callable
        From points, (n, 2), float64, to the probability of road there, (n,), float64: NaN where nothing is known.
    threshold : float
        Probability from which on there is road; NaN where nothing is known of any place.
    is_bridge : callable
        From a graph to which of its edges others cross without a node: (m,), bool.
    half_pixel_m : float
        How far the clearance reaches beyond the roadside: to the center of the first pixel that is no road.
    """

    clearance_m: Callable[[np.ndarray], np.ndarray] = _zero
    width_m: Callable[[np.ndarray], np.ndarray] = _zero
    is_data_edge: Callable[[np.ndarray], np.ndarray] = _nowhere
    is_likely: Callable[[np.ndarray, np.ndarray], np.ndarray] = _anywhere
    paths: Callable[[np.ndarray, np.ndarray], Paths] = straight_paths
    probability: Callable[[np.ndarray], np.ndarray] = _unknown
    threshold: float = float("nan")
    is_bridge: Callable[[Graph], np.ndarray] = _no_edge
    half_pixel_m: float = 0.0

    def evidence(self, probability: np.ndarray) -> np.ndarray:
        """Return the log odds of road, less those of the threshold, by its probability: (n,), float64, each.

        NaN where the threshold is.
        """
        if np.isnan(self.threshold):
            return np.full(len(probability), np.nan)
        return log_odds(probability) - log_odds(np.array(self.threshold))


def log_odds(probability: np.ndarray) -> np.ndarray:
    """Return the log odds of probabilities (...), float64, as far as a byte tells them apart: (...), float64.

    NaN counts as 0.
    """
    bounded = np.clip(np.nan_to_num(probability, nan=0.0), _MIN_ODDS, 1 - _MIN_ODDS)
    return np.log(bounded / (1 - bounded))
