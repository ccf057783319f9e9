"""Displacement fields: how far roads lie from their lines, smooth over a neighborhood, from offsets across the roads.

Scope: points and offsets in a plane of meters. Independent of how an offset is measured.

A road shows its offset only across its own direction (the aperture problem). So the field is the one that explains most
of these offsets at once, by least absolute deviations (iteratively reweighted least squares), while adjacent nodes of a
grid differ little. It is bilinear between them. Where there is no evidence it follows its neighbors, and without any it
is 0. Measuring, moving and measuring again is ICP, the iterative closest point (Chen and Medioni, "Object modelling by
registration of multiple range images", Image and Vision Computing 10 (1992)), for a field.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely
from scipy.sparse import coo_array, csr_array, diags_array, eye_array, kron
from scipy.sparse.linalg import cg

# Distance between nodes. Over a large area they lie farther apart, so that there are not many more than this.
_SPACING_M, _MAX_NODES = 100.0, 10_000
# Number of points whose weights are in memory at a time.
_AT_ONCE = 1_000_000
# Straight pieces of lines are at most so long when they are moved.
_PIECE_M = 20.0
# Of the fit; and of the way back, where each round leaves a tenth of the error or less.
_ROUNDS, _BACK_ROUNDS = 4, 15
_RTOL = 1e-4
# Residuals below this have equal weight.
_MIN_M = 0.5
# Weight of a node's displacement itself, which decides only where nothing else does.
_STILL = 0.01


@dataclass(frozen=True)
class Offsets:
    """Offsets of roads at n places: meters, (n,) float64, along the unit vectors `across`, (n, 2).

    The weight of each, (n,) float64, is the length of road in meters for which it stands.
    """

    across: np.ndarray
    offset_m: np.ndarray
    weight_m: np.ndarray


@dataclass(frozen=True)
class Field:
    """Displacements east and north at the nodes of a grid, (rows, columns, 2) float64 in meters, from a corner on."""

    corner: np.ndarray
    spacing_m: float
    nodes: np.ndarray

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return the displacement at points, (n, 2) float64 both; beyond the nodes, that of their edge."""
        parts = np.array_split(points, 1 + len(points) // _AT_ONCE)
        return np.concatenate([self.weights_at(part) @ self.nodes.reshape(-1, 2) for part in parts])

    def weights_at(self, points: np.ndarray) -> csr_array:
        """Return the weights of all nodes at points: (n, nodes)."""
        rows, columns = self.nodes.shape[:2]
        x, y = ((points - self.corner) / self.spacing_m).T.clip(0, [[columns - 1], [rows - 1]])
        column, row = np.minimum(x.astype(np.int64), columns - 2), np.minimum(y.astype(np.int64), rows - 2)
        right, up = x - column, y - row
        weight = np.stack([(1 - right) * (1 - up), right * (1 - up), (1 - right) * up, right * up])
        node = row * columns + column + np.array([[0], [1], [columns], [columns + 1]])
        point = np.broadcast_to(np.arange(len(points)), node.shape)
        return coo_array((weight.ravel(), (point.ravel(), node.ravel())), (len(points), rows * columns)).tocsr()

    def moved(self, shapes: np.ndarray) -> np.ndarray:
        """Return shapes, (n,) object, moved by the field, with as many vertices as it takes to follow it."""
        return shapely.transform(shapely.segmentize(shapes, _PIECE_M), self.shifted)

    def shifted(self, points: np.ndarray) -> np.ndarray:
        """Return points, (n, 2) float64, moved by the field."""
        return points + self.at(points)

    def moved_back(self, shapes: np.ndarray) -> np.ndarray:
        """Return moved shapes, (n,) object, where they were."""

        def back(points: np.ndarray) -> np.ndarray:
            found = points
            for _ in range(_BACK_ROUNDS):
                found = points - self.at(found)
            return found

        return shapely.transform(shapes, back)


def find_field(
    points: np.ndarray, measure: Callable[[np.ndarray, float], Offsets], turns: Sequence[tuple[float, float]]
) -> Field:
    """Return the field that brings points on lines, (n, 2) float64, onto roads: n is at least 1.

    `measure` returns what remains of the offsets of points that were displaced by meters, (n, 2) float64, as far as a
    reach in meters. Turns are pairs of a reach and a stiffness, from coarse to fine. A difference between two nodes
    costs as much as an offset of a meter that is left on so many meters of road, if it is of a meter.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    spacing_m = max(_SPACING_M, float(np.sqrt((high - low).prod() / _MAX_NODES)), (high - low).max() / _MAX_NODES)
    size = np.ceil((high - low) / spacing_m).astype(int) + 2
    field = Field((low + high - spacing_m * (size - 1)) / 2, spacing_m, np.zeros((size[1], size[0], 2)))
    weights = field.weights_at(points)
    for reach_m, stiffness in turns:
        by_m = weights @ field.nodes.reshape(-1, 2)
        left = measure(by_m, reach_m)
        offsets = replace(left, offset_m=left.offset_m + (left.across * by_m).sum(axis=1))
        field = replace(field, nodes=_fitted(field.nodes, weights, offsets, stiffness))
    return field


def _fitted(nodes: np.ndarray, weights: csr_array, offsets: Offsets, stiffness: float) -> np.ndarray:
    """Return the nodes, (rows, columns, 2) float64, of the smooth field that explains most offsets."""
    rows, columns = nodes.shape[:2]
    # Both axes of a node follow each other.
    design = sum(kron(diags_array(offsets.across[:, axis]) @ weights, np.eye(2)[axis][None]) for axis in (0, 1)).tocsr()
    steps = (kron(_steps(rows), eye_array(columns)), kron(eye_array(rows), _steps(columns)))
    smooth = kron(stiffness * sum(step.T @ step for step in steps) + _STILL * eye_array(rows * columns), np.eye(2))
    found = nodes.ravel()
    for _ in range(_ROUNDS):
        weight = offsets.weight_m / np.maximum(np.abs(offsets.offset_m - design @ found), _MIN_M)
        normal = (design.T @ diags_array(weight) @ design + smooth).tocsr()
        # Conjugate gradients take a tenth of the time of a factorization of many nodes.
        found, _ = cg(
            normal, design.T @ (weight * offsets.offset_m), found, rtol=_RTOL, M=diags_array(1 / normal.diagonal())
        )
    return found.reshape(nodes.shape)


def _steps(count: int) -> csr_array:
    """Return the matrix of the differences between adjacent ones of some nodes: (count - 1, count)."""
    ones = np.ones(count - 1)
    return diags_array([-ones, ones], offsets=[0, 1], shape=(count - 1, count)).tocsr()
