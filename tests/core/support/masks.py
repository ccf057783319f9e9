"""Random masks, and their topology."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

EIGHT_NEIGHBORS = np.ones((3, 3), dtype=bool)
_SIDES = st.integers(1, 24)
SHAPES = st.tuples(_SIDES, _SIDES)
MASKS = SHAPES.flatmap(lambda shape: arrays(bool, shape))


def topology(mask):
    """Components and holes, counted on the image."""
    padded = np.pad(mask, 1)
    return ndimage.label(padded, EIGHT_NEIGHBORS)[1], ndimage.label(~padded)[1] - 1
