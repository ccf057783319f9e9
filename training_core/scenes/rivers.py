"""Rivers: between the streets of a town, or winding through open land with sand banks.

Scope: the water's outline on a plane in meters. Independent of streets but for an area to keep off, and of colors.
"""

from __future__ import annotations

import numpy as np
import shapely
import shapely.affinity
from shapely.geometry import Polygon, box

from .sketch import PAD_M, Bend

_TRIES = 20
_HALF_WIDTHS_M = (2.0, 12.0)  # from a brook to what only large bridges cross
_MEANDERING_HALF_WIDTHS_M = (1.5, 35.0)


def plan_river(side_m: float, bend: Bend, clear_of: Polygon, rng: np.random.Generator) -> Polygon:
    """Return the water of a winding river that keeps off an area, or an empty polygon where it cannot.

    `bend` is the turn of the streets. The river crosses the scene off its center, and the streets at a slant.
    """
    along_m = np.arange(-side_m - 4 * PAD_M, side_m + 4 * PAD_M, 6.0)
    scene = box(-2 * PAD_M, -2 * PAD_M, side_m + 2 * PAD_M, side_m + 2 * PAD_M)
    for _ in range(_TRIES):
        half_width_m = np.exp(rng.uniform(*np.log(_HALF_WIDTHS_M)))
        aside_m = rng.choice([-1, 1]) * rng.uniform(0.18, 0.32) * side_m + np.zeros_like(along_m)
        # Bends of three wavelengths, then banks whose distance varies along the river.
        for length_m, swing_m in ((700, 45), (310, 22), (130, 6)):
            aside_m += swing_m * np.sin(2 * np.pi * along_m / length_m + rng.uniform(0, 2 * np.pi))
        wobble = half_width_m * (1 + 0.22 * np.sin(along_m / 23 + rng.uniform(0, 6)) + 0.12 * np.sin(along_m / 9))
        banks = [np.column_stack([along_m, aside_m + bank_m]) for bank_m in (wobble, -wobble)]
        outline = shapely.make_valid(Polygon(np.vstack([banks[0], banks[1][::-1]])))
        # A slant of an odd multiple of 45 degrees to the streets, so that no street runs along the water.
        turn = np.arctan2(*bend.turn[::-1, 0]) + np.pi / 4 * rng.choice([1, 3, 5, 7]) + rng.uniform(-0.2, 0.2)
        turned = shapely.affinity.rotate(outline, turn, origin=(0, 0), use_radians=True)
        river = shapely.affinity.translate(turned, side_m / 2, side_m / 2).intersection(scene)
        if not river.intersects(clear_of):
            return river
    return Polygon()


def plan_meanders(side_m: float, rng: np.random.Generator) -> tuple[Polygon, Polygon]:
    """Return the bed of a meandering river through a square scene, and the sand banks in it.

    Its direction is a sine of the way along it (Langbein and Leopold 1966). Sand lies on the inner side of bends.
    """
    half_m = np.exp(rng.uniform(*np.log(_MEANDERING_HALF_WIDTHS_M)))
    wave_m, swing = max(70.0, 2 * half_m * rng.uniform(9, 16)), rng.uniform(0.4, 1.6)
    step_m, reach_m = max(2.5, half_m / 4), 2.2 * (side_m + 4 * PAD_M)
    phase = 2 * np.pi * np.arange(-reach_m, reach_m, step_m) / wave_m + rng.uniform(0, 2 * np.pi)
    phase += rng.uniform(0.3, 0.9) * np.sin(phase / 3.3)
    heading = swing * (1 + 0.25 * np.sin(phase / 4.7)) * np.sin(phase) + rng.uniform(0, 2 * np.pi)
    ahead = np.column_stack([np.cos(heading), np.sin(heading)])
    middle = step_m * ahead.cumsum(axis=0)
    middle += side_m * rng.uniform(0.25, 0.75, 2) - middle[len(middle) // 2]
    inward = np.column_stack([-ahead[:, 1], ahead[:, 0]]) * np.cos(phase)[:, None]
    half_m = half_m * (1 + 0.18 * np.sin(phase / 1.7))
    scene = box(-2 * PAD_M, -2 * PAD_M, side_m + 2 * PAD_M, side_m + 2 * PAD_M)
    bed = _swept(middle, half_m).intersection(scene)
    share = rng.uniform(0.35, 0.8)  # of the bed that is under water
    channel = _swept(middle - inward * (half_m * (1 - share))[:, None], half_m * share)
    return bed, bed.difference(channel) if rng.random() < 0.6 else Polygon()


def _swept(middle: np.ndarray, half_m: np.ndarray) -> Polygon:
    """Return the ground within some distance of each stretch of a line."""
    stretches = shapely.linestrings(np.stack([middle[:-1], middle[1:]], axis=1))
    return shapely.union_all(shapely.buffer(stretches, half_m[1:], quad_segs=4))
