"""A railway as it looks from above: ballast, and two bright lines.

Scope: colors and their opacity. Independent of where the railway runs.
"""

from __future__ import annotations

import numpy as np

from .spectrum import spectra
from .view import Texture

_BALLAST, _RAIL = spectra((0.47, 0.44, 0.41), (0.66, 0.64, 0.63))
_RAIL_WIDTH_M = 0.17  # with its foot and its glint


def bed_layer(bed: np.ndarray, texture: Texture) -> tuple[np.ndarray, np.ndarray]:
    """Return the (4, H, W) color of ballast and how thick it lies where `bed`, (H, W) bool, is true."""
    stones = 1 + 0.05 * texture(1.1, 10) + 0.05 * texture(12.0, 10) + 0.04 * texture(60.0, 10)
    return _BALLAST[:, None, None] * stones, bed * np.clip(0.92 + 0.08 * texture(4.0, 10), 0.6, 1)


def rail_layer(rails: np.ndarray, pixel_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the (4,) color of rails and how thick it lies on the pixels that they run through, (H, W) bool."""
    return _RAIL, rails * np.float32(min(1.0, _RAIL_WIDTH_M / pixel_m))
