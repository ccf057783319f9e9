"""A planned scene under a sun and a camera: its shadows, and buildings displaced by their height.

Scope: shapes on a plane in meters. Independent of pixels; colors pass through.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import geopandas as gpd
import numpy as np
import shapely

from ..plan.biomes import Biome, Palette
from ..plan.land import Land
from ..plan.pavement import Pavement
from ..plan.placing import moved
from ..plan.streets import StreetPlan
from ..plan.yards import WALL_HEIGHT_M
from .sensor import Camera
from .view import Look, hashed, of_palette

CAR_HEIGHT_M, DECK_HEIGHT_M = 1.3, 5.0


@dataclass(frozen=True)
class Scenery:
    """All that there is to paint."""

    streets: StreetPlan
    pavement: Pavement
    land: Land
    biome: Biome
    look: Look
    camera: Camera

    @cached_property
    def shadows(self) -> gpd.GeoDataFrame:
        """Areas shaded by buildings, walls, cars and bridges."""
        buildings, cars = self.land.buildings, self.land.cars.geometry.to_numpy()
        from_car = np.broadcast_to(self.look.shadow_m(CAR_HEIGHT_M), (len(cars), 2))
        decks, from_deck = self.streets.decks, self.look.shadow_m(DECK_HEIGHT_M)
        below = shapely.union(decks, shapely.transform(decks, lambda points: points + from_deck))
        parts = [
            swept(buildings.geometry.to_numpy(), self.look.shadow_m(buildings.height_m.to_numpy())),
            wall_shadows(self.land.yards.walls.geometry.to_numpy(), self.look),
            moved(cars, from_car),
            shapely.difference(below, shapely.union_all(decks)),
        ]
        return gpd.GeoDataFrame(geometry=np.concatenate(parts))

    @cached_property
    def railway(self) -> tuple[gpd.GeoDataFrame, gpd.GeoDataFrame]:
        """The railway's bed, and its rails."""
        railway = self.streets.railway
        return gpd.GeoDataFrame(geometry=[railway.bed]), gpd.GeoDataFrame(geometry=railway.rails)

    @cached_property
    def standing(self) -> gpd.GeoDataFrame:
        """Roofs and walls as the camera sees them."""
        return stand(self.land, self.camera.lean)

    @cached_property
    def clutter(self) -> gpd.GeoDataFrame:
        """Things on roofs, displaced as the roofs are."""
        things, buildings = self.land.clutter.geometry.to_numpy(), self.land.buildings
        thing, building = buildings.sindex.query(shapely.centroid(things), predicate="intersects")
        height_m = np.zeros(len(things))
        height_m[thing] = buildings.height_m.to_numpy()[building]
        return gpd.GeoDataFrame(geometry=moved(things, height_m[:, None] * self.camera.lean))

    @cached_property
    def palette(self) -> Palette:
        """The biome's colors in four bands."""
        return of_palette(self.biome.palette)

    @cached_property
    def river(self) -> gpd.GeoDataFrame:
        """The bank, then the water."""
        river = self.streets.river
        return gpd.GeoDataFrame(geometry=[river.buffer(self.biome.bank_m), river])

    @property
    def river_color(self) -> np.ndarray:
        """(4,) float32 color of one of the biome's waters, or of its soil where the river is dry."""
        palette, draw = self.palette, hashed(np.zeros(1, np.int64), np.arange(2), self.look.seed + 8)
        is_dry = draw[0] < self.biome.dry_rivers
        return palette.soil[0] if is_dry else palette.water[int(draw[1] * len(palette.water))]


def swept(shapes: np.ndarray, by_m: np.ndarray) -> np.ndarray:
    """Return the areas, (N,) object, that shapes, (N,) object, sweep as they move by `by_m`, (N, 2) float64."""
    return shapely.convex_hull(shapely.geometrycollections(np.column_stack([shapes, moved(shapes, by_m)])))


def wall_shadows(walls: np.ndarray, look: Look) -> np.ndarray:
    """Return the shadows of walls, given as lines: (N,) object."""
    return swept(walls, np.broadcast_to(look.shadow_m(WALL_HEIGHT_M), (len(walls), 2)))


def stand(land: Land, lean: np.ndarray) -> gpd.GeoDataFrame:
    """Return roofs and visible walls in drawing order, those nearest to the camera last.

    The (2,) float64 `lean` is the offset (east, north) of the top of something one meter high from its foot. The
    columns are building (a row of `land.buildings`), wall (whether it is one), down (the direction it faces in radians
    from east, NaN for flat roofs) and height_m (of its middle above ground).
    """
    height_m = land.buildings.height_m.to_numpy()
    roof_of = land.roofs.building.to_numpy()
    walls, wall_of, outward = _walls(land.buildings.geometry.to_numpy(), height_m, lean)
    building = np.concatenate([roof_of, wall_of])
    is_wall = np.repeat([False, True], [len(roof_of), len(wall_of)])
    shapes = gpd.GeoDataFrame(
        {
            "building": building,
            "wall": is_wall,
            "down": np.concatenate([land.roofs.down.to_numpy(), outward]),
            "height_m": height_m[building] * np.where(is_wall, 0.5, 1),
        },
        geometry=np.concatenate([moved(land.roofs.geometry.to_numpy(), height_m[roof_of, None] * lean), walls]),
    )
    # A building farther along the lean is nearer to the camera's far side and is drawn first; walls before roofs.
    middle = shapely.get_coordinates(shapely.centroid(land.buildings.geometry.to_numpy()))
    return shapes.iloc[np.lexsort((~is_wall, -(middle @ lean)[building]))].reset_index(drop=True)


def _walls(outlines: np.ndarray, height_m: np.ndarray, lean: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the walls that face the camera, the row of each wall's outline, and the direction it faces in radians."""
    # Each side of an outline, from one corner to the next.
    rings = shapely.get_exterior_ring(outlines)
    points, ring = shapely.get_coordinates(rings, return_index=True)
    starts = np.flatnonzero(ring[:-1] == ring[1:])
    foot, next_foot, owner = points[starts], points[starts + 1], ring[starts]
    # A wall is visible if its normal points against the lean, toward the camera.
    along = (next_foot - foot) * np.where(shapely.is_ccw(rings), 1, -1)[owner, None]
    outward = np.column_stack([along[:, 1], -along[:, 0]])
    seen = outward @ lean < 0
    foot, next_foot, owner, outward = foot[seen], next_foot[seen], owner[seen], outward[seen]
    up = height_m[owner, None] * lean
    corners = np.stack([foot, next_foot, next_foot + up, foot + up], axis=1)
    return shapely.polygons(corners), owner, np.arctan2(outward[:, 1], outward[:, 0])
