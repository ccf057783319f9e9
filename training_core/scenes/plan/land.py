"""Land use along the roads of a scene: land cover, buildings, car parks and vehicles as tables of polygons.

Scope: shapes on a plane in meters and their kinds. Independent of colors, light and pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import box

from .biomes import BLOCK, CAR_PARK, HOUSE, SHED, Biome
from .placing import aside, is_clear, rectangles, spots, table
from .streets import PAD_M, StreetPlan
from .yards import Yards, plan_yards

_TOWN_FROM = 0.30  # urbanity
_APART_M = 1.5  # between plots
_CAR_M = (4.4, 1.9)
_BAY_M = (5.0, 2.6)
# Classes of roads, meters between cars, and their distance from the middle as a fraction of the width.
_TRAFFIC = (("motorway", 40, 0.25), ("primary", 45, 0.25), ("secondary", 60, 0.25), ("residential", 45, 0.36))


@dataclass(frozen=True)
class Land:
    """Land cover, buildings and vehicles along the roads, as tables.

    Covers have cover (an index into COVERS), angle (of furrows, in radians) and strip_m (breadth of fields). Roofs have
    building (a row of `buildings`) and down (the direction of the slope in radians from east, NaN where flat).
    """

    covers: gpd.GeoDataFrame  # blocks between roads
    buildings: gpd.GeoDataFrame  # outlines, with kind and height_m
    roofs: gpd.GeoDataFrame  # flat roofs, or both slopes of gables
    yards: Yards
    car_parks: gpd.GeoDataFrame
    bays: gpd.GeoDataFrame  # lines between parking bays
    cars: gpd.GeoDataFrame  # outlines of vehicles, parked and moving
    clutter: gpd.GeoDataFrame  # tanks, stairs and sheets on flat roofs
    islands: gpd.GeoDataFrame  # planted strips within car parks


def plan_land(side_m: float, streets: StreetPlan, biome: Biome, rng: np.random.Generator) -> Land:
    """Return the land along the streets of a square scene."""
    taken = _taken(streets)
    plots = _plots(streets, taken, biome, rng)
    is_car_park = plots.kind == CAR_PARK
    buildings, car_parks = plots[~is_car_park].reset_index(drop=True), plots[is_car_park].reset_index(drop=True)
    roofs = _roofs(buildings, biome, rng)
    bays, parked, islands = _parking(car_parks, rng)
    houses, used = buildings[buildings.kind == HOUSE], table(np.concatenate([taken.geometry, car_parks.geometry]))
    cars = np.concatenate([parked, _traffic(streets.roads, streets.decks, rng)])
    return Land(
        covers=_covers(side_m, streets, biome, rng),
        buildings=buildings,
        roofs=roofs,
        yards=plan_yards(houses, streets, used, biome, rng),
        car_parks=car_parks,
        bays=table(bays),
        cars=table(cars),
        clutter=table(_clutter(roofs[np.isnan(roofs.down)], biome.clutter, rng)),
        islands=table(islands),
    )


def _covers(side_m: float, streets: StreetPlan, biome: Biome, rng: np.random.Generator) -> gpd.GeoDataFrame:
    """Return the blocks between roads and river, each with what covers it."""
    edge = box(-PAD_M, -PAD_M, side_m + PAD_M, side_m + PAD_M).exterior
    lines = [*streets.roads.geometry, streets.river.boundary, edge]
    blocks = shapely.get_parts(shapely.polygonize(shapely.get_parts(shapely.union_all(lines, grid_size=0.01))))
    urbanity = streets.towns.urbanity(shapely.get_coordinates(shapely.point_on_surface(blocks)))
    shares = np.where(urbanity[:, None] > _TOWN_FROM, biome.town_covers, biome.country_covers)
    cover = (rng.random((len(blocks), 1)) > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)
    # Furrows run along the block's longer side.
    corners = shapely.get_coordinates(shapely.oriented_envelope(blocks)).reshape(-1, 5, 2)
    sides = corners[:, 1:3] - corners[:, :2]
    longer = sides[np.arange(len(blocks)), np.hypot(*sides.T).T.argmax(axis=1)]
    angle = np.arctan2(longer[:, 1], longer[:, 0])
    return table(blocks, cover=cover, angle=angle, strip_m=rng.uniform(35, 110, len(blocks)))


def _plots(streets: StreetPlan, taken: gpd.GeoDataFrame, biome: Biome, rng: np.random.Generator) -> gpd.GeoDataFrame:
    """Return rectangles along both sides of the streets in town that keep clear of roads, water and each other."""
    is_built_up = ~streets.roads.road_class.isin(("track", "motorway", "motorway_link"))
    roads = streets.roads[is_built_up & ~streets.roads.bridge]
    row, center, along = spots(roads, biome.spacing_m, rng)
    urbanity = streets.towns.urbanity(center)
    plot = rng.choice(len(biome.plots), len(row), p=[plot.share for plot in biome.plots])
    kept = np.flatnonzero(urbanity > rng.uniform(_TOWN_FROM - 0.18, _TOWN_FROM + 0.1, len(center)))
    kept = kept[np.argsort(plot[kept], kind="stable")]  # the large ones choose first
    row, center, along, plot = row[kept], center[kept], along[kept], plot[kept]
    kind = np.array([each.kind for each in biome.plots])[plot]
    ranges = np.array([(each.depth_m, each.front_m, each.height_m, each.setback_m) for each in biome.plots])[plot]
    depth_m, front_m, height_m, setback_m = (rng.uniform(ranges[:, k, 0], ranges[:, k, 1]) for k in range(4))
    side = rng.choice([-1, 1], len(kind))
    along = along + np.where(side > 0, 0, np.pi)  # with the street on the right
    away_m = roads.width_m.to_numpy()[row] / 2 + setback_m + depth_m / 2
    outline = rectangles(aside(center, along, away_m), front_m, depth_m, along + rng.normal(0, 0.02, len(kind)))
    plots = table(outline, kind=kind, height_m=height_m, along=along, away_m=away_m, front_m=front_m)
    plots = plots[is_clear(outline, taken)]
    return plots[_first_come(plots)].reset_index(drop=True)


def _taken(streets: StreetPlan) -> gpd.GeoDataFrame:
    """Return the ground of roads, roundabouts, turning places, river and railway, with a margin."""
    lines, half_m = streets.roads.geometry.to_numpy(), streets.roads.width_m.to_numpy() / 2
    parts = [
        shapely.buffer(lines, half_m + 2.0),
        streets.roundabouts,
        shapely.buffer(streets.turning, 9.0),
        shapely.get_parts(streets.river.buffer(5.0)),
        shapely.get_parts(streets.railway.bed.buffer(6.0)),
    ]
    return table(np.concatenate(parts))


def _first_come(plots: gpd.GeoDataFrame) -> np.ndarray:
    """Return which plots to keep so that none comes near an earlier one that is kept: (N,) bool."""
    near = shapely.buffer(plots.geometry.to_numpy(), _APART_M, join_style="mitre")
    later, earlier = plots.sindex.query(near, predicate="intersects")
    pairs = later > earlier
    kept = np.ones(len(plots), dtype=bool)
    order = np.lexsort((earlier[pairs], later[pairs]))
    for late, early in zip(later[pairs][order], earlier[pairs][order]):
        kept[late] &= not kept[early]
    return kept


def _roofs(buildings: gpd.GeoDataFrame, biome: Biome, rng: np.random.Generator) -> gpd.GeoDataFrame:
    """Return the roofs: some houses and blocks have a gable along their longer side, the others are flat."""
    corners = shapely.get_coordinates(buildings.geometry.to_numpy()).reshape(-1, 5, 2)[:, :4]
    sides = np.hypot(*(corners[:, 1:3] - corners[:, :2]).T).T
    turned = sides[:, 1] > sides[:, 0]
    corners[turned] = np.roll(corners[turned], -1, axis=1)  # now the first side is the longer one
    share = np.zeros(SHED + 1)
    share[[BLOCK, HOUSE]] = biome.gabled
    gabled = rng.random(len(buildings)) < share[buildings.kind.to_numpy()]
    a, b, c, d = corners[gabled].transpose(1, 0, 2)
    left, right, down = (a + d) / 2, (b + c) / 2, a - d
    slopes = np.concatenate([np.stack([a, b, right, left], 1), np.stack([c, d, left, right], 1)])
    down = np.arctan2(down[:, 1], down[:, 0])
    rows = np.arange(len(buildings))
    return table(
        np.concatenate([shapely.polygons(slopes), buildings.geometry[~gabled].to_numpy()]),
        building=np.concatenate([rows[gabled], rows[gabled], rows[~gabled]]),
        down=np.concatenate([down, down + np.pi, np.full((~gabled).sum(), np.nan)]),
    )


def _clutter(roofs: gpd.GeoDataFrame, mean: float, rng: np.random.Generator) -> np.ndarray:
    """Return small rectangles on flat roofs, parallel to their sides."""
    corners = shapely.get_coordinates(roofs.geometry.to_numpy()).reshape(-1, 5, 2)[:, :3]
    corners = np.repeat(corners, rng.poisson(mean, len(corners)), axis=0)
    along, across = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 1]
    at = rng.uniform(0.15, 0.85, (len(corners), 2))
    center = corners[:, 0] + at[:, :1] * along + at[:, 1:] * across
    length_m, breadth_m = rng.uniform(
        0.8, np.minimum(np.hypot(*along.T), np.hypot(*across.T)) / 3 + 0.9, (2, len(corners))
    )
    return rectangles(center, length_m, breadth_m, np.arctan2(along[:, 1], along[:, 0]))


def _parking(car_parks: gpd.GeoDataFrame, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the lines between bays, the parked cars, and the planted islands of rectangular car parks."""
    bays, cars, islands = ([np.empty(0, dtype=object)] for _ in range(3))
    deep_m, wide_m = _BAY_M
    for lot, along in zip(car_parks.geometry, car_parks.along):
        corners = shapely.get_coordinates(lot)
        length_m, breadth_m = np.hypot(*(corners[1] - corners[0])), np.hypot(*(corners[2] - corners[1]))
        x = np.arange(-length_m / 2 + 2, length_m / 2 - 2, wide_m)
        y = np.arange(-breadth_m / 2 + 1 + deep_m / 2, breadth_m / 2 - deep_m / 2, 2 * deep_m + 1.5)
        x, y = (grid.ravel() for grid in np.meshgrid(x, y))
        turn = np.array([[np.cos(along), -np.sin(along)], [np.sin(along), np.cos(along)]])
        middle = corners[:4].mean(axis=0)
        center = np.column_stack([x, y]) @ turn.T + middle
        edge = np.column_stack([x + wide_m / 2, y]) @ turn.T + middle
        across = turn[:, 1] * deep_m / 2
        bays.append(shapely.linestrings(np.stack([edge - across, edge + across], axis=1)))
        planted = rng.random(len(center)) < 0.05
        islands.append(rectangles(center[planted], *_BAY_M, np.full(planted.sum(), along + np.pi / 2)))
        taken = (rng.random(len(center)) < rng.uniform(0.05, 0.8)) & ~planted
        cars.append(rectangles(center[taken], *_CAR_M, np.full(taken.sum(), along + np.pi / 2)))
    return np.concatenate(bays), np.concatenate(cars), np.concatenate(islands)


def _traffic(roads: gpd.GeoDataFrame, decks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return cars in the lanes of larger roads and parked along the smaller ones, but for those under bridges."""
    cars = []
    for road_class, spacing_m, offset in _TRAFFIC:
        chosen = roads[(roads.road_class == road_class) & ~roads.bridge]
        row, center, along = spots(chosen, spacing_m, rng)
        aside_m = rng.choice([-1, 1], len(row)) * chosen.width_m.to_numpy()[row] * offset
        cars.append(rectangles(aside(center, along, aside_m), *_CAR_M, along))
    driven = np.concatenate(cars)
    hidden, _ = table(decks).sindex.query(driven, predicate="intersects")
    return np.delete(driven, np.unique(hidden))
