"""Crossings of roads with water, railways and each other: bridge, at grade, or none.

Scope: roads as a table and obstacles as areas. Independent of how either was made.
"""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import Polygon

from .railway import Railway
from .road_table import exploded, groups, stack

_MAIN = ("primary", "secondary", "motorway", "motorway_link")
_MOTORWAY = ("motorway", "motorway_link")


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


def over_railway(roads: gpd.GeoDataFrame, railway: Railway, rng: np.random.Generator) -> gpd.GeoDataFrame:
    """Take roads across a railway: most main ones on bridges, others at grade; lanes that run along it are cut.

    Motorways always get a bridge. Bridges are overpasses.

    Parameters
    ----------
    rng : Generator
        Draws which main roads get a bridge.

    Returns
    -------
    GeoDataFrame
        The roads, cut at the railway's bed, with columns bridge and overpass.
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
    """Return the decks of bridges over roads and railways, as polygons: (N,), object."""
    over = roads[roads.overpass]
    return shapely.buffer(over.geometry.to_numpy(), over.width_m.to_numpy() / 2 + 0.7, cap_style="flat")
