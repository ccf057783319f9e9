"""The ground of a scene as layers of color: fields, river, yards, railway, roads and car parks.

Scope: colors and their opacity. Independent of light, shadow and all that stands on the ground.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..plan.biomes import COVERS
from ..plan.yards import LAWN, PATIO, POOL, SOIL
from .scenery import Scenery
from .view import Texture, View, blend, hashed, pick, spectra

# In the order of COVERS: garden, field, meadow, forest, yard, park; the last one for no cover.
_ROUGHNESS = np.array([0.12, 0.05, 0.10, 0.12, 0.10, 0.07, 0.1], dtype=np.float32)
_SURFACES = ("asphalt", "concrete", "gravel", "dirt")
_LINE, _BASIN, _BALLAST, _RAIL = spectra("88 88 85, 34 62 70, 47 44 41, 66 64 63")
_SAND = spectra("66 57 46, 60 55 47")
_WALLS = spectra("68 66 62, 60 53 46, 50 46 43, 78 76 72")
_RAIL_WIDTH_M = 0.17  # with its foot and its glint

Layer = tuple[np.ndarray, np.ndarray]  # color (4,) or (4, H, W), and thickness from 0 to 1 (H, W)


def land_cover(scenery: Scenery, view: View, texture: Texture) -> tuple[np.ndarray, np.ndarray]:
    """Return the (H, W) int64 land cover, -1 for none, and the (4, H, W) float32 color of the ground."""
    look, biome, covers, palette = scenery.look, scenery.biome, scenery.land.covers, scenery.palette
    block = view.burn(covers)
    cover = np.append(covers.cover.to_numpy(), -1)[block]
    image = np.take(palette.covers.T, cover, axis=1)
    # A field is divided into strips, each with a crop; noise bends the strips a little.
    angle, strip_m = np.append(covers.angle.to_numpy(), 0), np.append(covers.strip_m.to_numpy(), 50)
    across_m = view.y[:, None] * np.cos(angle)[block] - view.x[None, :] * np.sin(angle)[block]
    across_m = across_m.astype(np.float32) + texture(60.0, 1) * np.float32(0.7)
    strip = np.floor(across_m / strip_m.astype(np.float32)[block]).astype(np.int64)
    is_field = cover == COVERS.index("field")
    np.copyto(image, pick(palette.crops, block * 4096 + strip, look.seed), where=is_field)
    # Brightness: noise of three sizes, and in fields furrows and the tracks of tractors.
    vigor = hashed(block, strip, look.seed + 1)
    furrow = np.sin(across_m * (2 * np.pi / (2.2 + 2 * vigor))) * (0.012 + 0.035 * hashed(block, strip, look.seed + 2))
    tramline = np.abs(across_m % 15 - 7.5) < 0.7
    rough = _ROUGHNESS[cover]
    shade = 1 + rough * (0.75 * texture(35.0) + 0.5 * texture(4.0) + 0.45 * texture(1.1))
    shade += np.where(is_field, furrow, 0) - np.where(is_field & tramline & (vigor > 0.4), np.float32(0.05), 0)
    image *= np.clip(shade, 0.55, 1.5)
    # Dry grass, bare soil, and sand where the climate is arid.
    blend(image, palette.dry[0], np.clip(0.5 * look.dryness + 0.25 * texture(80.0, 2), 0, 0.8) * ~is_field)
    bare = np.clip(0.9 * texture(18.0, 3) - 1.0 + 2.2 * biome.bare, 0, 0.7 + 0.2 * biome.bare)
    blend(image, palette.soil[0], bare * (rough > 0.06) * (1 + 0.08 * texture(4.0)))
    if look.aridity:
        light, dark = _SAND[:, :, None, None]
        sand = light + np.clip(0.5 + 0.4 * texture(80.0, 2), 0, 1) * (dark - light)
        sand *= 1 + 0.05 * texture(4.0, 13) + 0.04 * texture(18.0, 13)
        blend(image, sand, np.clip(look.aridity * (0.85 + 0.2 * texture(60.0, 13)), 0, 0.97))
    return cover, image


def yard_layers(scenery: Scenery, view: View, texture: Texture) -> Iterator[Layer]:
    """Yield the layers of gardens with patches, fences, drives and walls from the ground up."""
    yards, palette, look = scenery.land.yards, scenery.palette, scenery.look
    lush = np.float32(1 - 0.7 * look.aridity)
    garden = view.burn(yards.gardens)
    kept = 0.35 + 0.55 * hashed(garden, np.zeros(1, np.int64), look.seed + 15)
    yield pick(palette.gardens, garden, look.seed + 5) * (1 + 0.06 * texture(4.0)), (garden >= 0) * kept * lush
    patch = view.burn(yards.patches)
    kind = np.append(yards.patches.kind.to_numpy(), -1)[patch]
    tone = 1 + 0.4 * (hashed(patch, np.ones(1, np.int64), look.seed + 17) - 0.5)
    colors = {PATIO: (palette.paving[0], 0.9), SOIL: (palette.soil[0], 0.7), LAWN: (palette.crops[0], 0.7)}
    for patch_kind, (color, thick) in colors.items():
        shaded = color[:, None, None] * tone * (1 + 0.05 * texture(4.0))
        yield shaded, (kind == patch_kind) * np.float32(thick)
    yield _BASIN, (kind == POOL) * np.float32(0.9)
    yield palette.fence[0], (view.burn(yards.fences) >= 0) * np.clip(0.3 + 0.25 * texture(8.0, 4), 0, 0.8)
    yield palette.paving[0], (view.burn(yards.drives) >= 0) * np.clip(0.65 + 0.15 * texture(4.0), 0, 1)
    wall = view.burn(yards.walls)
    yield pick(_WALLS, wall, look.seed + 16), (wall >= 0) * np.float32(min(1.0, 0.4 / view.pixel_m))


def paint_river(image: np.ndarray, scenery: Scenery, view: View, texture: Texture) -> np.ndarray:
    """Paint the river and return where there is water: (H, W) bool."""
    wet = view.burn(scenery.river)
    blend(image, scenery.palette.bank[0], (wet == 0) * np.clip(0.7 + 0.2 * texture(4.0), 0, 1))
    blend(image, scenery.river_color, (wet == 1) * np.clip(0.94 + 0.03 * texture(8.0, 4), 0, 1))
    return wet == 1


def bed_layer(bed: np.ndarray, texture: Texture) -> Layer:
    """Return the ballast of a railway on the pixels of its bed, (H, W) bool."""
    stones = 1 + 0.05 * texture(1.1, 10) + 0.05 * texture(12.0, 10) + 0.04 * texture(60.0, 10)
    return _BALLAST[:, None, None] * stones, bed * np.clip(0.92 + 0.08 * texture(4.0, 10), 0.6, 1)


def rail_layer(rails: np.ndarray, pixel_m: float) -> Layer:
    """Return the rails on the pixels that they run through, (H, W) bool."""
    return _RAIL, rails * np.float32(min(1.0, _RAIL_WIDTH_M / pixel_m))


def paint_roads(image: np.ndarray, scenery: Scenery, view: View, texture: Texture) -> tuple[np.ndarray, np.ndarray]:
    """Paint the roads and their verges; return the urbanity of verges and where roads are.

    They are (H, W) float32 with 0 elsewhere and (H, W) bool.
    """
    pavement, roads, palette = scenery.pavement, scenery.streets.roads, scenery.palette
    verge = view.burn(pavement.verges)
    urban = np.append(pavement.verges.urbanity.to_numpy(), 0).astype(np.float32)[verge]
    paving = np.where(urban > 0.4, 0.75 * scenery.biome.sidewalk, 0.22 + 0.12 * texture(4.0)) * (verge >= 0)
    blend(image, palette.paving[0], np.clip(paving, 0, 1))
    # The carriageway: a tone for each street, worn unevenly. Unpaved edges fray into the grass.
    carriageway = view.burn(pavement.carriageways)
    on_road = carriageway >= 0
    road = np.append(pavement.carriageways.road.to_numpy(), -1)[carriageway]
    tone = (hashed(roads.street.to_numpy(), np.zeros(1, np.int64), scenery.look.seed + 3) - 0.5) * 0.16
    colors = palette.surfaces[[_SURFACES.index(name) for name in [*roads.surface, "asphalt"]]]
    colors[:-1] += tone[:, None]
    paved = np.append(roads.surface.isin(["asphalt", "concrete"]).to_numpy(), True)[road]
    wear = 0.04 * texture(12.0, 5) + 0.025 * texture(1.1, 6) - np.where(texture(18.0, 7) > 1.5, np.float32(0.07), 0)
    surface = np.take(colors.T, road, axis=1) * (1 + wear * (np.float32(1.8) - np.float32(0.8) * paved))
    blend(image, surface, on_road * np.where(paved, 1, np.clip(0.85 + 0.15 * texture(4.0), 0.4, 1)))
    # Lane markings on asphalt, and grass between the ruts of tracks.
    asphalt = on_road & (np.append((roads.surface == "asphalt").to_numpy(), True)[road])
    strength = np.float32(min(1.0, 0.25 / view.pixel_m))
    blend(image, _LINE, (view.burn(pavement.markings) >= 0) * asphalt * strength)
    grown = (view.burn(pavement.ruts) >= 0) & on_road & ~paved
    blend(image, palette.rut[0], grown * np.clip(0.3 + 0.3 * texture(18.0, 3), 0, 0.7))
    return np.where(verge >= 0, urban, 0), on_road


def paint_car_parks(image: np.ndarray, scenery: Scenery, view: View, texture: Texture) -> np.ndarray:
    """Paint car parks and return where they are: (H, W) bool."""
    land, palette = scenery.land, scenery.palette
    lot = view.burn(land.car_parks) >= 0
    blend(image, palette.lot[0][:, None, None] * (1 + 0.05 * texture(12.0, 5)), lot)
    blend(image, palette.gardens[0], view.burn(land.islands) >= 0)
    blend(image, _LINE, (view.burn(land.bays) >= 0) * np.float32(min(1.0, 0.2 / view.pixel_m)))
    return lot
