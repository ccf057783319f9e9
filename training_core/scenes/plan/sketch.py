"""A street plan drawn straight, and the smooth invertible map that bends it.

Scope: lines on a plane in meters about an origin. Independent of junctions and buildings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.spatial import KDTree
from shapely.geometry import LineString

PAD_M = 60.0  # planned beyond the scene on each side, so that nothing stops short of its border
_REACH_M = 70.0  # a bend moves nothing farther


@dataclass(frozen=True)
class Bend:
    """A smooth map of the plane: a turn about the origin, a sum of sine waves, and a shift.

    The waves' steepness adds up to less than 1, so two points never meet.
    """

    wave: np.ndarray  # (2, K) radians per meter
    phase: np.ndarray  # (K,) radians
    push_m: np.ndarray  # (K, 2)
    turn: np.ndarray  # (2, 2)
    shift_m: float

    @classmethod
    def random(
        cls,
        rng: np.random.Generator,
        side_m: float,
        waves_m: Sequence[float] = (900.0, 600.0, 420.0, 270.0, 150.0),
        swing: float = 0.028,
    ) -> "Bend":
        """Return a bend that takes the origin near the center of a square with a corner at (0, 0).

        Waves have about the lengths `waves_m`. `swing` is their amplitude as a fraction of it; below 1 / (2 pi) for all
        waves together.
        """
        count = len(waves_m)
        length_m = np.array(waves_m) * rng.uniform(0.8, 1.2, count)
        run, push, (turn,) = (rng.uniform(0, end, n) for end, n in ((2 * np.pi, count), (2 * np.pi, count), (np.pi, 1)))
        wave = 2 * np.pi / length_m * np.array([np.cos(run), np.sin(run)])
        push_m = swing * length_m[:, None] * np.column_stack([np.cos(push), np.sin(push)])
        matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        return cls(wave, rng.uniform(0, 2 * np.pi, count), push_m, matrix, side_m / 2)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return the bent (N, 2) points."""
        return (points + np.sin(points @ self.wave + self.phase) @ self.push_m) @ self.turn.T + self.shift_m


@dataclass(frozen=True)
class Towns:
    """How far a place is town, from 0 in the country to 1 in a center."""

    centers_m: np.ndarray  # (N, 2)
    radius_m: float

    @classmethod
    def random(cls, rng: np.random.Generator, side_m: float) -> "Towns":
        """Return one town for each 1.5 km square or one next to the center of a smaller scene."""
        count = max(1, round((side_m / 1500) ** 2))
        centers_m = rng.uniform(0.25, 0.75, (1, 2)) if count == 1 else rng.uniform(0, 1, (count, 2))
        return cls(centers_m * side_m, float(rng.uniform(0.4, 0.5) * min(side_m, 1400)))

    @cached_property
    def _nearest(self) -> KDTree:
        return KDTree(self.centers_m)

    def urbanity(self, points: np.ndarray) -> np.ndarray:
        """Return the urbanity of points in meters, (N, 2) float64: (N,) float64, 1 in a center, Gaussian around it."""
        distance_m, _ = self._nearest.query(points)
        return np.exp(-((distance_m / self.radius_m) ** 2))


@dataclass(frozen=True)
class Street:
    """One street as drawn, of its class's width where `width_m` is NaN.

    An overpass is carried over all that it crosses and meets others at its ends only.
    """

    road_class: str
    line: LineString
    width_m: float = float("nan")
    overpass: bool = False


@dataclass(frozen=True)
class Sketch:
    """A street plan as drawn: straight, about the origin.

    Streets may cross anywhere. They will be cut there. Where two lie on each other the earlier is taken. At `ends` dead
    ends widen into a place to turn. `widths_m` are ranges of widths of classes that differ from the usual.
    """

    streets: Sequence[Street]
    ends: Sequence[tuple[float, float]]
    bend: Bend
    towns: Towns
    widths_m: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def half_side_m(side_m: float) -> float:
    """Return how far a drawing must reach on each side of the origin to fill a square scene, turned and bent."""
    return (side_m / 2 + PAD_M) * float(np.sqrt(2)) + _REACH_M
