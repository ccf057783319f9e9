"""What the bytes of label, probability and mask rasters mean, and which reach a threshold.

Scope: constants, thresholds, conversion between probability and bytes. Independent of files.
"""

from __future__ import annotations

import math

import numpy as np

BACKGROUND, ROAD, IGNORE = 0, 1, 255
# Probability travels as a byte: 0 to 254 for 0 to 1, and 255 for no data.
CERTAIN, NO_DATA = 254, 255
# A threshold comes out of a byte, as k / 254, or was rounded to some decimals: it is to reach that byte all the same.
_ROUNDING = 1e-6


def to_byte(probability: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return probability as bytes, NO_DATA where nothing is known."""
    values = np.rint(probability * np.float32(CERTAIN)).astype(np.uint8)
    values[~known] = NO_DATA
    return values


def lowest_byte(threshold: float) -> int:
    """Return the lowest byte of probability, 0 to CERTAIN, that reaches a threshold."""
    return math.ceil((threshold - _ROUNDING) * CERTAIN)


def reaches(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Return which pixels reach a threshold: an array of the same shape, bool; those of no data never do.

    Parameters
    ----------
    probability : ndarray of any shape, uint8 or float32
        Bytes, where NO_DATA is no data, or numbers from 0 to 1, where NaN is.
    threshold : float
        Probability from which a pixel is road, up to rounding.
    """
    if probability.dtype == np.uint8:
        return (probability >= lowest_byte(threshold)) & (probability != NO_DATA)
    return probability >= threshold - _ROUNDING


def to_mask(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Return 1 where a byte of probability reaches the threshold, 0 where not, NO_DATA where there is no data.

    Of the same shape as the bytes, uint8.
    """
    mask = reaches(probability, threshold).astype(np.uint8)
    mask[probability == NO_DATA] = NO_DATA
    return mask
