"""Paths of parks, gardens and golf courses, which are no road: on lawns with fairways and bunkers.

Scope: shapes on a plane in meters. Independent of colors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely
from shapely.geometry import LineString, Polygon

from .drafting import ASPHALT, CONCRETE, EARTH, GRASS, GRAVEL, SAND, Draft, Layer, cleared, plots, with_ground
from .placing import rounded

_SIDES_M = (35.0, 140.0)
_GOLF = 0.45  # of the parks, others are gardens
_WAYS, _WAY_SHARES = (GRAVEL, CONCRETE, ASPHALT, EARTH), (0.35, 0.35, 0.1, 0.2)
_WIDTHS_M = (1.0, 2.4)


def add_park_paths(draft: Draft, share: float, rng: np.random.Generator) -> Draft:
    """Return the draft with parks, their paths winding, on a share of the blocks.

    Parameters
    ----------
    share : float
        From 0 to 1.
    rng : Generator
        Draws them.
    """
    parks = [park for park, _ in plots(draft, 1.0, _SIDES_M, share, rng)]
    if not parks:
        return draft
    layers: list[Layer] = []
    for park in parks:
        layers.append((GRASS, park))
        if rng.random() < _GOLF:
            layers += _course(park, rng)
        way, width_m = int(rng.choice(_WAYS, p=_WAY_SHARES)), rng.uniform(*_WIDTHS_M)
        for line in _paths(park, rng):
            layers.append((way, line.buffer(width_m / 2).intersection(park)))
    draft = replace(draft, land=cleared(draft.land, np.array(parks, dtype=object)))
    return with_ground(draft, "park_paths", layers, rng)


def _course(park: Polygon, rng: np.random.Generator) -> list[Layer]:
    """Return a fairway and bunkers."""
    layers: list[Layer] = []
    ends = _within(park.buffer(-6.0), 3, rng)
    if len(ends) == 3:
        layers.append((GRASS, LineString(rounded(ends)).buffer(rng.uniform(5, 14)).intersection(park)))
    for point in _within(park, rng.poisson(3), rng):
        parts = shapely.buffer(shapely.points(point + rng.normal(0, 2.5, (3, 2))), rng.uniform(1.5, 4, 3))
        layers.append((SAND, shapely.union_all(parts).intersection(park)))
    return layers


def _paths(park: Polygon, rng: np.random.Generator) -> list[LineString]:
    """Return a round, and paths that wind from edge to edge."""
    paths = []
    inner = park.buffer(-rng.uniform(3, 10)).buffer(-4).buffer(4)
    if not inner.is_empty and rng.random() < 0.6:
        paths += [shapely.get_exterior_ring(part) for part in shapely.get_parts(inner)]
    for _ in range(1 + rng.poisson(1.5)):
        edge = [park.exterior.interpolate(at, normalized=True).coords[0] for at in rng.uniform(0, 1, 2)]
        through = _within(park, int(rng.integers(1, 4)), rng)
        # Along the way from one end to the other.
        ahead = np.subtract(edge[1], edge[0])
        through = through[np.argsort(through @ ahead)]
        paths.append(LineString(rounded(np.vstack([edge[:1], through, edge[1:]]))))
    return paths


def _within(area: Polygon, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return some random points in an area, (count, 2), fewer where it is a small part of its bounds."""
    if area.is_empty:
        return np.empty((0, 2))
    west, south, east, north = area.bounds
    points = rng.uniform((west, south), (east, north), (8 * count, 2))
    return points[shapely.contains_xy(area, *points.T)][:count]
