"""A planned scene as a picture: layers from the ground up to the trees.

Scope: the order of layers, shadow, cars and buildings, in red, green, blue and near infrared. Independent of files.

Every pixel depends on its neighborhood only, so that a scene painted in tiles has no seams.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import gaussian_filter

from ..plan.biomes import BLOCK, HALL, HOUSE, SHED
from .ground import bed_layer, land_cover, paint_car_parks, paint_river, paint_roads, rail_layer, yard_layers
from .scenery import Scenery
from .trees import SHRUB_HEIGHT_M, TREE_HEIGHT_M, paint_crowns, plant, shaded_by
from .view import Texture, View, blend, hashed, pick, smooth_noise, spectra

_CAR_COLORS = spectra("88 88 88, 80 80 81, 68 69 71, 18 18 20, 27 28 30, 40 41 43, 46 23 21, 27 32 42")
_CLUTTER_COLORS = spectra("20 20 22, 82 82 80, 50 48 45, 62 58 52, 35 45 55")
_WALL_COLORS = spectra("62 60 55, 55 48 42, 72 70 66, 48 44 42")
_SHADE = np.array([0.44, 0.47, 0.54, 0.40], dtype=np.float32)


def margin_px(scenery: Scenery, pixel_m: float) -> int:
    """Return how many pixels around a part must be painted, too, for the part to be the same as in the whole."""
    look, lean = scenery.look, scenery.camera.lean
    crown_m = 6.5 + TREE_HEIGHT_M * np.hypot(*lean)
    shadow_m = np.hypot(*look.shadow_m(TREE_HEIGHT_M))
    return int(np.ceil((crown_m + shadow_m + 1.5) / pixel_m)) + 4 + scenery.camera.reach_px


def paint(scenery: Scenery, view: View) -> np.ndarray:
    """Return the light that comes from a view to the camera, from 0 to 1: (4, H, W) float32.

    Pixels within `margin_px` of the border lack shadows and crowns from outside of the view.
    """
    look, lean, land = scenery.look, scenery.camera.lean, scenery.land
    texture = Texture(view, look.seed)
    cover, image = land_cover(scenery, view, texture)
    for color, thick in yard_layers(scenery, view, texture):
        blend(image, color, thick)
    water = paint_river(image, scenery, view, texture)
    bed, rails = (view.burn(table) >= 0 for table in scenery.railway)
    blend(image, *bed_layer(bed, texture))
    verge, road = paint_roads(image, scenery, view, texture)
    blend(image, *rail_layer(rails, view.pixel_m))
    lot = paint_car_parks(image, scenery, view, texture)
    car, built = view.burn(land.cars), view.burn(land.buildings) >= 0
    trees, shrubs = plant(scenery, view, cover, verge, road | lot | water | bed | built, texture)
    groves = [(trees, TREE_HEIGHT_M), (shrubs, SHRUB_HEIGHT_M)]
    # Shadows fall on the ground and on cars; roofs, walls and crowns are painted later, in full light.
    shaded = view.burn(scenery.shadows) >= 0
    for grove, height_m in groves:
        shaded |= shaded_by(grove, look.shadow_m(height_m) / view.pixel_m, height_m * lean / view.pixel_m)
    blend(image, pick(_CAR_COLORS, car, look.seed), car >= 0)
    image *= 1 - (1 - _SHADE[:, None, None]) * gaussian_filter(shaded.astype(np.float32), 0.3 / view.pixel_m)
    # What leans over a road from its own place on it is left out, and crowns in front of tall buildings are hidden.
    standing = view.burn(scenery.standing)
    standing[road & built & (standing >= 0)] = -1
    _paint_buildings(image, scenery, view, standing, texture)
    above = np.append(scenery.standing.height_m.to_numpy() > 1.5 * TREE_HEIGHT_M, False)[standing]
    for grove, _ in reversed(groves):
        paint_crowns(image, replace(grove, inside=grove.inside & ~above), scenery, texture)
    image *= 1 + np.float32(0.05) * smooth_noise(view.x, view.y, 350.0, look.seed + 31)
    return image


def _paint_buildings(image: np.ndarray, scenery: Scenery, view: View, seen: np.ndarray, texture: Texture) -> None:
    """Paint roofs and walls, brighter the more they face the sun; `seen` holds rows of `Scenery.standing`."""
    standing, look, palette = scenery.standing, scenery.look, scenery.palette
    building, down, wall = (standing[name].to_numpy() for name in ("building", "down", "wall"))
    kind = scenery.land.buildings.kind.to_numpy()[building]
    color = np.zeros((len(kind) + 1, _SHADE.size), dtype=np.float32)
    roofs = {HALL: palette.hall, BLOCK: palette.block, HOUSE: palette.house, SHED: palette.shed}
    for roof_kind, roof_colors in roofs.items():
        color[:-1][kind == roof_kind] = pick(roof_colors, building[kind == roof_kind], look.seed + 4).T
    color[:-1][wall] = pick(_WALL_COLORS, building[wall], look.seed + 6).T
    facing = np.nan_to_num(np.cos(down) * look.sun[0] + np.sin(down) * look.sun[1])[:, None]
    upright = 0.5 + 0.75 * np.cos(look.sun_altitude) * np.maximum(facing, 0)
    color[:-1] *= np.where(wall[:, None], upright, 1.02 + 0.24 * facing)
    color[:-1] += 0.12 * (hashed(building, np.ones(1, np.int64), look.seed + 4)[:, None] - 0.5)
    grain = 1 + 0.04 * texture(1.1, 9) + 0.02 * texture(4.0, 9)
    blend(image, np.take(color.T, seen, axis=1) * grain, seen >= 0)
    thing = np.where(seen >= 0, view.burn(scenery.clutter), -1)
    blend(image, pick(_CLUTTER_COLORS, thing, look.seed + 6), (thing >= 0) * np.float32(0.8))
