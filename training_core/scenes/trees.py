"""Trees and shrubs: where crowns are, and how light falls on them.

Scope: one plant in each cell of a lattice, displaced at random within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .biomes import COVERS, spectra
from .canvas import Canvas, Texture, blend, hashed

if TYPE_CHECKING:
    from .painting import Scenery

TREE_HEIGHT_M, SHRUB_HEIGHT_M = 7.0, 1.6
_HEDGE_TREES = 0.3
# In the order of COVERS: garden, field, meadow, forest, yard, park; the last one for no cover.
_DENSITY = np.array([0.15, 0.0, 0.03, 0.88, 0.03, 0.28, 0.0], dtype=np.float32)
# Colors of autumn and, the last two, of twigs without leaves.
_TURNED = spectra("60 50 20, 53 36 19, 47 29 19, 48 47 21, 40 36 32, 36 33 29")


@dataclass(frozen=True)
class Grove:
    """The (H, W) crowns in a view: bool where they are, float32 positions in them from -1 to 1.

    The float32 `tint` is the plant's own number in [0, 1).
    """

    inside: np.ndarray
    east: np.ndarray
    north: np.ndarray
    tint: np.ndarray


def grow(
    canvas: Canvas,
    density: np.ndarray,
    cell_m: float,
    radius_m: tuple[float, float],
    ragged: np.ndarray,
    seed: int,
    lean_m: np.ndarray,
) -> Grove:
    """Return the crowns of plants of one size.

    The (H, W) float32 `density` is the chance that a cell whose plant would have its stem at a pixel has one. Cells
    have a side of `cell_m`, the mean distance of plants where all grow. `radius_m` is the least and greatest of a
    crown. The (H, W) float32 noise `ragged`, of deviation 1, frays the crowns' outline. Crowns are offset by the (2,)
    float64 `lean_m` (east, north) from their stems' feet.
    """
    # A stem at a random place in each cell; it grows where the density at its place exceeds a random number.
    cell_x, cell_y = (
        np.arange(np.floor(a.min() / cell_m), np.floor(a.max() / cell_m) + 1) for a in (canvas.x, canvas.y)
    )
    cells = cell_x[None, :].astype(np.int64), cell_y[:, None].astype(np.int64)
    draw = [hashed(*cells, seed + k) for k in range(5)]
    stem_x, stem_y = (cells[0] + draw[0]) * cell_m, (cells[1] + draw[1]) * cell_m
    column = np.floor((stem_x - canvas.west_m) / canvas.pixel_m).astype(np.int64)
    row = np.floor((canvas.north_m - stem_y) / canvas.pixel_m).astype(np.int64)
    grows = (column >= 0) & (column < canvas.width) & (row >= 0) & (row < canvas.height)
    grows[grows] = density[row[grows], column[grows]] > draw[3][grows]
    stem_x, stem_y = stem_x + lean_m[0], stem_y + lean_m[1]  # from here on, of the crowns' middles
    column = np.floor((stem_x - canvas.west_m) / canvas.pixel_m).astype(np.int64)
    row = np.floor((canvas.north_m - stem_y) / canvas.pixel_m).astype(np.int64)
    low_m, high_m = radius_m
    reciprocal = 1 / (low_m + (high_m - low_m) * draw[2][grows])

    # Each plant has a square of pixels that holds the largest crown; where crowns meet, the nearer stem's is seen.
    reach = int(np.ceil(1.3 * high_m / canvas.pixel_m))
    steps = np.arange(-reach, reach + 1)
    columns, rows = column[grows][:, None] + steps, row[grows][:, None] + steps
    east_m = (columns + 0.5) * canvas.pixel_m + canvas.west_m - stem_x[grows][:, None]
    north_m = canvas.north_m - (rows + 0.5) * canvas.pixel_m - stem_y[grows][:, None]
    dx, dy = ((away_m * reciprocal[:, None]).astype(np.float32) for away_m in (east_m, north_m))
    within = ((columns >= 0) & (columns < canvas.width))[:, None, :] & ((rows >= 0) & (rows < canvas.height))[
        :, :, None
    ]
    plant, down, right = np.nonzero(within & (dx[:, None, :] ** 2 + dy[:, :, None] ** 2 < 1.7))
    at = rows[plant, down] * canvas.width + columns[plant, right]
    east, north = dx[plant, right], dy[plant, down]
    distance = (east**2 + north**2) * (1 + np.float32(0.22) * ragged.ravel()[at])
    nearest = np.ones(canvas.height * canvas.width, dtype=np.float32)
    np.minimum.at(nearest, at, distance)
    seen = distance == nearest[at]
    # For the plant that is seen at each pixel: the position in its crown, and its own number.
    fields = [np.zeros_like(nearest) for _ in range(3)]
    for field, values in zip(fields, (east, north, draw[4][grows][plant])):
        field[at[seen]] = values[seen]
    return Grove(*(field.reshape(canvas.height, canvas.width) for field in (nearest < 1, *fields)))


def shaded_by(grove: Grove, shadow_px: np.ndarray, lean_px: np.ndarray) -> np.ndarray:
    """Return the shadow that crowns cast: (H, W) bool.

    From the foot of a plant `shadow_px` leads to the shadow of its crown's middle and `lean_px` to its crown as the
    camera sees it, east and north: (2,) float64, each.
    """
    shaded = np.zeros_like(grove.inside)
    height, width = shaded.shape
    for share in np.linspace(0.35, 1.0, max(3, int(np.hypot(*shadow_px) / 5))):
        east_px, north_px = share * shadow_px - lean_px
        right, down = round(east_px), round(-north_px)
        target = shaded[max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)]
        target |= grove.inside[max(-down, 0) : height + min(-down, 0), max(-right, 0) : width + min(-right, 0)]
    return shaded


def plant(
    scenery: Scenery, canvas: Canvas, cover: np.ndarray, verge: np.ndarray, bare: np.ndarray, texture: Texture
) -> tuple[Grove, Grove]:
    """Return trees and shrubs: denser in forests, along verges and in hedges.

    All are (H, W): int64 land cover (-1 for none) float32 urbanity of verges (0 elsewhere) and bool where nothing
    grows.
    """
    density = _DENSITY[cover]
    density = np.where(verge > 0, 0.25 + 0.3 * (texture(60.0, 1) > 0.3), density)
    density *= np.clip(1 + texture(35.0, 8) * np.where(cover == COVERS.index("forest"), 0.2, 1), 0.1, 3)
    density *= scenery.biome.trees
    hedge = canvas.burn(scenery.land.hedges) >= 0
    density = np.where(hedge, np.maximum(density, _HEDGE_TREES * scenery.biome.trees), density)
    density[bare] = 0
    scrub = 0.12 * scenery.biome.bare * np.clip(texture(35.0, 8), 0, 1)
    fray, seed, lean = texture(1.1, 6), scenery.look.seed, scenery.camera.lean
    trees = grow(canvas, density, 7.0, (2.0, 4.6), fray, seed + 11, TREE_HEIGHT_M * lean)
    density = 0.3 * density + (0.9 * hedge + scrub) * ~bare
    return trees, grow(canvas, density, 3.2, (0.7, 1.6), fray, seed + 23, SHRUB_HEIGHT_M * lean)


def paint_crowns(image: np.ndarray, grove: Grove, scenery: Scenery, texture: Texture) -> None:
    """Paint crowns as hemispheres, bright toward the sun, into a (4, H, W) float32 image."""
    look, palette = scenery.look, scenery.biome.palette
    (crown,), (autumn,) = palette["crown"], palette["autumn"]
    facing = grove.east * look.sun[0] + grove.north * look.sun[1]
    light = 0.95 + 0.38 * facing + 0.12 * texture(1.1, 6) + 0.25 * (grove.tint - 0.5)
    share = np.clip((0.25 + 0.6 * look.dryness) * grove.tint + 0.05 * texture(4.0), 0, 1)
    color = crown[:, None, None] + share * (autumn - crown)[:, None, None]
    # Two more numbers for each plant: whether its leaves have turned or gone, and to which color.
    has_turned, which = (grove.tint * np.float32(factor) % 1 for factor in (122, 183))
    turned = np.take(_TURNED.T, (which * len(_TURNED)).astype(np.intp), axis=1)
    np.copyto(color, turned, where=has_turned < look.turned)
    blend(image, (color * np.maximum(light, 0.35)).astype(np.float32), grove.inside)
