"""A planned scene as a picture: its layers from the ground up to the trees, in red, green, blue and near infrared.

Scope: colors, light, crowns and the order of layers. Independent of files. Every pixel depends on its neighborhood
only, so that a scene painted in tiles has no seams.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import geopandas as gpd
import numpy as np
import shapely
from scipy.ndimage import gaussian_filter

from .biomes import BLOCK, COVERS, HALL, HOUSE, SHED, Biome, spectra
from .crowns import Grove, Planting, grow, shaded_by
from .land import LAWN, PATIO, POOL, SOIL, Land
from .picture import Camera, Canvas, Look, Texture, blend, hashed, pick, smooth_noise
from .streets import SURFACES, Pavement, StreetPlan

CAR_HEIGHT_M, WALL_HEIGHT_M, DECK_HEIGHT_M = 1.3, 2.0, 5.0
TREE_HEIGHT_M, SHRUB_HEIGHT_M = 7.0, 1.6  # palms are as high as trees
_CAR_COLORS = spectra("88 88 88, 80 80 81, 68 69 71, 18 18 20, 27 28 30, 40 41 43, 46 23 21, 27 32 42")
_HOUSE_WALLS = spectra("62 60 55, 55 48 42, 72 70 66, 48 44 42")
_GARDEN_WALLS = spectra("68 66 62, 60 53 46, 50 46 43, 78 76 72")
_LINE, _BASIN = spectra("88 88 85, 34 62 70")
_SHADE = np.array([0.44, 0.47, 0.54, 0.40], dtype=np.float32)
# In the order of COVERS: garden, field, meadow, forest, yard, park, plantation, grove, paddy; the last for no cover.
_ROUGHNESS = np.array([0.12, 0.05, 0.10, 0.12, 0.10, 0.07, 0.10, 0.12, 0.04, 0.1], dtype=np.float32)
_TREE_DENSITY = np.array([0.15, 0.0, 0.03, 0.88, 0.03, 0.28, 0.0, 0.30, 0.0, 0.0], dtype=np.float32)
_PALM_DENSITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.96, 0.38, 0.0, 0.0], dtype=np.float32)
_HEDGE_TREES = 0.3
_DIKE_M, _CANAL_SHADE = 1.6, 0.62  # breadth of the banks of canals; these are darker than rivers, as they carry no silt
_CLEARED_M = 2.8  # between roads that are grown over and stems
# Colors of autumn and, the last two, of twigs without leaves.
_TURNED = spectra("60 50 20, 53 36 19, 47 29 19, 48 47 21, 40 36 32, 36 33 29")

Layer = tuple[np.ndarray, np.ndarray]  # color (4,) or (4, H, W), and thickness from 0 to 1 (H, W)


@dataclass(frozen=True)
class Scenery:
    """All that there is to paint, under a sun and a camera."""

    streets: StreetPlan
    pavement: Pavement
    land: Land
    biome: Biome
    look: Look
    camera: Camera

    @cached_property
    def shadows(self) -> gpd.GeoDataFrame:
        """Areas shaded by buildings, walls, cars and bridges."""
        land, decks = self.land, self.streets.decks
        cast = [(decks, DECK_HEIGHT_M), (land.walls.geometry, WALL_HEIGHT_M), (land.cars.geometry, CAR_HEIGHT_M)]
        parts = [
            _swept(np.asarray(shapes), self.look.shadow_m(np.full(len(shapes), high_m))) for shapes, high_m in cast
        ]
        parts[0] = shapely.difference(parts[0], shapely.union_all(decks))
        buildings = land.buildings.geometry.to_numpy(), self.look.shadow_m(land.buildings.height_m.to_numpy())
        return gpd.GeoDataFrame(geometry=np.concatenate([*parts, _swept(*buildings)]))

    @cached_property
    def standing(self) -> gpd.GeoDataFrame:
        """Walls of houses and roofs as the camera sees them, those nearest to the camera last.

        The columns are building (a row of `Land.buildings`), wall (whether it is one) and down (the direction that a
        roof faces in radians from east, NaN if flat).
        """
        buildings, roofs, lean = self.land.buildings, self.land.roofs, self.camera.lean
        outlines, roof_of = buildings.geometry.to_numpy(), roofs.building.to_numpy()
        up = buildings.height_m.to_numpy()[:, None] * lean
        building = np.concatenate([np.arange(len(outlines)), roof_of])
        is_wall = np.arange(len(building)) < len(outlines)
        shapes = gpd.GeoDataFrame(
            {"building": building, "wall": is_wall, "down": np.append(np.full(len(outlines), np.nan), roofs.down)},
            geometry=np.append(_swept(outlines, up), moved(roofs.geometry.to_numpy(), up[roof_of])),
        )
        # A building farther along the lean is farther from the camera and is drawn first; walls before roofs.
        depth = shapely.get_coordinates(shapely.centroid(outlines)) @ lean
        return shapes.iloc[np.lexsort((~is_wall, -depth[building]))].reset_index(drop=True)

    @cached_property
    def river(self) -> gpd.GeoDataFrame:
        """The banks, of canals also, then the river, then sand in it."""
        river, canals, bars = self.streets.river, self.streets.canals, self.streets.bars
        banks = shapely.union_all([river.buffer(self.biome.bank_m), *shapely.buffer(canals, _DIKE_M)])
        return gpd.GeoDataFrame(geometry=[banks, river, bars][: 2 if bars.is_empty else 3])

    @cached_property
    def clearings(self) -> gpd.GeoDataFrame:
        """Where roads are grown over: a clearing around each, then the strip between the wheels of each."""
        roads = self.streets.roads[self.streets.roads.length * self.biome.grown > 0]
        half_m = np.append(roads.width_m / 2 + _CLEARED_M, 0.16 * roads.width_m)
        return gpd.GeoDataFrame(geometry=shapely.buffer(np.tile(roads.geometry.to_numpy(), 2), half_m))

    @cached_property
    def palms(self) -> Planting:
        """How plantations and groves stand: palms, in some scenes other trees, far or close."""
        draw = hashed(np.zeros(1, np.int64), np.arange(4), self.look.seed + 37)
        cell_m = 5.5 + 3.5 * float(draw[0])
        radius_m = cell_m * (0.28 + 0.18 * float(draw[1]))
        fronds = 0 if draw[3] < 0.35 else 6 + int(4 * draw[3])
        return Planting(cell_m, (0.85 * radius_m, 1.15 * radius_m), np.pi * float(draw[2]), fronds)

    @property
    def river_color(self) -> np.ndarray:
        """(4,) float32 color of one of the biome's waters, or of its soil where the river is dry."""
        palette, draw = self.biome.palette, hashed(np.zeros(1, np.int64), np.arange(2), self.look.seed + 8)
        is_dry = draw[0] < self.biome.dry_rivers
        return palette["soil"][0] if is_dry else palette["water"][int(draw[1] * len(palette["water"]))]


def _swept(shapes: np.ndarray, by_m: np.ndarray) -> np.ndarray:
    """Return the areas, (N,) object, that shapes, (N,) object, sweep as they move by `by_m`, (N, 2) float64."""
    return shapely.convex_hull(shapely.geometrycollections(np.column_stack([shapes, moved(shapes, by_m)])))


def moved(shapes: np.ndarray, by_m: np.ndarray) -> np.ndarray:
    """Return shapes, (N,) object, moved east and north by `by_m`, (N, 2) float64: (N,) object."""
    points, shape = shapely.get_coordinates(shapes, return_index=True)
    return shapely.set_coordinates(shapes.copy(), points + by_m[shape])


def margin_px(scenery: Scenery, pixel_m: float) -> int:
    """Return how many pixels around a part must be painted, too, for the part to be the same as in the whole."""
    # The place of a palm decides whether it stands in a row, and so how far from that place.
    cell_m = scenery.palms.cell_m if "palm" in scenery.biome.palette else 0
    crown_m = 6.5 + cell_m + TREE_HEIGHT_M * np.hypot(*scenery.camera.lean)
    shadow_m = np.hypot(*scenery.look.shadow_m(TREE_HEIGHT_M))
    return int(np.ceil((crown_m + shadow_m + 1.5) / pixel_m)) + 4 + scenery.camera.reach_px


def paint(scenery: Scenery, canvas: Canvas) -> np.ndarray:
    """Return the light that comes from a part of a scene to the camera, from 0 to 1: (4, H, W) float32.

    Pixels within `margin_px` of the border lack shadows and crowns from outside of the canvas.
    """
    look, lean, land, palette = scenery.look, scenery.camera.lean, scenery.land, scenery.biome.palette
    texture = Texture(canvas, look.seed)
    cover, image = _land_cover(scenery, canvas, texture)
    for color, thick in _yard_layers(scenery, canvas, texture):
        blend(image, color, thick)
    wet = canvas.burn(scenery.river)
    blend(image, palette["bank"][0], (wet == 0) * np.clip(0.7 + 0.2 * texture(4.0), 0, 1))
    blend(image, scenery.river_color, (wet == 1) * np.clip(0.94 + 0.03 * texture(8.0, 4), 0, 1))
    canal = canvas.burn(gpd.GeoDataFrame(geometry=scenery.streets.canals)) >= 0
    blend(image, scenery.river_color * np.float32(_CANAL_SHADE), canal * np.float32(0.94))
    if (wet == 2).any():
        blend(image, palette["sand"][0], (wet == 2) * np.clip(0.7 + 0.35 * texture(18.0, 4), 0, 1))
    clearing = canvas.burn(scenery.clearings)
    verge, road = _paint_roads(image, scenery, canvas, texture, clearing >= len(scenery.clearings) // 2)
    lot = canvas.burn(land.car_parks) >= 0
    blend(image, palette["lot"][0][:, None, None] * (1 + 0.05 * texture(12.0, 5)), lot)
    blend(image, _LINE, (canvas.burn(land.bays) >= 0) * np.float32(min(1.0, 0.2 / canvas.pixel_m)))
    built = canvas.burn(land.buildings) >= 0
    bare = road | lot | (wet >= 1) | canal | built | (clearing >= 0)
    groves = plant(scenery, canvas, cover, verge, bare, texture)
    # Shadows fall on the ground and on cars; roofs, walls and crowns are painted later, in full light.
    shaded = canvas.burn(scenery.shadows) >= 0
    for grove, height_m, _ in groves:
        shaded |= shaded_by(grove, look.shadow_m(height_m) / canvas.pixel_m, height_m * lean / canvas.pixel_m)
    car = canvas.burn(land.cars)
    blend(image, pick(_CAR_COLORS, car, look.seed), car >= 0)
    image *= 1 - (1 - _SHADE[:, None, None]) * gaussian_filter(shaded.astype(np.float32), 0.3 / canvas.pixel_m)
    hidden = _paint_buildings(image, scenery, canvas, texture)
    for grove, _, leaves in reversed(groves):
        paint_crowns(image, replace(grove, inside=grove.inside & ~hidden), leaves, scenery, texture)
    image *= 1 + np.float32(0.05) * smooth_noise(canvas.x, canvas.y, 350.0, look.seed + 31)
    return image


def _land_cover(scenery: Scenery, canvas: Canvas, texture: Texture) -> tuple[np.ndarray, np.ndarray]:
    """Return the (H, W) int64 land cover, -1 for none, and the (4, H, W) float32 color of the ground."""
    look, biome, covers = scenery.look, scenery.biome, scenery.land.covers
    block = canvas.burn(covers)
    cover = np.append(covers.cover.to_numpy(), -1)[block]
    image = np.take(biome.palette["covers"].T, cover, axis=1)
    # A field is divided into strips, each with a crop; noise bends the strips a little.
    angle, strip_m = np.append(covers.angle.to_numpy(), 0), np.append(covers.strip_m.to_numpy(), 50)
    across_m = canvas.y[:, None] * np.cos(angle)[block] - canvas.x[None, :] * np.sin(angle)[block]
    across_m = across_m.astype(np.float32) + texture(60.0, 1) * np.float32(0.7)
    strip = np.floor(across_m / strip_m.astype(np.float32)[block]).astype(np.int64)
    is_field = cover == COVERS.index("field")
    np.copyto(image, pick(biome.palette["crops"], block * 4096 + strip, look.seed), where=is_field)
    # Brightness: noise of three sizes, and in fields furrows and the tracks of tractors.
    vigor = hashed(block, strip, look.seed + 1)
    furrow = np.sin(across_m * (2 * np.pi / (2.2 + 2 * vigor))) * (0.012 + 0.035 * hashed(block, strip, look.seed + 2))
    tramline = np.abs(across_m % 15 - 7.5) < 0.7
    rough = _ROUGHNESS[cover]
    shade = 1 + rough * (0.75 * texture(35.0) + 0.5 * texture(4.0) + 0.45 * texture(1.1))
    shade += np.where(is_field, furrow, 0) - np.where(is_field & tramline & (vigor > 0.4), np.float32(0.05), 0)
    image *= np.clip(shade, 0.55, 1.5)
    # Dry grass and bare soil.
    is_paddy = cover == COVERS.index("paddy")
    if is_paddy.any():
        along_m = canvas.x[None, :] * np.cos(angle)[block] + canvas.y[:, None] * np.sin(angle)[block]
        at = np.flatnonzero(is_paddy)
        row_m, tone = across_m + 3 * texture(60.0, 1), 1 + 0.05 * texture(4.0)
        basins = _paddies(block.ravel()[at], row_m.ravel()[at], along_m.ravel()[at], biome, look.seed)
        image.reshape(len(image), -1)[:, at] = basins * tone.ravel()[at]
    dry = np.clip(0.5 * look.dryness + 0.25 * texture(80.0, 2), 0, 0.8)
    blend(image, biome.palette["dry"][0], dry * ~(is_field | is_paddy))
    bare = np.clip(0.9 * texture(18.0, 3) - 1.0 + 2.2 * biome.bare, 0, 0.7 + 0.2 * biome.bare)
    blend(image, biome.palette["soil"][0], bare * (rough > 0.06) * (1 + 0.08 * texture(4.0)))
    return cover, image


def _paddies(block: np.ndarray, across_m: np.ndarray, along_m: np.ndarray, biome: Biome, seed: int) -> np.ndarray:
    """Return the colors of basins, wet or green, and of the bunds around them: (4, N) float32, as the pixels (N,)."""
    draw = [hashed(block, np.full(1, k), seed + 41) for k in range(4)]
    long_m, broad_m, bund_m = 18 + 40 * draw[0], 8 + 16 * draw[1], 0.4 + 0.9 * draw[2]
    row, left = np.divmod(across_m / broad_m, 1)
    basin, ahead = np.divmod(along_m / long_m + hashed(row, block, seed + 42), 1)  # offset as bricks are
    aside_m = np.minimum(np.minimum(left, 1 - left) * broad_m, np.minimum(ahead, 1 - ahead) * long_m)
    # Most basins of a block are of one color.
    number = np.where(hashed(row, basin, seed + 43) < 0.55, block, (block * 8191 + row * 127 + basin).astype(np.int64))
    color = pick(biome.palette["paddies"], number, seed + 44) * (0.94 + 0.12 * hashed(row, basin, seed + 45))
    return np.where(aside_m < bund_m / 2, pick(biome.palette["bund"], block, seed + 46), color).astype(np.float32)


def _yard_layers(scenery: Scenery, canvas: Canvas, texture: Texture) -> Iterator[Layer]:
    """Yield the layers of gardens with patches, drives and walls from the ground up."""
    land, palette, seed = scenery.land, scenery.biome.palette, scenery.look.seed
    garden = canvas.burn(land.gardens)
    kept = 0.35 + 0.55 * hashed(garden, np.zeros(1, np.int64), seed + 15)
    yield pick(palette["gardens"], garden, seed + 5) * (1 + 0.06 * texture(4.0)), (garden >= 0) * kept
    patch = canvas.burn(land.patches)
    kind = np.append(land.patches.kind.to_numpy(), -1)[patch]
    tone = (0.8 + 0.4 * hashed(patch, np.ones(1, np.int64), seed + 17)) * (1 + 0.05 * texture(4.0))
    colors = {PATIO: palette["paving"][0], SOIL: palette["soil"][0], LAWN: palette["crops"][0], POOL: _BASIN}
    for patch_kind, color in colors.items():
        yield color[:, None, None] * tone, (kind == patch_kind) * np.float32(0.8)
    yield palette["paving"][0], (canvas.burn(land.drives) >= 0) * np.clip(0.65 + 0.15 * texture(4.0), 0, 1)
    wall = canvas.burn(land.walls)
    yield pick(_GARDEN_WALLS, wall, seed + 16), (wall >= 0) * np.float32(min(1.0, 0.4 / canvas.pixel_m))


def _paint_roads(
    image: np.ndarray, scenery: Scenery, canvas: Canvas, texture: Texture, between: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Paint the roads and their verges; return the urbanity of verges and where roads are.

    They are (H, W) float32 with 0 elsewhere and (H, W) bool. `between` wheels, (H, W) bool, more grows than elsewhere.
    """
    pavement, roads, palette = scenery.pavement, scenery.streets.roads, scenery.biome.palette
    verge = canvas.burn(pavement.verges)
    urban = np.append(pavement.verges.urbanity.to_numpy(), 0).astype(np.float32)[verge]
    paving = np.where(urban > 0.4, 0.75 * scenery.biome.sidewalk, 0.22 + 0.12 * texture(4.0)) * (verge >= 0)
    blend(image, palette["paving"][0], np.clip(paving, 0, 1))
    # The carriageway: a tone for each street, worn unevenly. Unpaved edges fray into the grass.
    carriageway = canvas.burn(pavement.carriageways)
    on_road = carriageway >= 0
    road = np.append(pavement.carriageways.road.to_numpy(), -1)[carriageway]
    surface = np.array([SURFACES.index(name) for name in [*roads.surface, "asphalt"]])
    tone = (hashed(roads.street.to_numpy(), np.zeros(1, np.int64), scenery.look.seed + 3) - 0.5) * 0.16
    colors = palette["surfaces"][surface]
    is_dirt = np.append(roads.surface == "dirt", False)
    if "dirt" in palette:
        colors[is_dirt] = pick(palette["dirt"], roads.street.to_numpy()[is_dirt[:-1]], scenery.look.seed + 18).T
    colors = colors + np.append(tone, 0).astype(np.float32)[:, None]
    paved = np.isin(surface, [SURFACES.index("asphalt"), SURFACES.index("concrete")])[road]
    wear = 0.04 * texture(12.0, 5) + 0.025 * texture(1.1, 6) - np.where(texture(18.0, 7) > 1.5, np.float32(0.07), 0)
    worn = np.take(colors.T, road, axis=1) * (1 + wear * (np.float32(1.8) - np.float32(0.8) * paved))
    opacity = np.where(paved, 1, np.clip(0.85 + 0.15 * texture(4.0), 0.4, 1))
    if scenery.biome.grown:
        growth = hashed(roads.street.to_numpy(), np.full(1, 1), scenery.look.seed + 3) * is_dirt[:-1]
        growth = np.append(2 * scenery.biome.grown * growth, 0)[road] * np.clip(0.75 + 0.5 * texture(18.0, 7), 0.2, 1.3)
        opacity *= 1 - np.clip(growth * np.where(between, 1.6, 0.7), 0, 0.85)
    blend(image, worn, on_road * opacity)
    lines = (canvas.burn(pavement.markings) >= 0) & on_road & (surface == SURFACES.index("asphalt"))[road]
    blend(image, _LINE, lines * np.float32(min(1.0, 0.25 / canvas.pixel_m)))
    return np.where(verge >= 0, urban, 0), on_road


def _paint_buildings(image: np.ndarray, scenery: Scenery, canvas: Canvas, texture: Texture) -> np.ndarray:
    """Paint roofs and walls, roofs brighter the more they face the sun.

    Returns the pixels of buildings in front of which no tree is seen, (H, W) bool.
    """
    standing, look, palette, land = scenery.standing, scenery.look, scenery.biome.palette, scenery.land
    building, wall = standing.building.to_numpy(), standing.wall.to_numpy()
    kind = land.buildings.kind.to_numpy()[building]
    color = np.zeros((len(kind), len(_SHADE)), dtype=np.float32)
    for roof_kind, name in {HALL: "hall", BLOCK: "block", HOUSE: "house", SHED: "shed"}.items():
        color[kind == roof_kind] = pick(palette[name], building[kind == roof_kind], look.seed + 4).T
    down = standing.down.to_numpy()
    facing = np.nan_to_num(np.cos(down) * look.sun[0] + np.sin(down) * look.sun[1])[:, None]
    color *= 1.02 + 0.24 * facing
    color[wall] = 0.7 * pick(_HOUSE_WALLS, building[wall], look.seed + 6).T
    color += 0.12 * (hashed(building, np.ones(1, np.int64), look.seed + 4)[:, None] - 0.5)
    seen = canvas.burn(standing)
    grain = 1 + 0.04 * texture(1.1, 9) + 0.02 * texture(4.0, 9)
    blend(image, np.take(color.T, np.maximum(seen, 0), axis=1) * grain if len(color) else image, seen >= 0)
    is_tall = land.buildings.height_m.to_numpy()[building] > 1.5 * TREE_HEIGHT_M
    return np.append(is_tall & ~wall, False)[seen]


def plant(
    scenery: Scenery, canvas: Canvas, cover: np.ndarray, verge: np.ndarray, bare: np.ndarray, texture: Texture
) -> list[tuple[Grove, float, str]]:
    """Return trees and shrubs, denser in forests, along verges and in hedges, and palms, each with height and palette.

    All are (H, W): int64 land cover (-1 for none) float32 urbanity of verges (0 elsewhere) and bool where nothing
    grows.
    """
    density = _TREE_DENSITY[cover]
    density = np.where(verge > 0, 0.25 + 0.3 * (texture(60.0, 1) > 0.3), density)
    density *= np.clip(1 + texture(35.0, 8) * np.where(cover == COVERS.index("forest"), 0.2, 1), 0.1, 3)
    density *= scenery.biome.trees
    hedge = canvas.burn(scenery.land.hedges) >= 0
    density = np.where(hedge, np.maximum(density, _HEDGE_TREES * scenery.biome.trees), density)
    density[bare] = 0
    scrub = 0.12 * scenery.biome.bare * np.clip(texture(35.0, 8), 0, 1)
    fray, seed, lean = texture(1.1, 6), scenery.look.seed, scenery.camera.lean
    trees = grow(canvas, density, Planting(7.0, (2.0, 4.6)), fray, seed + 11, TREE_HEIGHT_M * lean)
    density = 0.3 * density + (0.9 * hedge + scrub) * ~bare
    shrubs = grow(canvas, density, Planting(3.2, (0.7, 1.6)), fray, seed + 23, SHRUB_HEIGHT_M * lean)
    groves, density = [(trees, TREE_HEIGHT_M, "crown"), (shrubs, SHRUB_HEIGHT_M, "crown")], _PALM_DENSITY[cover] * ~bare
    if density.any():
        in_rows = cover == COVERS.index("plantation")
        palms = grow(canvas, density, scenery.palms, fray, seed + 29, TREE_HEIGHT_M * lean, in_rows)
        groves.append((palms, TREE_HEIGHT_M, "palm"))
    return groves


def paint_crowns(image: np.ndarray, grove: Grove, leaves: str, scenery: Scenery, texture: Texture) -> None:
    """Paint crowns as hemispheres, bright toward the sun, into a (4, H, W) float32 image."""
    look, palette = scenery.look, scenery.biome.palette
    (crown,), (autumn,) = palette[leaves], palette["autumn"]
    facing = grove.east * look.sun[0] + grove.north * look.sun[1]
    light = 0.95 + 0.38 * facing + 0.12 * texture(1.1, 6) + 0.25 * (grove.tint - 0.5)
    share = np.clip((0.25 + 0.6 * look.dryness) * grove.tint + 0.05 * texture(4.0), 0, 1)
    color = crown[:, None, None] + share * (autumn - crown)[:, None, None]
    # Two more numbers for each plant: whether its leaves have turned or gone, and to which color.
    has_turned, which = (grove.tint * np.float32(factor) % 1 for factor in (122, 183))
    turned = np.take(_TURNED.T, (which * len(_TURNED)).astype(np.intp), axis=1)
    np.copyto(color, turned, where=has_turned < look.turned * scenery.biome.deciduous)
    blend(image, (color * np.maximum(light, 0.35)).astype(np.float32), grove.inside)
