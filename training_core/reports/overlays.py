"""Overlays of labels and predictions on an image, as PNG: true positives, false negatives, false positives.

Scope: arrays of pixels and colors. Independent of where they come from.
"""

from __future__ import annotations

import io

import numpy as np

from ..geodata.pixel_codes import IGNORE, ROAD
from .colors import FAINT, GREEN, PURPLE, VERMILION, YELLOW, rgb

LABEL_COLOR, HIT_COLOR, MISS_COLOR, FALSE_ALARM_COLOR, UNKNOWN_COLOR = YELLOW, GREEN, VERMILION, PURPLE, FAINT
_DIMMED, _HATCH_PX = 0.6, 9


def label_overlay(image: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return an image with its labels: road tinted, and ignored pixels dimmed and hatched.

    Parameters
    ----------
    image : ndarray (height, width, 3), uint8
    truth : ndarray (height, width), uint8
        0 background, 1 road, 255 ignored.

    Returns
    -------
    ndarray (height, width, 3), uint8
    """
    picture = _dimmed(image, truth == IGNORE)
    return _tinted(picture, truth == ROAD, LABEL_COLOR, 0.6)


def prediction_overlay(image: np.ndarray, truth: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return an image with true positives, false negatives and false positives, and predictions on ignored pixels.

    Parameters
    ----------
    image : ndarray (height, width, 3), uint8
    truth : ndarray (height, width), uint8
        As for `label_overlay`.
    mask : ndarray (height, width), bool
        Predicted road.

    Returns
    -------
    ndarray (height, width, 3), uint8
    """
    is_road, ignored = truth == ROAD, truth == IGNORE
    picture = _dimmed(image, ignored)
    picture = _tinted(picture, mask & ignored, UNKNOWN_COLOR, 0.45)
    picture = _tinted(picture, mask & is_road, HIT_COLOR, 0.7)
    picture = _tinted(picture, ~mask & is_road, MISS_COLOR, 0.75)
    return _tinted(picture, mask & ~is_road & ~ignored, FALSE_ALARM_COLOR, 0.75)


def reduced(pixels: np.ndarray, largest_px: int) -> np.ndarray:
    """Return every n-th row and column of pixels, (height, width, ...), any dtype; no side exceeds `largest_px`."""
    step = max(1, -(-max(pixels.shape[:2]) // largest_px))
    return pixels[::step, ::step]


def png(picture: np.ndarray) -> bytes:
    """Return a (height, width, 3) uint8 picture as a PNG file."""
    from matplotlib.image import imsave  # takes half a second to load, and only reports need it

    file = io.BytesIO()
    imsave(file, np.ascontiguousarray(picture), format="png")
    return file.getvalue()


def _tinted(image: np.ndarray, where: np.ndarray, color: str, strength: float) -> np.ndarray:
    picture = image.copy()
    picture[where] = np.rint(image[where] * (1 - strength) + np.array(rgb(color)) * strength).astype(np.uint8)
    return picture


def _dimmed(image: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the image dimmed, desaturated and hatched where it is ignored."""
    row, column = np.indices(where.shape, sparse=True)
    light = np.where((row + column) % _HATCH_PX == 0, 0.95, _DIMMED)[..., None]
    gray = 0.6 * image.mean(axis=2, keepdims=True) + 0.4 * image
    return np.where(where[..., None], np.rint(gray * light), image).astype(np.uint8)
