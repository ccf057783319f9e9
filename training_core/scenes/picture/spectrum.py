"""Colors in four bands: near infrared derived from red, green and blue.

Scope: vegetation reflects near infrared strongly, water absorbs it, everything else is about as bright in it as in red.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from ..plan.biomes import Palette
from .noise import hashed

_LEAVES = {"covers", "crops", "gardens", "fence", "dry", "rut", "bank", "crown", "autumn"}
_WATER_SHARE = 0.55


def spectra(*colors: tuple[float, float, float], leaves: bool = False) -> np.ndarray:
    """Return colors with near infrared, 0 to 1: (N, 4), float32; `leaves` are bright in it, the greener the more."""
    red, green, blue = np.array(colors, dtype=np.float32).T
    greenness = np.clip((2 * green - red - blue) / (red + green + blue) / 0.15, 0, 1) * leaves
    infrared = red + greenness * np.maximum(0.42 + 0.5 * green - red, 0)
    return np.stack([red, green, blue, infrared], axis=1).astype(np.float32)


def of_palette(palette: Palette) -> Palette:
    """Return a palette of (N, 3) colors as one of (N, 4)."""
    bands = {each.name: spectra(*getattr(palette, each.name), leaves=each.name in _LEAVES) for each in fields(palette)}
    bands["water"][:, 3] *= _WATER_SHARE
    return Palette(**bands)


def pick(colors: np.ndarray, number: np.ndarray, seed: int) -> np.ndarray:
    """Return one of some colors for each number.

    Parameters
    ----------
    colors : ndarray (N, 4), float32
    number : ndarray (...), int32 or int64
        The same number and seed give the same color.

    Returns
    -------
    ndarray (4, ...), float32
    """
    choice = (hashed(number, np.zeros(1, dtype=np.int64), seed) * len(colors)).astype(np.intp)
    return np.take(colors.T, choice, axis=1)
