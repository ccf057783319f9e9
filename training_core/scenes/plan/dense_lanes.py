"""Lanes between houses: narrow, in the shadow of tall fronts, on ground that often looks as they do. They are roads.

Scope: lines and outlines on a plane in meters. Independent of colors and of where the sun is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely
from shapely.geometry import LineString, Polygon

from .biomes import HOUSE
from .drafting import (
    ASPHALT,
    CONCRETE,
    EARTH,
    GRAVEL,
    Draft,
    Layer,
    NewRoad,
    cleared,
    obstacles,
    open_ground,
    surfaces_of,
    with_buildings,
    with_ground,
    with_roads,
    without_fences,
)
from .land import first_come
from .placing import aside, is_clear, rectangles, table

_MIN_M2 = 1_000.0
_TOWN_FROM = 0.25  # of urbanity
_APART_M, _WIDTHS_M = (24.0, 38.0), (2.2, 4.2)
_FRONT_M, _DEPTH_M, _SETBACK_M, _HEIGHT_M = (6.0, 13.0), (7.0, 11.0), (0.2, 1.0), (6.0, 16.0)
_LIKE_GROUND = 0.7  # of the blocks, paved as their lanes are
_GROUND_OF = {"asphalt": ASPHALT, "concrete": CONCRETE, "gravel": GRAVEL, "dirt": EARTH}


def add_dense_lanes(draft: Draft, share: float, rng: np.random.Generator) -> Draft:
    """Return the draft with lanes, close rows of houses along them, through a share of the blocks in town.

    Parameters
    ----------
    share : float
        From 0 to 1.
    rng : Generator
        Draws them.
    """
    places = open_ground(draft, 0.0, _MIN_M2)
    in_town = places[places.urbanity > _TOWN_FROM]
    covers = draft.land.covers.geometry.to_numpy()
    layers: list[Layer] = []
    lanes: list[NewRoad] = []
    for block, parts in in_town.groupby("block"):
        if rng.random() >= share:
            continue
        surface = str(rng.choice(list(_GROUND_OF), p=[0.25, 0.4, 0.1, 0.25]))
        found = _lanes(draft, covers[block], parts.angle.iloc[0], surface, rng)
        if found and rng.random() < _LIKE_GROUND:
            layers += [(_GROUND_OF[surface], part) for part in parts.geometry]
        lanes += found
    if not lanes:
        return draft
    paved = np.array([shape for _, shape in layers], dtype=object)
    draft = replace(draft, land=without_fences(draft.land, paved))
    return _lined(with_roads(with_ground(draft, "dense_lanes", layers, rng), lanes, rng), lanes, rng)


def _lanes(draft: Draft, block: Polygon, angle: float, surface: str, rng: np.random.Generator) -> list[NewRoad]:
    """Return lanes across a block, from the middle of a street to that of another."""
    roads = draft.streets.roads
    reach_m, center = block.length / 2, np.array(block.centroid.coords[0])
    ahead, left = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    motorways = roads.geometry[roads.road_class.isin(("motorway", "motorway_link"))].to_numpy()
    avoided = shapely.union_all([*obstacles(draft.streets, 6.0), *shapely.buffer(motorways, 1.0)])
    at_m, lanes = -reach_m + rng.uniform(*_APART_M), []
    while at_m < reach_m:
        swing_m, slant = rng.normal(0, 2.0), rng.normal(0, 0.12)
        along = np.linspace(-reach_m, reach_m, 40)
        across_m = at_m + slant * along + swing_m * np.sin(along / 14)
        line = LineString(center + across_m[:, None] * ahead + along[:, None] * left)
        for part in shapely.get_parts(line.intersection(block)):
            if part.length > 25 and not part.intersects(avoided):
                lanes.append(NewRoad(part, "residential", rng.uniform(*_WIDTHS_M), surface))
        at_m += rng.uniform(*_APART_M)
    return lanes


def _lined(draft: Draft, lanes: list[NewRoad], rng: np.random.Generator) -> Draft:
    """Return the draft with houses wall to wall along both sides of lanes, where there is room."""
    rows = []
    for lane in lanes:
        for turn in (0.0, np.pi):
            front_m = rng.uniform(*_FRONT_M, int(lane.line.length / _FRONT_M[0]))
            at_m = np.cumsum(front_m + rng.exponential(0.5, len(front_m))) - front_m / 2
            on_lane = at_m < lane.line.length - 1.0
            front_m, at_m = front_m[on_lane], at_m[on_lane]
            points, ahead = (
                shapely.get_coordinates(shapely.line_interpolate_point(lane.line, at_m + by_m)) for by_m in (0.0, 0.5)
            )
            along = np.arctan2(*(ahead - points)[:, ::-1].T) + turn
            depth_m, setback_m = rng.uniform(*_DEPTH_M, len(at_m)), rng.uniform(*_SETBACK_M, len(at_m))
            center = aside(points, along, lane.width_m / 2 + setback_m + depth_m / 2)
            rows.append(rectangles(center, front_m, depth_m, along))
    outlines = np.concatenate(rows)
    streets = draft.streets
    taken = [*surfaces_of(streets.roads, 0.15), *shapely.buffer(streets.turning, 9.0), *obstacles(streets, 4.0)]
    taken += list(draft.land.car_parks.geometry)
    outlines = outlines[is_clear(outlines, table(np.array(taken, dtype=object)))]
    outlines = outlines[first_come(table(outlines), 0.05)]
    height_m = rng.uniform(*_HEIGHT_M, len(outlines))
    land = cleared(draft.land, outlines)
    return replace(draft, land=with_buildings(land, outlines, HOUSE, height_m))
