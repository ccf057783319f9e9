"""A planned scene as a picture: layers from the ground up to the trees.

Scope: colors, light and shadow in four bands: red, green, blue and near infrared. Independent of how the plan was made,
of coordinate reference systems and files.

Every pixel depends on its neighborhood only, so that a scene painted in tiles has no seams.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import geopandas as gpd
import numpy as np
import shapely
from scipy.ndimage import gaussian_filter

from ..plan.biomes import BLOCK, COVERS, HALL, HOUSE, SHED, Palette, Region
from ..plan.land import Land
from ..plan.pavement import Pavement
from ..plan.placing import moved
from ..plan.streets import StreetPlan
from .noise import hashed, smooth_noise
from .rail_painting import bed_layer, rail_layer
from .sensor import Camera
from .spectrum import of_palette, pick, spectra
from .standing import on_roofs, stand
from .trees import Grove, grow, shaded_by
from .view import Look, Texture, View
from .yard_painting import wall_shadows, yard_layers

# In the order of COVERS: garden, field, meadow, forest, yard, park.
_COVER_ROUGHNESS = np.array([0.12, 0.05, 0.10, 0.12, 0.10, 0.07], dtype=np.float32)
_TREE_DENSITY = np.array([0.15, 0.0, 0.03, 0.88, 0.03, 0.28, 0.0], dtype=np.float32)  # the last one for no cover
_CAR_COLORS = spectra(
    (0.88, 0.88, 0.88), (0.80, 0.80, 0.81), (0.68, 0.69, 0.71), (0.18, 0.18, 0.20), (0.27, 0.28, 0.30),
    (0.40, 0.41, 0.43), (0.46, 0.23, 0.21), (0.27, 0.32, 0.42),
)  # fmt: skip
_CLUTTER_COLORS = spectra(
    (0.20, 0.20, 0.22), (0.82, 0.82, 0.80), (0.50, 0.48, 0.45), (0.62, 0.58, 0.52), (0.35, 0.45, 0.55)
)
_HEDGE_TREES = 0.3
_SURFACES = ("asphalt", "concrete", "gravel", "dirt")
(_LINE,) = spectra((0.88, 0.88, 0.85))
_TURNED = spectra((0.60, 0.50, 0.20), (0.53, 0.36, 0.19), (0.47, 0.29, 0.19), (0.48, 0.47, 0.21), leaves=True)
(_TWIG,) = spectra((0.40, 0.36, 0.32))
_SAND = spectra((0.66, 0.57, 0.46), (0.60, 0.55, 0.47))
_WALL_COLORS = spectra((0.62, 0.60, 0.55), (0.55, 0.48, 0.42), (0.72, 0.70, 0.66), (0.48, 0.44, 0.42))
_SHADE = np.array([0.44, 0.47, 0.54, 0.40], dtype=np.float32)
_TREE_HEIGHT_M, _SHRUB_HEIGHT_M, _CAR_HEIGHT_M = 7.0, 1.6, 1.3
_DECK_HEIGHT_M = 5.0


@dataclass(frozen=True)
class Scenery:
    """All that there is to paint."""

    streets: StreetPlan
    pavement: Pavement
    land: Land
    region: Region
    look: Look
    camera: Camera

    @cached_property
    def shadows(self) -> gpd.GeoDataFrame:
        """Areas shaded by buildings, walls, cars and bridges."""
        buildings, cars = self.land.buildings, self.land.cars.geometry.to_numpy()
        thrown = moved(buildings.geometry.to_numpy(), self.look.shadow_m(buildings.height_m.to_numpy()))
        pairs = np.column_stack([buildings.geometry.to_numpy(), thrown])
        hulls = shapely.convex_hull(shapely.geometrycollections(pairs))
        beside = moved(cars, np.broadcast_to(self.look.shadow_m(_CAR_HEIGHT_M), (len(cars), 2)))
        return gpd.GeoDataFrame(
            geometry=np.concatenate([hulls, wall_shadows(self.land.yards, self.look), beside, self._below_decks])
        )

    @cached_property
    def _below_decks(self) -> np.ndarray:
        """The shadows of bridges, without the bridges themselves."""
        decks = self.streets.decks
        by_m = self.look.shadow_m(np.float64(_DECK_HEIGHT_M))
        thrown = shapely.transform(decks, lambda points: points + by_m)
        return shapely.difference(shapely.union(decks, thrown), shapely.union_all(decks))

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
        """What lies on roofs, as the camera sees it."""
        return on_roofs(self.land, self.camera.lean)

    @cached_property
    def palette(self) -> Palette:
        """The region's colors in four bands."""
        return of_palette(self.region.palette)

    @cached_property
    def river(self) -> gpd.GeoDataFrame:
        """The bank, then the water."""
        river = self.streets.river
        return gpd.GeoDataFrame(geometry=[river.buffer(self.region.bank_m), river])

    @property
    def river_color(self) -> np.ndarray:
        """That of one of the region's waters, or of its soil where the river is dry: (4,), float32."""
        palette, draw = self.palette, hashed(np.zeros(1, np.int64), np.arange(2), self.look.seed + 8)
        is_dry = draw[0] < self.region.dry_rivers
        return palette.soil[0] if is_dry else palette.water[int(draw[1] * len(palette.water))]


def margin_px(scenery: Scenery, pixel_m: float) -> int:
    """Return how far around a part one must paint for the part to come out as in the whole."""
    look, lean = scenery.look, scenery.camera.lean
    crown_m = 6.5 + _TREE_HEIGHT_M * np.hypot(*lean)
    shadow_m = np.hypot(*look.shadow_m(_TREE_HEIGHT_M))
    return int(np.ceil((crown_m + shadow_m + 1.5) / pixel_m)) + 4 + scenery.camera.reach_px


def paint(scenery: Scenery, view: View) -> np.ndarray:
    """Return the light that comes from a view to the camera, from 0 to 1: (4, H, W), float32.

    Pixels within `margin_px` of its border lack the influence of what lies beyond.
    """
    look, lean, land = scenery.look, scenery.camera.lean, scenery.land
    texture = Texture(view, look.seed)
    cover, image = _ground(scenery, view, texture)
    _parch(image, look, texture)
    for color, thick in yard_layers(land.yards, scenery.palette, look, view, texture):
        _blend(image, color, thick)
    water = _paint_river(image, scenery, view, texture)
    bed, rails = (view.burn(table) >= 0 for table in scenery.railway)
    _blend(image, *bed_layer(bed, texture))
    verge, road = _paint_roads(image, scenery, view, texture)
    _blend(image, *rail_layer(rails, view.pixel_m))
    lot = _paint_car_parks(image, scenery, view, texture)
    car, built = view.burn(land.cars), view.burn(land.buildings) >= 0
    trees, shrubs = _plant(scenery, view, cover, verge, road | lot | water | bed | built, texture)
    groves = [(trees, _TREE_HEIGHT_M), (shrubs, _SHRUB_HEIGHT_M)]

    shaded = view.burn(scenery.shadows) >= 0
    for grove, height_m in groves:
        shaded |= shaded_by(grove, look.shadow_m(height_m) / view.pixel_m, height_m * lean / view.pixel_m)
    _blend(image, pick(_CAR_COLORS, car, look.seed), car >= 0)
    image *= 1 - (1 - _SHADE[:, None, None]) * gaussian_filter(shaded.astype(np.float32), 0.3 / view.pixel_m)
    standing = view.burn(scenery.standing)
    standing[road & built & (standing >= 0)] = -1
    _paint_buildings(image, scenery, view, standing, texture)
    above = np.append(scenery.standing.height_m.to_numpy() > 1.5 * _TREE_HEIGHT_M, False)[standing]
    for grove, _ in reversed(groves):
        _paint_crowns(image, replace(grove, inside=grove.inside & ~above), scenery, texture)
    image *= 1 + np.float32(0.05) * smooth_noise(view.x, view.y, 350.0, look.seed + 31)
    return image


def _blend(image: np.ndarray, color: np.ndarray, alpha: np.ndarray) -> None:
    """Lay a (4,) or (4, H, W) color over a (4, H, W) image, as thick as the (H, W) `alpha` says, from 0 to 1."""
    at = np.flatnonzero(alpha)
    below = image.reshape(len(image), -1)
    above = color[:, None] if color.ndim == 1 else color.reshape(len(color), -1)[:, at]
    below[:, at] += alpha.ravel()[at].astype(np.float32) * (above - below[:, at])


def _ground(scenery: Scenery, view: View, texture: Texture) -> tuple[np.ndarray, np.ndarray]:
    """Return the (H, W) land cover, -1 for none, and the (4, H, W) ground with furrows, grass and soil."""
    look, region, covers = scenery.look, scenery.region, scenery.land.covers
    palette = scenery.palette
    block = view.burn(covers)
    cover = np.append(covers.cover.to_numpy(), -1)[block]
    image = np.take(palette.covers.T, cover, axis=1)
    angle, strip_m = np.append(covers.angle.to_numpy(), 0), np.append(covers.strip_m.to_numpy(), 50)
    across_m = view.y[:, None] * np.cos(angle)[block] - view.x[None, :] * np.sin(angle)[block]
    across_m = across_m.astype(np.float32) + texture(60.0, 1) * np.float32(0.7)
    strip = np.floor(across_m / strip_m.astype(np.float32)[block]).astype(np.int64)
    is_field = cover == COVERS.index("field")
    crop = pick(palette.crops, block * 4096 + strip, look.seed)
    np.copyto(image, crop, where=is_field)

    vigor = hashed(block, strip, look.seed + 1)
    furrow = np.sin(across_m * (2 * np.pi / (2.2 + 2 * vigor))) * (0.012 + 0.035 * hashed(block, strip, look.seed + 2))
    tramline = np.abs(across_m % 15 - 7.5) < 0.7
    rough = np.append(_COVER_ROUGHNESS, 0.1).astype(np.float32)[cover]
    shade = 1 + rough * (0.75 * texture(35.0) + 0.5 * texture(4.0) + 0.45 * texture(1.1))
    shade += np.where(is_field, furrow, 0) - np.where(is_field & tramline & (vigor > 0.4), np.float32(0.05), 0)
    image *= np.clip(shade, 0.55, 1.5)
    _blend(image, palette.dry[0], np.clip(0.5 * look.dryness + 0.25 * texture(80.0, 2), 0, 0.8) * ~is_field)
    bare = np.clip(0.9 * texture(18.0, 3) - 1.0 + 2.2 * region.bare, 0, 0.7 + 0.2 * region.bare)
    _blend(image, palette.soil[0], bare * (rough > 0.06) * (1 + 0.08 * texture(4.0)))
    return cover, image


def _parch(image: np.ndarray, look: Look, texture: Texture) -> None:
    """Let sand take the place of what grows, the more of it the drier the country."""
    if look.aridity:
        light, dark = _SAND[:, :, None, None]
        sand = light + np.clip(0.5 + 0.4 * texture(80.0, 2), 0, 1) * (dark - light)
        sand *= 1 + 0.05 * texture(4.0, 13) + 0.04 * texture(18.0, 13)
        _blend(image, sand, np.clip(look.aridity * (0.85 + 0.2 * texture(60.0, 13)), 0, 0.97))


def _paint_river(image: np.ndarray, scenery: Scenery, view: View, texture: Texture) -> np.ndarray:
    """Paint the river and return where there is water, as an (H, W) bool array."""
    wet, palette = view.burn(scenery.river), scenery.palette
    _blend(image, palette.bank[0], (wet == 0) * np.clip(0.7 + 0.2 * texture(4.0), 0, 1))
    _blend(image, scenery.river_color, (wet == 1) * np.clip(0.94 + 0.03 * texture(8.0, 4), 0, 1))
    return wet == 1


def _paint_roads(image: np.ndarray, scenery: Scenery, view: View, texture: Texture) -> tuple[np.ndarray, np.ndarray]:
    """Paint the roads; return how far a verge is in town, (H, W) and 0 off verges, and where roads are, (H, W) bool."""
    pavement, roads, region = scenery.pavement, scenery.streets.roads, scenery.region
    palette = scenery.palette
    beside = view.burn(pavement.verges)
    urban = np.append(pavement.verges.urbanity.to_numpy(), 0).astype(np.float32)[beside]
    kerb = np.where(urban > 0.4, 0.75 * region.sidewalk, 0.22 + 0.12 * texture(4.0)) * (beside >= 0)
    _blend(image, palette.paving[0], np.clip(kerb, 0, 1))
    way = view.burn(pavement.carriageways)
    on_road = way >= 0
    road = np.append(pavement.carriageways.road.to_numpy(), -1)[way]
    tone = (hashed(roads.street.to_numpy(), np.zeros(1, np.int64), scenery.look.seed + 3) - 0.5) * 0.16
    colors = palette.surfaces[[_SURFACES.index(name) for name in [*roads.surface, "asphalt"]]]
    colors[:-1] += tone[:, None]
    paved = np.append(roads.surface.isin(["asphalt", "concrete"]).to_numpy(), True)[road]
    wear = 0.04 * texture(12.0, 5) + 0.025 * texture(1.1, 6) - np.where(texture(18.0, 7) > 1.5, np.float32(0.07), 0)
    surface = np.take(colors.T, road, axis=1) * (1 + wear * (np.float32(1.8) - np.float32(0.8) * paved))
    # Unpaved edges fray into the grass.
    _blend(image, surface, on_road * np.where(paved, 1, np.clip(0.85 + 0.15 * texture(4.0), 0.4, 1)))

    strength = min(1.0, 0.25 / view.pixel_m)
    asphalt = on_road & (np.append((roads.surface == "asphalt").to_numpy(), True)[road])
    _blend(image, _LINE, (view.burn(pavement.markings) >= 0) * asphalt * np.float32(strength))
    grown = (view.burn(pavement.ruts) >= 0) & on_road & ~paved
    _blend(image, palette.rut[0], grown * np.clip(0.3 + 0.3 * texture(18.0, 3), 0, 0.7))
    return np.where(beside >= 0, urban, 0), on_road


def _paint_car_parks(image: np.ndarray, scenery: Scenery, view: View, texture: Texture) -> np.ndarray:
    """Paint car parks and return where they are, as an (H, W) bool array."""
    land, palette = scenery.land, scenery.palette
    lot = view.burn(land.car_parks) >= 0
    _blend(image, palette.lot[0][:, None, None] * (1 + 0.05 * texture(12.0, 5)), lot)
    _blend(image, palette.gardens[0], view.burn(land.islands) >= 0)
    _blend(image, _LINE, (view.burn(land.bays) >= 0) * np.float32(min(1.0, 0.2 / view.pixel_m)))
    return lot


def _plant(
    scenery: Scenery, view: View, cover: np.ndarray, verge: np.ndarray, bare: np.ndarray, texture: Texture
) -> tuple[Grove, Grove]:
    """Return trees and shrubs: denser in forests, along verges and in hedges."""
    density = _TREE_DENSITY[cover]
    density = np.where(verge > 0, 0.25 + 0.3 * (texture(60.0, 1) > 0.3), density)
    density *= np.clip(1 + texture(35.0, 8) * np.where(cover == COVERS.index("forest"), 0.2, 1), 0.1, 3)
    density *= scenery.region.trees
    hedge = view.burn(scenery.land.yards.hedges) >= 0
    density = np.where(hedge, np.maximum(density, _HEDGE_TREES * scenery.region.trees), density)
    density[bare] = 0
    look, lean = scenery.look, scenery.camera.lean
    density *= np.float32(1 - 0.85 * look.aridity)
    scrub = (0.05 * look.aridity + 0.12 * scenery.region.bare * np.clip(texture(35.0, 8), 0, 1)) * ~bare
    fray, seed = texture(1.1, 6), look.seed
    trees = grow(view, density, 7.0, (2.0, 4.6), fray, seed + 11, _TREE_HEIGHT_M * lean)
    trees = _shed(trees, look, texture)
    density = 0.3 * density + 0.9 * (1 - look.aridity) * (hedge & ~bare) + scrub
    return trees, grow(view, density, 3.2, (0.7, 1.6), fray, seed + 23, _SHRUB_HEIGHT_M * lean)


def _shed(trees: Grove, look: Look, texture: Texture) -> Grove:
    """Return trees as the season leaves them: one sees through the twigs of what has shed its leaves."""
    if not look.bare:
        return trees
    leafy = (_own(trees, 1) >= look.bare) | (texture(1.1, 12) > 0.5)
    return replace(trees, inside=trees.inside & leafy)


def _own(grove: Grove, kind: int) -> np.ndarray:
    """Return another number in [0, 1) that belongs to each plant, of each of several kinds."""
    return grove.tint * np.float32(61 * kind) % 1


def _paint_crowns(image: np.ndarray, grove: Grove, scenery: Scenery, texture: Texture) -> None:
    """Paint crowns as hemispheres, bright toward the sun."""
    look, (crown,), (autumn,) = scenery.look, scenery.palette.crown, scenery.palette.autumn
    facing = grove.east * look.sun[0] + grove.north * look.sun[1]
    light = 0.95 + 0.38 * facing + 0.12 * texture(1.1, 6) + 0.25 * (grove.tint - 0.5)
    share = np.clip((0.25 + 0.6 * look.dryness) * grove.tint + 0.05 * texture(4.0), 0, 1)
    color = crown[:, None, None] + share * (autumn - crown)[:, None, None]
    if look.turned or look.bare:
        turned = np.take(_TURNED.T, (_own(grove, 3) * len(_TURNED)).astype(np.intp), axis=1)
        np.copyto(color, turned, where=_own(grove, 2) < look.turned)
        np.copyto(color, _TWIG[:, None, None], where=_own(grove, 1) < look.bare)
    _blend(image, (color * np.maximum(light, 0.35)).astype(np.float32), grove.inside)


def _paint_buildings(image: np.ndarray, scenery: Scenery, view: View, seen: np.ndarray, texture: Texture) -> None:
    """Paint roofs and walls, brighter the more they face the sun; `seen` holds rows of `Scenery.standing`."""
    standing, look, palette = scenery.standing, scenery.look, scenery.palette
    building, down, wall = (standing[name].to_numpy() for name in ("building", "down", "wall"))
    kind = scenery.land.buildings.kind.to_numpy()[building]
    color = np.zeros((len(kind) + 1, _SHADE.size), dtype=np.float32)
    roofs = {HALL: palette.hall, BLOCK: palette.block, HOUSE: palette.house, SHED: palette.shed}
    for roof_kind, colors in roofs.items():
        color[:-1][kind == roof_kind] = pick(colors, building[kind == roof_kind], look.seed + 4).T
    color[:-1][wall] = pick(_WALL_COLORS, building[wall], look.seed + 6).T
    facing = np.nan_to_num(np.cos(down) * look.sun[0] + np.sin(down) * look.sun[1])[:, None]
    upright = 0.5 + 0.75 * np.cos(look.sun_altitude) * np.maximum(facing, 0)
    color[:-1] *= np.where(wall[:, None], upright, 1.02 + 0.24 * facing)
    color[:-1] += 0.12 * (hashed(building, np.ones(1, np.int64), look.seed + 4)[:, None] - 0.5)
    grain = 1 + 0.04 * texture(1.1, 9) + 0.02 * texture(4.0, 9)
    _blend(image, np.take(color.T, seen, axis=1) * grain, seen >= 0)
    thing = np.where(seen >= 0, view.burn(scenery.clutter), -1)
    _blend(image, pick(_CLUTTER_COLORS, thing, look.seed + 6), (thing >= 0) * np.float32(0.8))
