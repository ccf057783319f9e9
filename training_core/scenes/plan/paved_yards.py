"""Yards, car parks and aprons with the drives that lead to them: paved ground that is no road.

Scope: shapes on a plane in meters. Independent of colors.
"""

from __future__ import annotations

from dataclasses import replace

import geopandas as gpd
import numpy as np
import shapely
from shapely.affinity import rotate, scale
from shapely.geometry import LineString, Polygon
from shapely.ops import nearest_points

from .biomes import HALL, SHED
from .drafting import (
    ASPHALT,
    CONCRETE,
    EARTH,
    GRAVEL,
    Draft,
    Layer,
    cleared,
    plots,
    with_access,
    with_buildings,
    with_ground,
)
from .land import Land, parking
from .placing import rectangles, table
from .road_table import stack

_SIDES_M, _INSET_M = (28.0, 100.0), 3.0
CAR_PARK, STORAGE, APRON = KINDS = range(3)
_KIND_SHARES = (0.4, 0.35, 0.25)
_DRIVE_M = (4.0, 8.0)
_CONTAINER_M, _CONTAINER_HEIGHT_M = (6.1, 2.5), 2.6
_SLABS_SPREAD = 0.05  # of their brightness
_HALL_SHARE, _HALL_HEIGHT_M = 0.5, (6.0, 9.0)


def add_paved_yards(draft: Draft, share: float, rng: np.random.Generator) -> Draft:
    """Return the draft with car parks, storage yards and aprons on a share of the blocks.

    Parameters
    ----------
    share : float
        From 0 to 1.
    rng : Generator
        Draws them.
    """
    places = plots(draft, _INSET_M, _SIDES_M, share, rng)
    if not places:
        return draft
    roads = with_access(draft.streets.roads)
    draft = replace(draft, land=cleared(draft.land, np.array([plot for plot, _ in places], dtype=object)))
    layers: list[Layer] = []
    slabs: list[Layer] = []
    lots, goods, halls = [], [], []
    for yard, angle in places:
        kind = int(rng.choice(KINDS, p=_KIND_SHARES))
        if kind == CAR_PARK:
            yard = _inscribed(yard, angle)
        if yard.is_empty:
            continue
        surface = CONCRETE if kind == APRON else int(rng.choice([ASPHALT, CONCRETE, GRAVEL, EARTH]))
        layers.append((surface, _drive(yard, roads, rng)))
        if kind == CAR_PARK:
            lots.append((yard, angle))
            continue
        layers.append((surface, yard))
        if kind == APRON:
            slabs += [(surface, slab) for slab in _slabs(yard, angle, rng)]
        else:
            goods.append(_rows(yard, angle, rng))
        if rng.random() < _HALL_SHARE:
            halls.append(_inscribed(scale(yard, 0.5, 0.5), angle))
    land = _with_lots(draft.land, lots, rng)
    halls_there = np.array([each for each in halls if not each.is_empty], dtype=object)
    stored = np.concatenate([np.empty(0, dtype=object), *goods])
    stored = stored[~shapely.intersects(stored, shapely.union_all(halls_there))]
    land = with_buildings(land, halls_there, HALL, rng.uniform(*_HALL_HEIGHT_M, len(halls_there)))
    land = with_buildings(land, stored, SHED, np.full(len(stored), _CONTAINER_HEIGHT_M))
    draft = with_ground(replace(draft, land=land), "paved_yards", layers, rng)
    return with_ground(draft, "paved_yards", slabs, rng, _SLABS_SPREAD)


def _inscribed(ground: Polygon, angle: float) -> Polygon:
    """Return a rectangle in a direction that lies in an area, empty where none is found."""
    if ground.is_empty:
        return Polygon()
    center = ground.point_on_surface()
    straight = rotate(ground, -angle, origin=center, use_radians=True)
    west, south, east, north = straight.bounds
    middle = np.array([[(west + east) / 2, (south + north) / 2]])
    for share in np.arange(0.95, 0.3, -0.05):
        sides_m = share * np.array([[east - west], [north - south]])
        (found,) = rectangles(middle, *sides_m, np.zeros(1))
        if straight.covers(found):
            return rotate(found, angle, origin=center, use_radians=True)
    return Polygon()


def _drive(yard: Polygon, roads: gpd.GeoDataFrame, rng: np.random.Generator) -> Polygon:
    """Return the way from a yard to the nearest road, empty where there is none."""
    if roads.empty:
        return Polygon()
    near = roads.geometry.to_numpy()[roads.distance(yard).argmin()]
    ends = nearest_points(near, yard)
    return LineString(ends).buffer(rng.uniform(*_DRIVE_M) / 2, cap_style="square")


def _slabs(yard: Polygon, angle: float, rng: np.random.Generator) -> np.ndarray:
    """Return the slabs that an apron is made of, with joints between them."""
    size_m, reach_m = rng.uniform(12, 30), yard.length / 3
    at_m = np.arange(-reach_m, reach_m, size_m)
    center = _lattice(yard, angle, at_m, at_m)
    size = np.full(len(center), size_m - 0.4)
    slabs = shapely.intersection(rectangles(center, size, size, np.full(len(center), angle)), yard)
    return slabs[~shapely.is_empty(slabs)]


def _rows(yard: Polygon, angle: float, rng: np.random.Generator) -> np.ndarray:
    """Return containers in rows with lanes between them."""
    long_m, wide_m = _CONTAINER_M
    reach_m, lane_m = yard.length / 3, rng.uniform(6, 12)
    along_m, across_m = np.arange(-reach_m, reach_m, long_m + 0.4), np.arange(-reach_m, reach_m, 2 * wide_m + lane_m)
    center = _lattice(yard, angle, along_m, across_m)
    center = center[rng.random(len(center)) < rng.uniform(0.2, 0.8)]
    count = len(center)
    found = rectangles(center, np.full(count, long_m), np.full(count, wide_m), np.full(count, angle))
    return found[shapely.covers(yard.buffer(-2.0), found)] if count else found


def _lattice(yard: Polygon, angle: float, along_m: np.ndarray, across_m: np.ndarray) -> np.ndarray:
    """Return the points of a lattice around the middle of a yard, in a direction: (along x across, 2)."""
    x, y = (grid.ravel() for grid in np.meshgrid(along_m, across_m))
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.column_stack([x, y]) @ turn + np.array(yard.centroid.coords[0])


def _with_lots(land: Land, lots: list[tuple[Polygon, float]], rng: np.random.Generator) -> Land:
    """Return the land with further car parks, their bays, cars and islands."""
    if not lots:
        return land
    outlines, along = zip(*lots)
    none = np.zeros(len(lots))
    columns = {"kind": none.astype(int), "height_m": none, "along": np.array(along), "away_m": none, "front_m": none}
    added = table(np.array(outlines, dtype=object), **columns)
    bays, cars, islands = parking(added, rng)
    return replace(
        land,
        car_parks=stack(land.car_parks, added),
        bays=table(np.concatenate([land.bays.geometry, bays])),
        cars=table(np.concatenate([land.cars.geometry, cars])),
        islands=table(np.concatenate([land.islands.geometry, islands])),
    )
