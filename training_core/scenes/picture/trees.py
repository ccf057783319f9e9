"""Trees and shrubs: where crowns are, and how light falls on them.

Scope: one plant a cell of a lattice, displaced at random within it. Independent of colors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .noise import hashed
from .view import View


@dataclass(frozen=True)
class Grove:
    """The crowns in a view.

    Parameters
    ----------
    inside : (H, W) bool ndarray
        Whether a pixel is in a crown.
    east, north : (H, W) float32 ndarray
        Position in the crown, from -1 to 1.
    tint : (H, W) float32 ndarray
        The plant's own number in [0, 1).
    """

    inside: np.ndarray
    east: np.ndarray
    north: np.ndarray
    tint: np.ndarray


def grow(
    view: View,
    density: np.ndarray,
    cell_m: float,
    radius_m: tuple[float, float],
    ragged: np.ndarray,
    seed: int,
    lean_m: np.ndarray,
) -> Grove:
    """Return the crowns of plants of one size.

    Parameters
    ----------
    view : View
        Its pixels.
    density : ndarray (H, W), float32
        Chance, from 0 to 1, that a cell whose plant would have its stem at a pixel has one.
    cell_m : float
        Size of the cells, the mean distance of plants where all grow.
    radius_m : tuple of float
        Least and greatest radius of a crown.
    ragged : ndarray (H, W), float32
        Noise of deviation 1 that frays the crowns' outline.
    seed : int
        Gives other plants.
    lean_m : ndarray (2,), float64
        How far, as (east, north), crowns are seen from their stems' feet.
    """
    cell_x, cell_y = (np.arange(np.floor(a.min() / cell_m), np.floor(a.max() / cell_m) + 1) for a in (view.x, view.y))
    cells = cell_x[None, :].astype(np.int64), cell_y[:, None].astype(np.int64)
    draw = [hashed(*cells, seed + k) for k in range(5)]
    stem_x, stem_y = (cells[0] + draw[0]) * cell_m, (cells[1] + draw[1]) * cell_m
    column = np.floor((stem_x - view.west_m) / view.pixel_m).astype(np.int64)
    row = np.floor((view.north_m - stem_y) / view.pixel_m).astype(np.int64)
    grows = (column >= 0) & (column < view.width) & (row >= 0) & (row < view.height)
    grows[grows] = density[row[grows], column[grows]] > draw[3][grows]
    stem_x, stem_y = stem_x + lean_m[0], stem_y + lean_m[1]  # from here on, of the crowns' middles
    column = np.floor((stem_x - view.west_m) / view.pixel_m).astype(np.int64)
    row = np.floor((view.north_m - stem_y) / view.pixel_m).astype(np.int64)
    low_m, high_m = radius_m
    reciprocal = 1 / (low_m + (high_m - low_m) * draw[2][grows])

    # Each plant has a square of pixels that holds the largest crown; where crowns meet, the nearer stem's is seen.
    reach = int(np.ceil(1.3 * high_m / view.pixel_m))
    steps = np.arange(-reach, reach + 1)
    columns, rows = column[grows][:, None] + steps, row[grows][:, None] + steps
    dx = (((columns + 0.5) * view.pixel_m + view.west_m - stem_x[grows][:, None]) * reciprocal[:, None]).astype(
        np.float32
    )
    dy = ((view.north_m - (rows + 0.5) * view.pixel_m - stem_y[grows][:, None]) * reciprocal[:, None]).astype(
        np.float32
    )
    within = ((columns >= 0) & (columns < view.width))[:, None, :] & ((rows >= 0) & (rows < view.height))[:, :, None]
    plant, down, right = np.nonzero(within & (dx[:, None, :] ** 2 + dy[:, :, None] ** 2 < 1.7))
    at = rows[plant, down] * view.width + columns[plant, right]
    east, north = dx[plant, right], dy[plant, down]
    distance = (east**2 + north**2) * (1 + np.float32(0.22) * ragged.ravel()[at])
    nearest = np.ones(view.height * view.width, dtype=np.float32)
    np.minimum.at(nearest, at, distance)
    seen = distance == nearest[at]
    fields = [np.zeros_like(nearest) for _ in range(3)]
    for field, values in zip(fields, (east, north, draw[4][grows][plant])):
        field[at[seen]] = values[seen]
    return Grove(*(field.reshape(view.height, view.width) for field in (nearest < 1, *fields)))


def shaded_by(grove: Grove, shadow_px: np.ndarray, lean_px: np.ndarray) -> np.ndarray:
    """Return the shadow that crowns cast.

    Parameters
    ----------
    shadow_px : ndarray (2,), float64
        From the foot of a plant to the shadow of its crown's middle, east and north.
    lean_px : ndarray (2,), float64
        From the foot of a plant to its crown as the camera sees it, east and north.

    Returns
    -------
    ndarray (H, W), bool
    """
    shaded = np.zeros_like(grove.inside)
    height, width = shaded.shape
    for share in np.linspace(0.35, 1.0, max(3, int(np.hypot(*shadow_px) / 5))):
        east_px, north_px = share * shadow_px - lean_px
        right, down = round(east_px), round(-north_px)
        target = shaded[max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)]
        target |= grove.inside[max(-down, 0) : height + min(-down, 0), max(-right, 0) : width + min(-right, 0)]
    return shaded
