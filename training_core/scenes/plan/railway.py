"""A railway through a scene, which looks much like a road and is none: bed, tracks and rails.

Scope: lines on a plane in meters, and what the railway must keep clear of. Independent of the roads that cross it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import shapely
from shapely.geometry import LineString, Polygon

_GAUGE_M, _BETWEEN_TRACKS_M, _SINGLE_BED_M = 1.435, 4.2, 4.6
_STEP_M = 8.0
_TRIES = 8


@dataclass(frozen=True)
class Railway:
    """One railway, or none.

    Parameters
    ----------
    bed : Polygon
        The ballast, empty without a railway.
    rails : (N,) ndarray of LineString
        The rails, two for each track.
    width_m : float
        Breadth of the bed.
    """

    bed: Polygon
    rails: np.ndarray
    width_m: float

    def below(self, decks: np.ndarray) -> "Railway":
        """Return the railway without those parts of its rails that bridges hide.

        Parameters
        ----------
        decks : ndarray (N,), object
            Polygons of the bridges' decks.
        """
        return replace(self, rails=shapely.difference(self.rails, shapely.union_all(decks)))


NO_RAILWAY = Railway(Polygon(), np.empty(0, dtype=object), 0.0)


def plan_railway(side_m: float, clear_of: np.ndarray, along_none: np.ndarray, rng: np.random.Generator) -> Railway:
    """Return a railway across a square scene, or none where there is no room for it.

    Parameters
    ----------
    side_m : float
        The scene's side.
    clear_of : ndarray (N,), object
        Polygons that the railway must not touch.
    along_none : ndarray (M,), object
        Lines of roads that it may cross but must not lie on.
    rng : Generator
        Draws the railway.
    """
    tracks = int(rng.choice([1, 2], p=[0.6, 0.4]))
    width_m = _SINGLE_BED_M + (tracks - 1) * _BETWEEN_TRACKS_M + rng.uniform(0, 1.5)
    keep_off = shapely.union_all(clear_of)
    roads = shapely.union_all(along_none)
    for _ in range(_TRIES):
        middle = _course(side_m, rng)
        bed = middle.buffer(width_m / 2)
        met = shapely.length(shapely.get_parts(shapely.line_merge(shapely.intersection(roads, bed))))
        if not bed.intersects(keep_off) and met.max(initial=0) < 4 * width_m:
            break
    else:
        return NO_RAILWAY
    aside_m = [(track - (tracks - 1) / 2) * _BETWEEN_TRACKS_M for track in range(tracks)]
    rails = [middle.offset_curve(aside + half) for aside in aside_m for half in (-_GAUGE_M / 2, _GAUGE_M / 2)]
    return Railway(bed, np.array(rails, dtype=object), width_m)


def _course(side_m: float, rng: np.random.Generator) -> LineString:
    """Return the middle of the bed: straights and long curves from border to border."""
    along_m = np.arange(-1.2 * side_m - 150, 1.2 * side_m + 150, _STEP_M)
    aside_m = rng.uniform(-0.36, 0.36) * side_m + np.zeros_like(along_m)
    for length_m, swing_m in ((2600, 70), (1300, 28)):
        length_m = length_m * rng.uniform(0.8, 1.3)
        aside_m += swing_m * rng.uniform(-1, 1) * np.sin(2 * np.pi * along_m / length_m + rng.uniform(0, 2 * np.pi))
    turn = rng.uniform(0, 2 * np.pi)
    x = along_m * np.cos(turn) - aside_m * np.sin(turn)
    y = along_m * np.sin(turn) + aside_m * np.cos(turn)
    return LineString(np.column_stack([x, y]) + side_m / 2)
