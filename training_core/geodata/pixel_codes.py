"""What the bytes of label, probability and mask rasters mean, and which reach a threshold.

Scope: constants, thresholds, conversion between probability and bytes. Independent of files.
"""

from __future__ import annotations

import math

import numpy as np

BACKGROUND, ROAD, IGNORE = 0, 1, 255
# Probability is stored as a byte: 0 to 254 for 0 to 1, and 255 for no data.
CERTAIN, NO_DATA = 254, 255
# A threshold may stand for a byte k, as k / 254 rounded to a few decimals: then byte k reaches it.
_ROUNDING = 1e-6


def to_byte(probability: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Convert probability to bytes.

    Parameters
    ----------
    probability : ndarray of any shape (height, width), float32
        From 0 to 1.
    known : ndarray of the same shape (height, width), bool
        Where there are data.

    Returns
    -------
    ndarray (height, width), uint8
        0 to CERTAIN for 0 to 1; NO_DATA where there are no data.
    """
    values = np.rint(probability * np.float32(CERTAIN)).astype(np.uint8)
    values[~known] = NO_DATA
    return values


def lowest_byte(threshold: float) -> int:
    """Return the lowest byte of probability, 0 to CERTAIN, that reaches a threshold."""
    return math.ceil((threshold - _ROUNDING) * CERTAIN)


def reaches(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Return which pixels reach a threshold; pixels without data never do.

    Parameters
    ----------
    probability : ndarray of any shape (height, width), uint8 or float32
        Bytes with NO_DATA, or numbers from 0 to 1 with NaN for no data.
    threshold : float
        Probability from which a pixel is road, up to rounding.

    Returns
    -------
    ndarray (height, width), bool
    """
    if probability.dtype == np.uint8:
        return (probability >= lowest_byte(threshold)) & (probability != NO_DATA)
    return probability >= threshold - _ROUNDING


def to_mask(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Convert probability to a mask.

    Parameters
    ----------
    probability : ndarray of any shape (height, width), uint8
        See `to_byte`.
    threshold : float
        Probability from which a pixel is road.

    Returns
    -------
    ndarray (height, width), uint8
        ROAD where the threshold is reached, else BACKGROUND; NO_DATA where there are no data.
    """
    mask = reaches(probability, threshold).astype(np.uint8)
    mask[probability == NO_DATA] = NO_DATA
    return mask
