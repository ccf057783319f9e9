"""Recursive subdivision of land into blocks by streets, until the blocks have the wanted size.

Scope: lines and convex blocks on a plane in meters. Independent of where towns are and how the plan bends.

Blocks are split straight and square on a lattice, or askew. That gives the irregular blocks and T-junctions of towns
that grew.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from shapely.geometry import LineString

from .sketch import Bend, Street, Towns

_LATTICE_M = 20.0  # square splits lie on it, so that streets on both sides of a road meet or keep a distance
_CORNER_M = 7.0  # askew splits keep that far from a block's corners


def split_askew(
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
        center = block.mean(axis=0)
        sides = np.roll(block, -1, axis=0) - block
        along = sides[np.hypot(*sides.T).argmax()]
        along = along / np.hypot(*along)
        frame = np.array([along, (-along[1], along[0])])
        reach_m = np.ptp(block @ frame.T, axis=0)
        longer = reach_m.argmax()
        parts = None
        if reach_m[longer] > 1.5 * wanted_m(center):
            for _ in range(4):
                start = center + frame[longer] * reach_m[longer] * rng.uniform(-0.14, 0.14)
                parts = _cut(block, start, frame[1 - longer], rng.normal(0, skew))
                if parts is not None:
                    break
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
    side = (block - start) @ np.array([-y, x])
    ahead, beyond = np.roll(block, -1, axis=0), np.roll(side, -1)
    crossed = np.flatnonzero(side * beyond < 0)
    if len(crossed) != 2:
        return None
    first, second = crossed
    share = side[crossed] / (side[crossed] - beyond[crossed])
    ends = block[crossed] + (ahead[crossed] - block[crossed]) * share[:, None]
    if np.hypot(*(ends[:, None] - block[None]).transpose(2, 0, 1)).min() < _CORNER_M:
        return None
    one = np.vstack([ends[:1], block[first + 1 : second + 1], ends[1:]])
    other = np.vstack([ends[1:], block[second + 1 :], block[: first + 1], ends[:1]])
    return one, other, ends


def blind_alley(block: np.ndarray, share: float, rng: np.random.Generator) -> LineString:
    """Return a dead-end street from the middle of a random side into a block with (N, 2) float64 corners.

    `share` is its length as a fraction of the distance across.
    """
    k = rng.integers(len(block))
    start, center = (block[k] + block[(k + 1) % len(block)]) / 2, block.mean(axis=0)
    return LineString([start, start + 2 * share * (center - start)])


def split_square(
    half_m: float, bend: Bend, towns: Towns, rng: np.random.Generator
) -> tuple[list[Street], list[tuple[float, float]]]:
    """Split a square about the origin into blocks, smaller ones in towns.

    Returns the streets, one for each split and the dead ends within blocks, and where dead ends have a turning place.
    """
    half_m = float(np.ceil(half_m / _LATTICE_M) * _LATTICE_M)
    streets: list[Street] = []
    ends: list[tuple[float, float]] = []
    blocks = [(-half_m, -half_m, half_m, half_m, 0)]
    while blocks:
        x0, y0, x1, y1, depth = blocks.pop()
        urbanity = float(towns.urbanity(bend(np.array([[(x0 + x1) / 2, (y0 + y1) / 2]])))[0])
        wanted_m = rng.uniform(85, 130) if urbanity > 0.35 else rng.uniform(170, 300)
        along_x = x1 - x0 > y1 - y0
        length_m = max(x1 - x0, y1 - y0)
        if depth > 1 and length_m < 1.5 * wanted_m:
            _fill_block((x0, y0, x1, y1), urbanity, streets, ends, rng)
            continue
        low = x0 if along_x else y0
        split = low + np.round(length_m * rng.uniform(0.4, 0.6) / _LATTICE_M) * _LATTICE_M
        across_m = (y1 - y0) if along_x else (x1 - x0)
        road_class = class_of(depth, across_m, urbanity)
        if along_x:
            streets.append(Street(road_class, LineString([(split, y0), (split, y1)])))
            blocks += [(x0, y0, split, y1, depth + 1), (split, y0, x1, y1, depth + 1)]
        else:
            streets.append(Street(road_class, LineString([(x0, split), (x1, split)])))
            blocks += [(x0, y0, x1, split, depth + 1), (x0, split, x1, y1, depth + 1)]
    return streets, ends


def class_of(depth: int, length_m: float, urbanity: float) -> str:
    """Return the class of the street that splits a block: the earlier and longer, the more important.

    `urbanity` runs from 0 in the countryside to 1 in the middle of a town.
    """
    if depth == 0 or length_m > 1200:
        return "primary"
    if length_m > 420:
        return "secondary"
    return "residential" if urbanity > 0.2 else "track"


def _fill_block(
    block: tuple[float, float, float, float],
    urbanity: float,
    streets: list[Street],
    ends: list[tuple[float, float]],
    rng: np.random.Generator,
) -> None:
    """Add a dead-end street to a town block or a winding track that may end in the fields to a country block."""
    x0, y0, x1, y1 = block
    middle = y0 + np.round((y1 - y0) * rng.uniform(0.35, 0.65))
    if urbanity > 0.35:
        if rng.random() < 0.3 and x1 - x0 > 90:
            end = x0 + rng.uniform(0.45, 0.6) * (x1 - x0)
            streets.append(Street("residential", LineString([(x0, middle), (end, middle)])))
            ends.append((end, middle))
    elif rng.random() < 0.75 and min(x1 - x0, y1 - y0) > 60:
        share = np.linspace(0, 1 if rng.random() < 0.6 else rng.uniform(0.5, 0.8), 60)
        swing = np.sin(2 * np.pi * share * rng.uniform(0.6, 1.6)) * np.sin(np.pi * share) * rng.uniform(-0.22, 0.22)
        line = LineString(np.column_stack([x0 + share * (x1 - x0), middle + swing * (y1 - y0)]))
        streets.append(Street("track", line))
