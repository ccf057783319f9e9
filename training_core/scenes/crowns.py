"""Crowns of trees, palms and shrubs as pixels, scattered or in rows, and the shadows they cast.

Scope: where crowns are. Independent of what grows where, and of colors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .picture import Canvas, hashed

_NOTCH = 0.6  # depth of the gaps between fronds
_OFF_ROW = 0.14  # how far plants in rows stand from their places, as a fraction of those elsewhere


@dataclass(frozen=True)
class Grove:
    """The (H, W) crowns in a view: bool where they are, float32 positions in them from -1 to 1.

    The float32 `tint` is the plant's own number in [0, 1).
    """

    inside: np.ndarray
    east: np.ndarray
    north: np.ndarray
    tint: np.ndarray


@dataclass(frozen=True)
class Planting:
    """How plants of one size stand.

    Cells have a side of `cell_m`, the mean distance of plants where all grow, and are turned by `angle` in radians.
    `radius_m` is the least and greatest of a crown, which is a star where it has `fronds`.
    """

    cell_m: float
    radius_m: tuple[float, float]
    angle: float = 0.0
    fronds: int = 0


def grow(
    canvas: Canvas,
    density: np.ndarray,
    planting: Planting,
    ragged: np.ndarray,
    seed: int,
    lean_m: np.ndarray,
    in_rows: np.ndarray | None = None,
) -> Grove:
    """Return the crowns of plants.

    The (H, W) float32 `density` is the chance that a cell whose plant would have its stem at a pixel has one. The (H,
    W) float32 noise `ragged`, of deviation 1, frays the crowns' outline. Crowns are offset by the (2,) float64 `lean_m`
    (east, north) from their stems' feet. Plants stand in rows where the (H, W) bool `in_rows` says so.
    """
    # A stem at a random place in each cell; it grows where the density at its place exceeds a random number.
    across, along = np.sin(planting.angle), np.cos(planting.angle)
    turn = np.array([[along, -across], [across, along]])
    corners = np.stack(np.meshgrid(canvas.x[[0, -1]], canvas.y[[0, -1]]), axis=-1).reshape(-1, 2) @ turn
    first, last = (np.floor(edge(corners, axis=0) / planting.cell_m).astype(np.int64) for edge in (np.min, np.max))
    cells = np.arange(first[0], last[0] + 1)[None, :], np.arange(first[1], last[1] + 1)[:, None]
    draw = [hashed(*cells, seed + k) for k in range(5)]

    def stems(spread: np.ndarray | float) -> np.ndarray:
        x, y = (cells[k] + 0.5 + spread * (draw[k] - 0.5) for k in range(2))
        x = x + (0.5 * (cells[1] % 2) if planting.fronds else 0)  # palms stand in triangles
        return np.tensordot(turn, np.stack([x, y]) * planting.cell_m, axes=1)

    stem_x, stem_y = stems(1.0)
    if in_rows is not None:
        column, row = canvas.pixels_of(*stems(0.0))
        is_in_row = canvas.holds(column, row)
        is_in_row[is_in_row] = in_rows[row[is_in_row], column[is_in_row]]
        stem_x, stem_y = stems(np.where(is_in_row, _OFF_ROW, 1.0))
    column, row = canvas.pixels_of(stem_x, stem_y)
    grows = canvas.holds(column, row)
    grows[grows] = density[row[grows], column[grows]] > draw[3][grows]
    stem_x, stem_y = stem_x + lean_m[0], stem_y + lean_m[1]  # from here on, of the crowns' middles
    column, row = canvas.pixels_of(stem_x, stem_y)
    low_m, high_m = planting.radius_m
    reciprocal = 1 / (low_m + (high_m - low_m) * draw[2][grows])

    # Each plant has a square of pixels that holds the largest crown; where crowns meet, the nearer stem's is seen.
    reach = int(np.ceil(1.3 * high_m / canvas.pixel_m))
    steps = np.arange(-reach, reach + 1)
    columns, rows = column[grows][:, None] + steps, row[grows][:, None] + steps
    east_m = (columns + 0.5) * canvas.pixel_m + canvas.west_m - stem_x[grows][:, None]
    north_m = canvas.north_m - (rows + 0.5) * canvas.pixel_m - stem_y[grows][:, None]
    dx, dy = ((away_m * reciprocal[:, None]).astype(np.float32) for away_m in (east_m, north_m))
    within = canvas.holds(columns[:, None, :], rows[:, :, None])
    plant, down, right = np.nonzero(within & (dx[:, None, :] ** 2 + dy[:, :, None] ** 2 < 1.7))
    at = rows[plant, down] * canvas.width + columns[plant, right]
    east, north = dx[plant, right], dy[plant, down]
    distance = (east**2 + north**2) * (1 + np.float32(0.22) * ragged.ravel()[at])
    if planting.fronds:
        turned = 2 * np.pi * draw[4][grows][plant]
        distance *= 1 + np.float32(_NOTCH) * np.cos(planting.fronds * np.arctan2(north, east) + turned)
    nearest = np.ones(canvas.height * canvas.width, dtype=np.float32)
    np.minimum.at(nearest, at, distance)
    seen = distance == nearest[at]
    # The position in the crown, and the number, of the plant that is seen at each pixel.
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
