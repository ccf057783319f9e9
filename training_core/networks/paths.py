"""Paths between places: lines, and the evidence for a road along each.

Scope: geometry and evidence. Independent of how paths are found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from ..geodata.parallel_arrays import offsets_of, ranges


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
        # Of each vertex: the step that leads to it, its distance along its path, and its number there.
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
