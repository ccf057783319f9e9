"""A planned scene that further things are put into: more roads, ground and buildings, and what gives way to them.

Scope: tables of shapes in meters. Independent of what is put in, and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import LineString, Polygon, box

from .land import Land, traffic
from .placing import is_clear, rectangles, table
from .road_table import SNAP_M, noded, stack, without_fragments
from .streets import StreetPlan

# What the ground is covered with; a curb is bright, an edge (a berm, a step, a wall's foot) dark.
EARTH, CONCRETE, ASPHALT, GRAVEL, GRASS, WATER, SAND, CURB, EDGE = SURFACES = range(9)
_PLOT_EACH_M2 = 6_000.0  # of a block
_CLEAR_M = 1.0  # from what was planned before to a new road

Layer = tuple[int, Polygon]


@dataclass(frozen=True)
class Draft:
    """A scene's plan while things are added to it.

    Parameters
    ----------
    side_m : float
        The scene's side.
    ground : GeoDataFrame
        What was added beside the roads and is none: polygons with addition (its name), surface (one of SURFACES) and
        tone (a factor of brightness); later ones lie above earlier ones.
    canopies : GeoDataFrame
        Stretches of road under trees, with density (from 0 to 1).
    """

    side_m: float
    streets: StreetPlan
    land: Land
    ground: gpd.GeoDataFrame
    canopies: gpd.GeoDataFrame


def draft_of(side_m: float, streets: StreetPlan, land: Land) -> Draft:
    """Return a draft to which nothing was added yet.

    Parameters
    ----------
    side_m : float
        The scene's side.
    """
    none = np.empty(0, dtype=object)
    columns = {"addition": none, "surface": np.empty(0, dtype=int), "tone": np.empty(0)}
    return Draft(side_m, streets, land, table(none, **columns), table(none, density=np.empty(0)))


def surfaces_of(roads: gpd.GeoDataFrame, beside_m: float = 0.0) -> np.ndarray:
    """Return the ground that roads take, and a margin on both sides: (N,), object."""
    return shapely.buffer(roads.geometry.to_numpy(), roads.width_m.to_numpy() / 2 + beside_m)


def with_access(roads: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return the roads that a drive or a track may branch off."""
    return roads[~roads.road_class.isin(("motorway", "motorway_link")) & ~roads.bridge]


def obstacles(streets: StreetPlan, margin_m: float) -> np.ndarray:
    """Return what no road is led over, and a margin around it: river, railway, roundabouts, bridges; (N,), object."""
    bridges = streets.roads[streets.roads.bridge]
    parts = [*streets.roundabouts, *surfaces_of(bridges), streets.river, streets.railway.bed]
    return shapely.buffer(np.array([each for each in parts if not each.is_empty], dtype=object), margin_m)


def without(shapes: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Return shapes less the taken ones that each of them meets.

    Parameters
    ----------
    shapes, taken : ndarray (N,) and (M,), object

    Returns
    -------
    ndarray (N,), object
    """
    left = np.array(shapes, dtype=object)
    shape, other = shapely.STRtree(taken).query(left, predicate="intersects")
    for row in np.unique(shape):
        left[row] = shapely.difference(left[row], shapely.union_all(taken[other[shape == row]]))
    return left


def open_ground(draft: Draft, inset_m: float, least_m2: float) -> gpd.GeoDataFrame:
    """Return what of each block is no road, river, railway or ground added before, with or without buildings.

    Parameters
    ----------
    inset_m : float
        Distance kept from what it borders on.
    least_m2 : float
        Smaller pieces are left out.

    Returns
    -------
    GeoDataFrame
        Polygons with block (a row of the land's covers), angle (of the block's longer side, in radians) and urbanity.
    """
    covers = draft.land.covers
    near = np.flatnonzero(shapely.intersects(covers.geometry.to_numpy(), box(0, 0, draft.side_m, draft.side_m)))
    streets = draft.streets
    turning = shapely.buffer(streets.turning, 9.0)
    taken = np.concatenate([surfaces_of(streets.roads), turning, obstacles(streets, 3.0), draft.ground.geometry])
    pieces = shapely.buffer(without(covers.geometry.to_numpy()[near], taken), -inset_m)
    row, parts = np.repeat(near, shapely.get_num_geometries(pieces)), shapely.get_parts(pieces)
    kept = shapely.area(parts) >= least_m2
    row, parts = row[kept], parts[kept]
    middle = shapely.get_coordinates(shapely.point_on_surface(parts)).reshape(-1, 2)
    return table(parts, block=row, angle=covers.angle.to_numpy()[row], urbanity=draft.streets.towns.urbanity(middle))


def plots(
    draft: Draft, inset_m: float, sides_m: tuple[float, float], share: float, rng: np.random.Generator
) -> list[tuple[Polygon, float]]:
    """Return plots at the edges of a share of the blocks, several in large ones.

    Parameters
    ----------
    inset_m : float
        Distance kept from roads and all else that a block borders on.
    sides_m : tuple of float
        Least and greatest side of the rectangles that blocks are cut by; smaller blocks are taken whole.
    share : float
        From 0 to 1.
    rng : Generator
        Draws them.

    Returns
    -------
    list of (Polygon, float)
        Plots that do not overlap, each with the angle of its block's longer side in radians.
    """
    found: list[tuple[Polygon, float]] = []
    least_m2 = sides_m[0] ** 2 / 3
    for block in open_ground(draft, inset_m, least_m2).itertuples():
        left = block.geometry
        for _ in range(rng.binomial(max(1, round(left.area / _PLOT_EACH_M2)), share)):
            plot = _cut_out(left, block.angle, sides_m, rng) if left.area > least_m2 else Polygon()
            if plot.area > least_m2:
                found.append((plot, block.angle))
                left = left.difference(plot.buffer(2.0))
    return found


def _cut_out(outline: Polygon, angle: float, sides_m: tuple[float, float], rng: np.random.Generator) -> Polygon:
    """Return the largest part that a rectangle near the edge of an area has in common with it."""
    edge = shapely.line_interpolate_point(outline.boundary, rng.random(), normalized=True)
    middle = shapely.get_coordinates([edge, outline.point_on_surface()])
    length_m, breadth_m = rng.uniform(*sides_m, (2, 1))
    toward = middle[1] - middle[0]
    center = middle[0] + toward * min(1.0, 0.4 * breadth_m[0] / max(1.0, np.hypot(*toward)))
    (cut,) = rectangles(center[None], length_m, breadth_m, np.array([angle]))
    parts = [part for part in shapely.get_parts(cut.intersection(outline)) if part.geom_type == "Polygon"]
    return max(parts, key=lambda part: part.area, default=Polygon())


def with_ground(
    draft: Draft, addition: str, layers: Sequence[Layer], rng: np.random.Generator, spread: float = 0.16
) -> Draft:
    """Return the draft with further ground.

    Parameters
    ----------
    addition : str
        What it belongs to.
    layers : sequence of (int, Polygon)
        Surfaces and their shapes, lowest first; empty ones are left out.
    rng : Generator
        Draws how bright each is.
    spread : float
        Standard deviation of the logarithm of their brightness.
    """
    layers = [(surface, part) for surface, shape in layers for part in _areas(shape)]
    if not layers:
        return draft
    surface, shapes = zip(*layers)
    tone = np.exp(rng.normal(0, spread, len(layers)))
    names = np.full(len(layers), addition, dtype=object)
    added = table(np.array(shapes, dtype=object), addition=names, surface=np.array(surface), tone=tone)
    return replace(draft, ground=stack(draft.ground, added))


def _areas(shape) -> list[Polygon]:
    return [part for part in shapely.get_parts(shape) if part.geom_type == "Polygon" and part.area > 0.05]


@dataclass(frozen=True)
class NewRoad:
    """A road to add: its line, with class, width and surface as in the street plan."""

    line: LineString
    road_class: str
    width_m: float
    surface: str


def with_roads(draft: Draft, added: Sequence[NewRoad], rng: np.random.Generator) -> Draft:
    """Return the draft with further roads, cut where they meet others; what stands in their way is gone.

    Parameters
    ----------
    rng : Generator
        Draws the cars on them.
    """
    if not added:
        return draft
    streets, count = draft.streets, len(added)
    columns = {
        "road_class": np.array([each.road_class for each in added], dtype=object),
        "width_m": np.round([each.width_m for each in added], 1),
        "surface": np.array([each.surface for each in added], dtype=object),
        "bridge": np.zeros(count, dtype=bool),
        "overpass": np.zeros(count, dtype=bool),
        "street": streets.roads.street.max() + 1 + np.arange(count),
    }
    table_of_new = gpd.GeoDataFrame(columns, geometry=[each.line for each in added])
    roads = without_fragments(noded(stack(streets.roads, table_of_new), SNAP_M))
    way = without(surfaces_of(table_of_new, _CLEAR_M), surfaces_of(streets.roads))
    land = cleared(draft.land, way)
    cars = table(np.concatenate([land.cars.geometry, traffic(table_of_new, streets.decks, rng)]))
    return replace(draft, streets=replace(streets, roads=roads), land=replace(land, cars=cars))


def cleared(land: Land, ground: np.ndarray) -> Land:
    """Return what lies beside the roads, without what stands on some ground.

    Parameters
    ----------
    ground : ndarray (N,), object
    """
    area, land = table(ground), without_fences(land, ground)
    stays = is_clear(land.buildings.geometry.to_numpy(), area)
    row = np.cumsum(stays) - 1
    roofs = land.roofs[stays[land.roofs.building.to_numpy()]]
    lots = land.car_parks[~is_clear(land.car_parks.geometry.to_numpy(), area)]
    with_lots = table(np.concatenate([ground, lots.geometry]))
    return replace(
        land,
        buildings=land.buildings[stays].reset_index(drop=True),
        roofs=roofs.assign(building=row[roofs.building.to_numpy()]).reset_index(drop=True),
        car_parks=_clear_of(land.car_parks, area),
        **{name: _clear_of(getattr(land, name), with_lots) for name in ("bays", "cars", "islands", "clutter")},
    )


def without_fences(land: Land, ground: np.ndarray) -> Land:
    """Return what lies beside the roads, without the walls, fences and hedges on some ground.

    Parameters
    ----------
    ground : ndarray (N,), object
    """
    area, yards = table(ground), land.yards
    kept = {name: _clear_of(getattr(yards, name), area) for name in ("fences", "walls", "hedges")}
    return replace(land, yards=replace(yards, **kept))


def _clear_of(things: gpd.GeoDataFrame, area: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    return things[is_clear(things.geometry.to_numpy(), area)].reset_index(drop=True)


def with_buildings(land: Land, outlines: np.ndarray, kind: int, height_m: np.ndarray) -> Land:
    """Return the land with further buildings, whose roofs are flat.

    Parameters
    ----------
    outlines : ndarray (N,), object
    kind : int
        One of the kinds of `regions`.
    height_m : ndarray (N,), float64
    """
    count, none = len(outlines), np.zeros(len(outlines))
    columns = {"along": none, "away_m": none, "front_m": none}
    added = table(outlines, kind=np.full(count, kind), height_m=height_m, **columns)
    above = table(outlines, building=len(land.buildings) + np.arange(count), down=np.full(count, np.nan))
    return replace(land, buildings=stack(land.buildings, added), roofs=stack(land.roofs, above))
