"""Surroundings of a graph (road width, edge of the data, likely roads, bridges at any place) and paths between places.

Scope: questions about places, paths and edges in meters. Independent of the source of answers: a raster
(`extraction.road_extraction`), the fields of lines (`pipelines.cleannetwork`), or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import shapely

from ..geodata.parallel_arrays import offsets_of, ranges
from .graph import Graph

_MIN_ODDS = 1 / 254


@dataclass(frozen=True)
class Paths:
    """Lines between pairs of places."""

    points: np.ndarray  # (p, 2) float64: vertices of all paths in meters, path after path
    offsets: np.ndarray  # (k + 1,) int64: path i has the vertices from offsets[i] to before offsets[i + 1]
    evidence: np.ndarray  # (p,) float64: log odds of road less those of the threshold; NaN where unknown

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def owner(self) -> np.ndarray:
        """The path that each vertex belongs to: (p,) int64."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def shapes(self) -> np.ndarray:
        """Return each path as a LineString: (k,) object."""
        return shapely.linestrings(self.points, indices=self.owner)

    def select(self, index: np.ndarray) -> Paths:
        """Return the paths at some positions, (k,) int64, or where a mask, (n,) bool, is True."""
        kept = np.arange(len(self))[index]
        sizes = np.diff(self.offsets)[kept]
        offsets = offsets_of(sizes)
        vertex = ranges(self.offsets[kept], sizes)
        return Paths(self.points[vertex], offsets, self.evidence[vertex])

    def cut(self, along_m: np.ndarray) -> Paths:
        """Return the paths cut at (k,) float64 distances along them but never before their second vertex.

        The last vertex of a path that is cut moves back to the cut.
        """
        # For each vertex: the step that leads to it, its distance along its path, and its number there.
        step_m = np.hypot(*np.diff(self.points, axis=0, prepend=self.points[:1]).T)
        step_m[self.offsets[:-1]] = 0
        total_m = np.cumsum(step_m)
        at_m = total_m - total_m[self.offsets[:-1]][self.owner]
        rank = np.arange(len(self.points)) - self.offsets[:-1][self.owner]
        # A vertex stays if the one before it lies before the cut.
        kept = (at_m - step_m < along_m[self.owner]) | (rank < 2)
        offsets = offsets_of(np.bincount(self.owner[kept], minlength=len(self)))
        points, last = self.points[kept].copy(), offsets[1:] - 1
        # The last vertex moves back by the part of its step that lies beyond the cut.
        over_m = np.maximum(at_m[kept][last] - along_m, 0)
        back = np.divide(over_m, step_m[kept][last], out=np.zeros(len(self)), where=step_m[kept][last] > 0)
        points[last] += np.minimum(back, 1)[:, None] * (points[last - 1] - points[last])
        return Paths(points, offsets, self.evidence[kept])


def straight_paths(starts: np.ndarray, ends: np.ndarray) -> Paths:
    """Return straight paths between places, (k, 2) float64 each, with unknown evidence."""
    points = np.stack([starts, ends], axis=1).reshape(-1, 2)
    return Paths(points, 2 * np.arange(len(starts) + 1), np.full(len(points), np.nan))


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
