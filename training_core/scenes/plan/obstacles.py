"""Obstacles that roads of a scene cross, a river and a railway: on a bridge, at grade, or not at all.

Scope: areas and lines on a plane in meters. Independent of colors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import LineString, Polygon, box

from .road_table import exploded, groups, stack
from .sketch import PAD_M, Bend

_MAIN = ("primary", "secondary", "motorway", "motorway_link")
_MOTORWAY = ("motorway", "motorway_link")
_RIVER_HALF_WIDTHS_M = (2.0, 12.0)  # from a brook to what only large bridges cross
_RIVER_TRIES, _RAILWAY_TRIES = 20, 8
_GAUGE_M, _BETWEEN_TRACKS_M, _SINGLE_BED_M = 1.435, 4.2, 4.6
_STEP_M = 8.0


def plan_river(side_m: float, bend: Bend, clear_of: Polygon, rng: np.random.Generator) -> Polygon:
    """Return the water of a river that keeps off an area, or an empty polygon where it cannot.

    `bend` is the turn of the streets, which the river crosses at a slant.
    """
    for _ in range(_RIVER_TRIES):
        river = _winding(side_m, bend, rng)
        if clear_of.is_empty or not river.intersects(clear_of):
            return river
    return Polygon()


def _winding(side_m: float, bend: Bend, rng: np.random.Generator) -> Polygon:
    """Return a winding river that crosses the scene off its center, and the streets at a slant."""
    reach_m = side_m + 4 * PAD_M
    along_m = np.arange(-reach_m, reach_m, 6.0)
    half_width_m = np.exp(rng.uniform(*np.log(_RIVER_HALF_WIDTHS_M)))
    aside_m = rng.choice([-1, 1]) * rng.uniform(0.18, 0.32) * side_m + np.zeros_like(along_m)
    for length_m, swing_m in ((700, 45), (310, 22), (130, 6)):
        aside_m += swing_m * np.sin(2 * np.pi * along_m / length_m + rng.uniform(0, 2 * np.pi))
    turn = np.arctan2(*bend.turn[::-1, 0]) + np.pi / 4 * rng.choice([1, 3, 5, 7]) + rng.uniform(-0.2, 0.2)
    x = along_m * np.cos(turn) - aside_m * np.sin(turn)
    y = along_m * np.sin(turn) + aside_m * np.cos(turn)
    reaches = shapely.points(x + side_m / 2, y + side_m / 2)
    wobble = 1 + 0.22 * np.sin(along_m / 23 + rng.uniform(0, 6)) + 0.12 * np.sin(along_m / 9)
    discs = shapely.buffer(reaches, half_width_m * wobble, quad_segs=6)
    links = shapely.convex_hull(shapely.geometrycollections(np.column_stack([discs[:-1], discs[1:]])))
    scene = box(-2 * PAD_M, -2 * PAD_M, side_m + 2 * PAD_M, side_m + 2 * PAD_M)
    return shapely.intersection(shapely.union_all(links), scene).simplify(0.2)


def over_river(roads: gpd.GeoDataFrame, river: Polygon) -> gpd.GeoDataFrame:
    """Carry main roads over the river on bridges, where these are short enough; the others end before its banks."""
    if river.is_empty:
        return roads
    width_m = 2 * river.area / river.length
    is_main = roads.road_class.isin(_MAIN).to_numpy()
    bank = river.buffer(5.0)
    shapely.prepare(bank)
    wet = roads[is_main & shapely.intersects(bank, roads.geometry.to_numpy())].copy()
    wet.geometry = shapely.intersection(wet.geometry.to_numpy(), bank)
    wet = exploded(wet)
    _, bridge = np.unique(np.column_stack([groups(wet), wet.street]), axis=0, return_inverse=True)
    is_short = np.bincount(bridge.ravel(), wet.length)[bridge.ravel()] < 2.5 * width_m + 12
    wet = wet[is_short | wet.road_class.isin(_MOTORWAY)].assign(bridge=True)
    dry = roads.copy()
    trimmed = np.where(is_main, bank, river.buffer(14.0))
    dry.geometry = shapely.difference(roads.geometry.to_numpy(), trimmed)
    return stack(exploded(dry), wet)


@dataclass(frozen=True)
class Railway:
    """A railway or none: its bed of ballast of breadth `width_m` and two LineStrings of rails for each track."""

    bed: Polygon
    rails: np.ndarray
    width_m: float

    def below(self, decks: np.ndarray) -> "Railway":
        """Return the railway without the rails below the decks of bridges: polygons, (N,) object."""
        return replace(self, rails=shapely.difference(self.rails, shapely.union_all(decks)))


NO_RAILWAY = Railway(Polygon(), np.empty(0, dtype=object), 0.0)


def plan_railway(side_m: float, clear_of: np.ndarray, along_none: np.ndarray, rng: np.random.Generator) -> Railway:
    """Return a railway across a square scene, or none where there is no room for it.

    It does not touch the (N,) object polygons `clear_of`. It may cross the (M,) object lines of roads `along_none` but
    does not lie on them.
    """
    tracks = int(rng.choice([1, 2], p=[0.6, 0.4]))
    width_m = _SINGLE_BED_M + (tracks - 1) * _BETWEEN_TRACKS_M + rng.uniform(0, 1.5)
    keep_off = shapely.union_all(clear_of)
    roads = shapely.union_all(along_none)
    for _ in range(_RAILWAY_TRIES):
        middle = _middle_line(side_m, rng)
        bed = middle.buffer(width_m / 2)
        met = shapely.length(shapely.get_parts(shapely.line_merge(shapely.intersection(roads, bed))))
        if not bed.intersects(keep_off) and met.max(initial=0) < 4 * width_m:
            break
    else:
        return NO_RAILWAY
    aside_m = [(track - (tracks - 1) / 2) * _BETWEEN_TRACKS_M for track in range(tracks)]
    rails = [middle.offset_curve(aside + half) for aside in aside_m for half in (-_GAUGE_M / 2, _GAUGE_M / 2)]
    return Railway(bed, np.array(rails, dtype=object), width_m)


def _middle_line(side_m: float, rng: np.random.Generator) -> LineString:
    """Return the middle of the bed: straights and long curves from border to border."""
    along_m = np.arange(-1.2 * side_m - 150, 1.2 * side_m + 150, _STEP_M)
    aside_m = rng.uniform(-0.36, 0.36) * side_m + np.zeros_like(along_m)
    for usual_m, swing_m in ((2600, 70), (1300, 28)):
        length_m = usual_m * rng.uniform(0.8, 1.3)
        aside_m += swing_m * rng.uniform(-1, 1) * np.sin(2 * np.pi * along_m / length_m + rng.uniform(0, 2 * np.pi))
    turn = rng.uniform(0, 2 * np.pi)
    x = along_m * np.cos(turn) - aside_m * np.sin(turn)
    y = along_m * np.sin(turn) + aside_m * np.cos(turn)
    return LineString(np.column_stack([x, y]) + side_m / 2)


def over_railway(roads: gpd.GeoDataFrame, railway: Railway, rng: np.random.Generator) -> gpd.GeoDataFrame:
    """Take roads across a railway: most main ones on bridges, others at grade; lanes that run along it are cut.

    Motorways always get a bridge. Bridges are overpasses. Roads are cut at the railway's bed and have columns bridge
    and overpass.
    """
    corridor = railway.bed.buffer(1.5)
    shapely.prepare(corridor)
    roads = roads.reset_index(drop=True)
    met = roads[shapely.intersects(corridor, roads.geometry.to_numpy()) & ~roads.overpass]
    if met.empty:
        return roads
    inside = met.assign(row=met.index)
    inside.geometry = shapely.intersection(met.geometry.to_numpy(), corridor)
    inside = exploded(inside)
    group = groups(inside)
    streets = inside.assign(group=group).groupby("group").street.nunique().to_numpy()
    is_neat = (streets[group] == 1) & (np.bincount(group, inside.length)[group] < 2.0 * railway.width_m + 8)
    is_main = inside.road_class.isin(_MAIN).to_numpy()
    lifted = rng.random(inside.street.max() + 1)[inside.street] < 0.6
    is_bridge = inside.road_class.isin(_MOTORWAY).to_numpy() | (is_main & is_neat & lifted)
    is_gone = ~is_neat & ~is_main
    cut = np.isin(np.arange(len(roads)), inside.row[is_bridge | is_gone])
    left = roads.copy()
    left.loc[cut, "geometry"] = shapely.difference(roads.geometry.to_numpy()[cut], corridor)
    carried = inside[cut[inside.row] & ~is_gone].drop(columns="row")
    is_bridge = is_bridge[cut[inside.row] & ~is_gone]
    carried = carried.assign(bridge=carried.bridge | is_bridge, overpass=carried.overpass | is_bridge)
    return stack(exploded(left), carried)


def decks(roads: gpd.GeoDataFrame) -> np.ndarray:
    """Return the decks of bridges over roads and railways, as polygons: (N,) object."""
    over = roads[roads.overpass]
    return shapely.buffer(over.geometry.to_numpy(), over.width_m.to_numpy() / 2 + 0.7, cap_style="flat")
