"""The ground around houses as it looks from above, with the shadows of walls.

Scope: colors and their opacity. Independent of where yards are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import shapely

from ..plan.biomes import Palette
from ..plan.placing import moved
from ..plan.yards import LAWN, PATIO, POOL, SOIL, WALL_HEIGHT_M, Yards
from .noise import hashed
from .spectrum import pick, spectra
from .view import Look, Texture, View

_WALLS = spectra((0.68, 0.66, 0.62), (0.60, 0.53, 0.46), (0.50, 0.46, 0.43), (0.78, 0.76, 0.72))
(_BASIN,) = spectra((0.34, 0.62, 0.70))

Layer = tuple[np.ndarray, np.ndarray]


def yard_layers(yards: Yards, palette: Palette, look: Look, view: View, texture: Texture) -> Iterator[Layer]:
    """Yield the layers of yards, from the ground up.

    Parameters
    ----------
    palette : Palette
        Of four bands.
    look : Look
        The day; in a desert less grows in gardens.
    texture : Texture
        Of that view.

    Yields
    ------
    color : ndarray (4, H, W) or (4,), float32
    thickness : ndarray (H, W), float32
        Opacity from 0 to 1.
    """
    lush = np.float32(1 - 0.7 * look.aridity)
    garden = view.burn(yards.gardens)
    kept = 0.35 + 0.55 * hashed(garden, np.zeros(1, np.int64), look.seed + 15)
    yield pick(palette.gardens, garden, look.seed + 5) * (1 + 0.06 * texture(4.0)), (garden >= 0) * kept * lush
    yield from _patch_layers(yards, palette, look, view, texture)
    fence = (view.burn(yards.fences) >= 0) * np.clip(0.3 + 0.25 * texture(8.0, 4), 0, 0.8)
    yield palette.fence[0], fence
    yield palette.paving[0], (view.burn(yards.drives) >= 0) * np.clip(0.65 + 0.15 * texture(4.0), 0, 1)
    wall = view.burn(yards.walls)
    yield pick(_WALLS, wall, look.seed + 16), (wall >= 0) * np.float32(min(1.0, 0.4 / view.pixel_m))


def _patch_layers(yards: Yards, palette: Palette, look: Look, view: View, texture: Texture) -> Iterator[Layer]:
    patch = view.burn(yards.patches)
    kind = np.append(yards.patches.kind.to_numpy(), -1)[patch]
    tone = 1 + 0.4 * (hashed(patch, np.ones(1, np.int64), look.seed + 17) - 0.5)
    for which, color, thick in (
        (PATIO, palette.paving[0], 0.9),
        (SOIL, palette.soil[0], 0.7),
        (LAWN, palette.crops[0], 0.7),
    ):
        yield color[:, None, None] * tone * (1 + 0.05 * texture(4.0)), (kind == which) * np.float32(thick)
    yield _BASIN, (kind == POOL) * np.float32(0.9)


def wall_shadows(yards: Yards, look: Look) -> np.ndarray:
    """Return the shapes that the walls' shadows cover: (N,), object."""
    foot = yards.walls.geometry.to_numpy()
    thrown = moved(foot, np.broadcast_to(look.shadow_m(np.float64(WALL_HEIGHT_M)), (len(foot), 2)))
    return shapely.convex_hull(shapely.geometrycollections(np.column_stack([foot, thrown])))
