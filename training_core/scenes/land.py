"""Land use along the roads of a scene: land cover, buildings, yards, car parks and vehicles as tables of polygons.

Scope: shapes on a plane in meters and their kinds. Independent of colors, light and pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import box

from .biomes import BLOCK, CAR_PARK, HOUSE, SHED, Biome
from .sketch import PAD_M
from .streets import StreetPlan

_TOWN_FROM = 0.30  # urbanity
_APART_M = 1.5  # between plots
_CAR_M = (4.4, 1.9)
_BAY_M = (5.0, 2.6)
# Classes of roads, meters between cars, and their distance from the middle as a fraction of the width.
_TRAFFIC = (("motorway", 40, 0.25), ("primary", 45, 0.25), ("secondary", 60, 0.25), ("residential", 45, 0.36))
PATIO, SOIL, LAWN, POOL = range(4)
_PATCH_SHARES = (0.42, 0.25, 0.27, 0.06)
_PATCHES = 2.2  # mean number in a garden
_HEDGE_M = 1.5


@dataclass(frozen=True)
class Land:
    """Land cover, buildings, yards and vehicles along the roads, as tables.

    Covers have cover (an index into COVERS), angle (of furrows, in radians) and strip_m (breadth of fields). Roofs have
    building (a row of `buildings`) and down (the direction of the slope in radians from east, NaN where flat). Walls
    with their shadows, drives and paved yards are what a model most easily takes for narrow streets.
    """

    covers: gpd.GeoDataFrame  # blocks between roads
    buildings: gpd.GeoDataFrame  # outlines, with kind and height_m
    roofs: gpd.GeoDataFrame  # flat roofs, or both slopes of gables
    gardens: gpd.GeoDataFrame  # the plots of houses; roads that are painted later cut them off
    patches: gpd.GeoDataFrame  # rectangles within them, with kind: PATIO, SOIL, LAWN or POOL
    drives: gpd.GeoDataFrame  # the paved paths between house and street
    walls: gpd.GeoDataFrame  # lines along the sides of some gardens
    hedges: gpd.GeoDataFrame  # strips along others, in which bushes and trees stand close
    car_parks: gpd.GeoDataFrame
    bays: gpd.GeoDataFrame  # lines between parking bays
    cars: gpd.GeoDataFrame  # outlines of vehicles, parked and moving


def plan_land(side_m: float, streets: StreetPlan, biome: Biome, rng: np.random.Generator) -> Land:
    """Return the land along the streets of a square scene."""
    taken = _taken(streets)
    plots = _plots(streets, taken, biome, rng)
    is_car_park = plots.kind == CAR_PARK
    buildings, car_parks = plots[~is_car_park].reset_index(drop=True), plots[is_car_park].reset_index(drop=True)
    bays, parked = _parking(car_parks, rng)
    used = table(np.concatenate([taken.geometry, car_parks.geometry]))
    land = Land(
        covers=_covers(side_m, streets, biome, rng),
        buildings=buildings,
        roofs=_roofs(buildings, biome, rng),
        **_yards(buildings[buildings.kind == HOUSE], used, biome, rng),
        car_parks=car_parks,
        bays=table(bays),
        cars=table(np.concatenate([parked, _traffic(streets, rng)])),
    )
    hedged = streets.bounds[rng.random(len(streets.bounds)) < 0.25]
    return replace(land, hedges=table(np.concatenate([land.hedges.geometry, shapely.buffer(hedged, _HEDGE_M)])))


def _covers(side_m: float, streets: StreetPlan, biome: Biome, rng: np.random.Generator) -> gpd.GeoDataFrame:
    """Return the blocks between roads and river, each with what covers it."""
    edge = box(-PAD_M, -PAD_M, side_m + PAD_M, side_m + PAD_M).exterior
    lines = [*streets.roads.geometry, streets.river.boundary, edge, *streets.bounds]
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
    """Return the ground of roads, turning places and river, with a margin."""
    lines, half_m = streets.roads.geometry.to_numpy(), streets.roads.width_m.to_numpy() / 2
    parts = [
        shapely.buffer(lines, half_m + 2.0),
        shapely.buffer(streets.turning, 9.0),
        shapely.get_parts(streets.river.buffer(5.0)),
        shapely.buffer(streets.canals, 2.0),
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


def _yards(
    houses: gpd.GeoDataFrame, taken: gpd.GeoDataFrame, biome: Biome, rng: np.random.Generator
) -> dict[str, gpd.GeoDataFrame]:
    """Return gardens, patches, drives, walls and hedges; none of the last two stands on taken ground.

    Houses have along (the street's direction in radians, the street on the right), away_m (from its middle to the
    house's) and front_m.
    """
    along, front_m, away_m = (houses[name].to_numpy() for name in ("along", "front_m", "away_m"))
    count, center = len(houses), shapely.get_coordinates(shapely.centroid(houses.geometry.to_numpy()))
    deep_m = rng.uniform(24, 48)  # one for all, so that the gardens of a street end in a line
    wide_m = front_m + rng.uniform(5, 18, count)
    gardens = rectangles(aside(center, along, deep_m / 2 - away_m), wide_m, np.full(count, deep_m), along)
    ahead = np.column_stack([np.cos(along), np.sin(along)])
    beside = center + ahead * (front_m * rng.choice([-0.6, 0.3, 0.6], count))[:, None]
    drives = rectangles(aside(beside, along, -away_m / 2), rng.uniform(2.5, 6.0, count), away_m, along)
    # Bounds run along both sides and the rear, from a line between house and street.
    corners = shapely.get_coordinates(gardens).reshape(-1, 5, 2)
    front = (away_m * rng.uniform(0.5, 0.7, count) / deep_m)[:, None]
    left, right = (corners[:, k] + front * (corners[:, m] - corners[:, k]) for k, m in ((0, 3), (1, 2)))
    ring = np.stack([left, corners[:, 3], corners[:, 2], right], axis=1)
    bounds = shapely.linestrings(np.stack([ring[:, :-1], ring[:, 1:]], axis=2))
    draw = np.where(is_clear(bounds.ravel(), taken).reshape(-1, 3), rng.random((count, 1)), np.nan)
    # Patches are rectangles anywhere in a garden, parallel to it; some are long and narrow.
    of = np.repeat(np.arange(count), rng.poisson(_PATCHES, count))
    x, y = rng.uniform(0.05, 0.95, (2, len(of), 1))
    place = corners[of, 0] + x * (corners[of, 1] - corners[of, 0]) + y * (corners[of, 3] - corners[of, 0])
    length_m, breadth_m = np.exp(rng.uniform(np.log(2.0), np.log(16.0), (2, len(of))))
    patches = rectangles(place, length_m, breadth_m, along[of])
    is_walled = draw < biome.walled
    is_hedged = (draw > 1 - biome.hedged) & ~is_walled
    return {
        "gardens": table(gardens),
        "patches": table(patches, kind=rng.choice(len(_PATCH_SHARES), len(of), p=_PATCH_SHARES)),
        "drives": table(drives),
        "walls": table(bounds[is_walled]),
        "hedges": table(shapely.buffer(bounds[is_hedged], _HEDGE_M, cap_style="flat")),
    }


def _parking(car_parks: gpd.GeoDataFrame, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the lines between bays and the parked cars of rectangular car parks."""
    bays, cars = ([np.empty(0, dtype=object)] for _ in range(2))
    deep_m, wide_m = _BAY_M
    for lot, along in zip(car_parks.geometry, car_parks.along):
        corners = shapely.get_coordinates(lot)
        length_m, breadth_m = np.hypot(*(corners[1] - corners[0])), np.hypot(*(corners[2] - corners[1]))
        x = np.arange(-length_m / 2 + 2, length_m / 2 - 2, wide_m)
        y = np.arange(-breadth_m / 2 + 1 + deep_m / 2, breadth_m / 2 - deep_m / 2, 2 * deep_m + 1.5)
        # Centers of the bays about the middle of the car park, in rows with an aisle between them: (bays, 2).
        bay = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        turn = np.array([[np.cos(along), -np.sin(along)], [np.sin(along), np.cos(along)]])
        ends = bay[:, None] + [(wide_m / 2, -deep_m / 2), (wide_m / 2, deep_m / 2)]
        middle = corners[:4].mean(axis=0)
        bays.append(shapely.linestrings(ends @ turn.T + middle))
        # Each car park is full to a share of its own; cars stand across the row.
        parked = bay[rng.random(len(bay)) < rng.uniform(0.05, 0.8)] @ turn.T + middle
        cars.append(rectangles(parked, *_CAR_M, np.full(len(parked), along + np.pi / 2)))
    return np.concatenate(bays), np.concatenate(cars)


def _traffic(streets: StreetPlan, rng: np.random.Generator) -> np.ndarray:
    """Return cars in the lanes of larger roads and parked along the smaller ones, but for those under bridges."""
    cars, roads, rarity = [], streets.roads, 8 if streets.layout == "sparse" else 1
    for road_class, spacing_m, offset in _TRAFFIC:
        chosen = roads[(roads.road_class == road_class) & ~roads.bridge]
        row, center, along = spots(chosen, rarity * spacing_m, rng)
        aside_m = rng.choice([-1, 1], len(row)) * chosen.width_m.to_numpy()[row] * offset
        cars.append(rectangles(aside(center, along, aside_m), *_CAR_M, along))
    driven = np.concatenate(cars)
    hidden, _ = table(streets.decks).sindex.query(driven, predicate="intersects")
    return np.delete(driven, np.unique(hidden))


def table(geometry: np.ndarray, **columns: np.ndarray) -> gpd.GeoDataFrame:
    """Return a table of (N,) object geometries with (N,) columns of any dtype by name."""
    return gpd.GeoDataFrame(columns, geometry=np.asarray(geometry, dtype=object))


def aside(points: np.ndarray, along: np.ndarray, by_m: np.ndarray) -> np.ndarray:
    """Return points in meters moved to the left of their directions or by negative distances right: (N, 2) float64.

    Directions in radians from east and distances are (N,) float64. Distances may be a single one.
    """
    return points + np.reshape(by_m, (-1, 1)) * np.column_stack([-np.sin(along), np.cos(along)])


def rectangles(
    center: np.ndarray, length_m: float | np.ndarray, breadth_m: float | np.ndarray, angle: np.ndarray
) -> np.ndarray:
    """Return rectangles about their (N, 2) float64 centers in meters as polygons: (N,) object.

    `length_m` is along `angle` and `breadth_m` across it. The angle is radians from east. All are (N,) float64.
    """
    ahead = np.column_stack([np.cos(angle), np.sin(angle)]) * np.reshape(length_m, (-1, 1)) / 2
    left = np.column_stack([-np.sin(angle), np.cos(angle)]) * np.reshape(breadth_m, (-1, 1)) / 2
    corners = [center - ahead - left, center + ahead - left, center + ahead + left, center - ahead + left]
    return shapely.polygons(np.stack(corners, axis=1))


def spots(
    roads: gpd.GeoDataFrame, spacing_m: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random places on roads (a Poisson process), one for each `spacing_m` on average.

    They are (N,) int64 rows of the table, (N, 2) float64 points in meters and (N,) float64 directions of the roads in
    radians from east.
    """
    length_m = roads.length.to_numpy()
    row = np.repeat(np.arange(len(roads)), rng.poisson(length_m / spacing_m))
    at_m = rng.uniform(0, length_m[row])
    lines = roads.geometry.to_numpy()[row]
    # Kept on the line: less than nothing would count from its end.
    near_m = (np.clip(at_m + step_m, 0, length_m[row]) for step_m in (-0.5, 0.5))
    start, end = (shapely.get_coordinates(shapely.line_interpolate_point(lines, each_m)) for each_m in near_m)
    step = end - start
    return row, (start + end) / 2, np.arctan2(step[:, 1], step[:, 0])


def is_clear(shapes: np.ndarray, taken: gpd.GeoDataFrame) -> np.ndarray:
    """Return which shapes, (N,) object, touch none of the taken ground: (N,) bool."""
    hit, _ = taken.sindex.query(shapes, predicate="intersects")
    return ~np.isin(np.arange(len(shapes)), hit)
