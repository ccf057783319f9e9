"""What the bytes of label, probability and mask rasters mean.

Scope: constants and conversions between probability and bytes. Independent of files.
"""

from __future__ import annotations

import numpy as np

# Probability travels as a byte: 0 to 254 for 0 to 1, and 255 for no data.
CERTAIN, NO_DATA = 254, 255


def to_byte(probability: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return probability as bytes, NO_DATA where nothing is known."""
    values = np.rint(probability * np.float32(CERTAIN)).astype(np.uint8)
    values[~known] = NO_DATA
    return values


def to_mask(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Return 1 where a byte of probability reaches the threshold, 0 where not, NO_DATA where there is none."""
    mask = (probability >= threshold * CERTAIN).astype(np.uint8)
    mask[probability == NO_DATA] = NO_DATA
    return mask


BACKGROUND, ROAD, IGNORE = 0, 1, 255
