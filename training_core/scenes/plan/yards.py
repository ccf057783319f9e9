"""Yards: gardens with walls, fences and hedges; drives, patios and pools; empty lots.

Scope: shapes on a plane in meters. Independent of colors and pixels. Walls with their shadows, drives and paved yards
are what a model most easily takes for narrow streets.
"""

from __future__ import annotations

from dataclasses import dataclass

import geopandas as gpd
import numpy as np
import shapely

from .biomes import Biome
from .placing import aside, is_clear, rectangles, spots, table
from .streets import StreetPlan

WALL_HEIGHT_M = 2.0
PATIO, SOIL, LAWN, POOL = range(4)
_PATCH_SHARES = (0.42, 0.25, 0.27, 0.06)
_PATCHES = 2.2  # mean number in a garden
_FRONT_SHARE = 0.3  # of the gardens, whose wall or fence runs along the street, too
_HEDGE_M = 1.5
# Lots: meters of street for each, side along it, depth, and distance from its middle.
_LOT_SPACING_M, _LOT_FRONTS_M, _LOT_DEPTHS_M, _LOT_SETBACK_M = 90.0, (30, 80), (30, 80), 9.0


@dataclass(frozen=True)
class Yards:
    """The ground around the houses, as tables."""

    gardens: gpd.GeoDataFrame  # the plots of houses, and lots without one; roads that are painted later cut them off
    patches: gpd.GeoDataFrame  # rectangles within them, with kind: PATIO, SOIL, LAWN or POOL
    drives: gpd.GeoDataFrame  # the paved paths between house and street
    fences: gpd.GeoDataFrame  # lines along the sides of some gardens
    walls: gpd.GeoDataFrame  # the same, as high as a man
    hedges: gpd.GeoDataFrame  # strips along others, in which bushes and trees stand close


def plan_yards(
    houses: gpd.GeoDataFrame, streets: StreetPlan, taken: gpd.GeoDataFrame, biome: Biome, rng: np.random.Generator
) -> Yards:
    """Return the yards of houses, and lots along the streets.

    Houses are outlines with along (the street's direction in radians, the street on the right), away_m (from its middle
    to the house's) and front_m. No wall, fence or hedge stands on `taken` ground.
    """
    along, front_m, away_m = (houses[name].to_numpy() for name in ("along", "front_m", "away_m"))
    count, center = len(houses), shapely.get_coordinates(shapely.centroid(houses.geometry.to_numpy()))
    deep_m = rng.uniform(24, 48)  # one for all, so that the gardens of a street end in a line
    gardens = rectangles(
        aside(center, along, deep_m / 2 - away_m), front_m + rng.uniform(5, 18, count), np.full(count, deep_m), along
    )
    ahead = np.column_stack([np.cos(along), np.sin(along)])
    beside = center + ahead * (front_m * rng.choice([-0.6, 0.3, 0.6], count))[:, None]
    drives = rectangles(aside(beside, along, -away_m / 2), rng.uniform(2.5, 6.0, count), away_m, along)
    lots, lots_along = _lots(streets, rng)
    fronts = np.concatenate([np.zeros(len(lots)), away_m * rng.uniform(0.5, 0.7, count) / deep_m])
    gardens, along = np.concatenate([lots, gardens]), np.concatenate([lots_along, along])
    bounds, bound_of = _bounds(gardens, fronts, rng)
    stands = is_clear(bounds, taken)
    bounds, draw = bounds[stands], rng.random(len(gardens))[bound_of[stands]]
    is_walled, is_hedged = draw < biome.walled, draw > 1 - biome.hedged
    patch_of = np.repeat(np.arange(len(gardens)), rng.poisson(_PATCHES, len(gardens)))
    kind = rng.choice(len(_PATCH_SHARES), len(patch_of), p=_PATCH_SHARES)
    return Yards(
        gardens=table(gardens),
        patches=table(_patches(gardens[patch_of], along[patch_of], rng), kind=kind),
        drives=table(drives),
        fences=table(bounds[~is_walled & ~is_hedged]),
        walls=table(bounds[is_walled]),
        hedges=table(shapely.buffer(bounds[is_hedged & ~is_walled], _HEDGE_M, cap_style="flat")),
    )


def _lots(streets: StreetPlan, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return lots along streets in town and the direction of each with the street on its right."""
    _, center, along = spots(streets.roads[~streets.roads.bridge], _LOT_SPACING_M, rng)
    is_in_town = streets.towns.urbanity(center) > rng.uniform(0.1, 0.4, len(center))
    center = center[is_in_town]
    along = along[is_in_town] + rng.choice([0, np.pi], len(center))
    deep_m = rng.uniform(*_LOT_DEPTHS_M, len(center))
    center = aside(center, along, _LOT_SETBACK_M + deep_m / 2)
    return rectangles(center, rng.uniform(*_LOT_FRONTS_M, len(center)), deep_m, along), along


def _bounds(gardens: np.ndarray, fronts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the sides of gardens behind their fronts, for some also the front, and the garden of each side."""
    corners = shapely.get_coordinates(gardens).reshape(-1, 5, 2)
    left = corners[:, 0] + fronts[:, None] * (corners[:, 3] - corners[:, 0])
    right = corners[:, 1] + fronts[:, None] * (corners[:, 2] - corners[:, 1])
    ring = np.stack([left, corners[:, 3], corners[:, 2], right, left], axis=1)
    sides = shapely.linestrings(np.stack([ring[:, :-1], ring[:, 1:]], axis=2))
    there = np.ones(sides.shape, dtype=bool)
    there[:, -1] = rng.random(len(gardens)) < _FRONT_SHARE
    return sides[there], np.nonzero(there)[0]


def _patches(gardens: np.ndarray, along: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a rectangle somewhere in each garden, parallel to it; some are long and narrow."""
    corners = shapely.get_coordinates(gardens).reshape(-1, 5, 2)
    x, y = rng.uniform(0.05, 0.95, (2, len(gardens), 1))
    center = corners[:, 0] + x * (corners[:, 1] - corners[:, 0]) + y * (corners[:, 3] - corners[:, 0])
    length_m, breadth_m = np.exp(rng.uniform(np.log(2.0), np.log(16.0), (2, len(gardens))))
    return rectangles(center, length_m, breadth_m, along)
