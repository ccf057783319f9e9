"""A street plan drawn straight, how land is divided into blocks, and the smooth invertible map that bends the plan.

Scope: lines and convex blocks on a plane in meters about an origin. Independent of junctions and buildings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.distance import cdist
from shapely.geometry import LineString

PAD_M = 60.0  # planned beyond the scene on each side, so that nothing stops short of its border
_REACH_M = 70.0  # a bend moves nothing farther
_CORNER_M = 7.0  # cuts keep that far from a block's corners


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
        run, push, phase = rng.uniform(0, 2 * np.pi, (3, count))
        turn = rng.uniform(0, np.pi)
        wave = 2 * np.pi / length_m * np.array([np.cos(run), np.sin(run)])
        push_m = swing * length_m[:, None] * np.column_stack([np.cos(push), np.sin(push)])
        matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        return cls(wave, phase, push_m, matrix, side_m / 2)

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

    def urbanity(self, points: np.ndarray) -> np.ndarray:
        """Return the urbanity of points in meters, (N, 2) float64: (N,) float64, 1 in a center, Gaussian around it."""
        return np.exp(-((cdist(points, self.centers_m).min(axis=1) / self.radius_m) ** 2))


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
    ends widen into a place to turn. `widths_m` are ranges of widths of classes that differ from the usual. `bounds`
    divide land where no street does; `canals` carry water.
    """

    streets: Sequence[Street]
    ends: Sequence[tuple[float, float]]
    bend: Bend
    towns: Towns
    widths_m: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    bounds: Sequence[LineString] = ()
    canals: Sequence[LineString] = ()


def half_side_m(side_m: float) -> float:
    """Return how far a drawing must reach on each side of the origin to fill a square scene, turned and bent."""
    return (side_m / 2 + PAD_M) * float(np.sqrt(2)) + _REACH_M


def divide(
    corners: np.ndarray, wanted_m: Callable[[np.ndarray], float], skew: float, rng: np.random.Generator
) -> tuple[list[tuple[int, np.ndarray]], list[np.ndarray]]:
    """Split a convex block recursively until each part is about as long as wanted.

    `wanted_m` leads from a (2,) float64 point to the length of blocks around it. `skew` is the standard deviation of
    the angle between cuts and sides in radians. Returns the number of splits before each cut with both of its ends, (2,
    2) float64, and the corners of the blocks left, (N, 2) float64, all convex.
    """
    cuts, blocks, waiting = [], [], [(corners, 0)]
    while waiting:
        block, depth = waiting.pop()
        # The axes of a block are its longest side and the direction across it; it is cut across its longer extent.
        sides = np.roll(block, -1, axis=0) - block
        along = sides[np.hypot(*sides.T).argmax()]
        along = along / np.hypot(*along)
        frame = np.array([along, (-along[1], along[0])])
        reach_m = np.ptp(block @ frame.T, axis=0)
        longer, center = reach_m.argmax(), block.mean(axis=0)
        tries = 4 if reach_m[longer] > 1.5 * wanted_m(center) else 0
        parts = None
        while parts is None and tries:
            start = center + frame[longer] * reach_m[longer] * rng.uniform(-0.14, 0.14)
            parts = _cut(block, start, frame[1 - longer], rng.normal(0, skew))
            tries -= 1
        if parts is None:
            blocks.append(block)
        else:
            cuts.append((depth, parts[2]))
            waiting += [(parts[0], depth + 1), (parts[1], depth + 1)]
    return cuts, blocks


def _cut(
    block: np.ndarray, start: np.ndarray, direction: np.ndarray, turn: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return both parts of a convex block and the ends of the cut, or None where the cut comes near a corner."""
    x, y = np.cos(turn) * direction + np.sin(turn) * np.array([-direction[1], direction[0]])
    # The signed distance of each corner from the cut; it changes its sign along the two edges that are crossed.
    side = (block - start) @ np.array([-y, x])
    ahead, beyond = np.roll(block, -1, axis=0), np.roll(side, -1)
    crossed = np.flatnonzero(side * beyond < 0)
    if len(crossed) != 2:
        return None
    first, second = crossed
    share = side[crossed] / (side[crossed] - beyond[crossed])
    ends = block[crossed] + (ahead[crossed] - block[crossed]) * share[:, None]
    if cdist(ends, block).min() < _CORNER_M:
        return None
    # Corners between the two crossings are one part; those after the second and before the first are the other.
    one = np.vstack([ends[:1], block[first + 1 : second + 1], ends[1:]])
    other = np.vstack([ends[1:], block[second + 1 :], block[: first + 1], ends[:1]])
    return one, other, ends


def class_of(depth: int, length_m: float, urbanity: float) -> str:
    """Return the class of the street that splits a block: the earlier and longer, the more important.

    `urbanity` runs from 0 in the countryside to 1 in the middle of a town.
    """
    if depth == 0 or length_m > 1200:
        return "primary"
    if length_m > 420:
        return "secondary"
    return "residential" if urbanity > 0.2 else "track"
