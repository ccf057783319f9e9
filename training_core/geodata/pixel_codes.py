"""Pixel codes: what the bytes of label, probability and mask rasters mean, and which reach a threshold.

Scope: constants, thresholds, conversion between probability and bytes. Independent of files.
"""

from __future__ import annotations

import math

import numpy as np

BACKGROUND, ROAD, IGNORE = 0, 1, 255
# Probability is stored as a byte: 0 to 254 for 0 to 1, and 255 for no data.
CERTAIN, NO_DATA = 254, 255
# Names of the bands of these rasters, by which they are told from images.
MASK_BAND, PROBABILITY_BAND, CLASSES_BAND = "road", "road probability", "road class"
# A threshold may be k / 254 rounded to a few decimals, and byte k must reach it.
_ROUNDING = 1e-6


def to_byte(probability: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Convert (...) float32 probability from 0 to 1 to bytes from 0 to CERTAIN: (...) uint8.

    NO_DATA where the (...) bool `known` is False.
    """
    values = np.rint(probability * np.float32(CERTAIN)).astype(np.uint8)
    values[~known] = NO_DATA
    return values


def lowest_byte(threshold: float) -> int:
    """Return the lowest byte of probability, 0 to CERTAIN, that reaches a threshold."""
    return math.ceil((threshold - _ROUNDING) * CERTAIN)


def reaches(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Return which pixels reach a threshold, up to rounding: (...) bool; pixels without data never do.

    Probability is uint8 bytes with NO_DATA or float32 numbers from 0 to 1 with NaN for no data.
    """
    if probability.dtype == np.uint8:
        return (probability >= lowest_byte(threshold)) & (probability != NO_DATA)
    return probability >= threshold - _ROUNDING


def to_mask(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Convert probability bytes, (...) uint8, to a mask with a threshold from 0 to 1: (...) uint8."""
    mask = reaches(probability, threshold).astype(np.uint8)
    mask[probability == NO_DATA] = NO_DATA
    return mask
