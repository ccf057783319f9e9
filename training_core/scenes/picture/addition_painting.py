"""The ground that was added beside roads, as a camera sees it.

Scope: colors and their opacity. Independent of where it lies.
"""

from __future__ import annotations

import geopandas as gpd
import numpy as np

from ..plan.biomes import Palette
from ..plan.drafting import ASPHALT, CONCRETE, CURB, EARTH, EDGE, GRASS, GRAVEL, SAND, SURFACES, WATER
from .spectrum import spectra
from .view import Texture, View

(_SAND,) = spectra((0.70, 0.64, 0.53))
_CURB_GAIN, _EDGE_GAIN = np.float32(1.25), np.float32(0.72)
# How opaque they lie on the ground, and how uneven they are.
_THICKNESS = {GRASS: 0.8, EARTH: 0.9, GRAVEL: 0.9, EDGE: 0.75, SAND: 0.9}
_ROUGHNESS = {GRASS: 1.6, EARTH: 1.5, GRAVEL: 1.2, SAND: 1.2, WATER: 0.4}


def added_layer(
    ground: gpd.GeoDataFrame, palette: Palette, view: View, texture: Texture
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what was added to the ground as one layer.

    Parameters
    ----------
    ground : GeoDataFrame
        With surface and tone.
    palette : Palette
        Of four bands.
    texture : Texture
        Of that view.

    Returns
    -------
    color : ndarray (4, H, W), float32
    thickness : ndarray (H, W), float32
        Opacity from 0 to 1; 0 where nothing was added.
    is_bare : ndarray (H, W), bool
        Where nothing grows.
    """
    burned = view.burn(ground)
    surface = np.append(ground.surface.to_numpy(), -1)[burned]
    asphalt, concrete, gravel, dirt = palette.surfaces
    earth = (palette.soil[0] + dirt) / 2
    color_of = {
        EARTH: earth,
        CONCRETE: concrete,
        ASPHALT: asphalt,
        GRAVEL: gravel,
        GRASS: max((*palette.crops, *palette.gardens), key=lambda color: 2 * color[1] - color[0] - color[2]),
        WATER: palette.water[0],
        SAND: _SAND,
        CURB: np.minimum(concrete * _CURB_GAIN, 0.95),
        EDGE: earth * _EDGE_GAIN,
    }
    colors = np.array([color_of[each] for each in SURFACES], dtype=np.float32)
    thick = np.array([*(_THICKNESS.get(each, 0.96) for each in SURFACES), 0.0], dtype=np.float32)
    rough = np.array([*(_ROUGHNESS.get(each, 0.7) for each in SURFACES), 0.0], dtype=np.float32)
    tone = np.append(ground.tone.to_numpy(), 1).astype(np.float32)[burned]
    uneven = 0.045 * texture(4.0, 16) + 0.04 * texture(18.0, 16) + 0.03 * texture(1.1, 6)
    color = np.take(colors.T, surface, axis=1) * (tone * (1 + rough[surface] * uneven))
    return color, thick[surface], (surface >= 0) & (surface != GRASS)
