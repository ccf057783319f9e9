"""The eight symmetries of the square, as views of arrays: four turns, and four of the mirror image."""

from __future__ import annotations

import numpy as np

ALL = tuple(range(8))


def turned(array: np.ndarray, symmetry: int) -> np.ndarray:
    """Return a view of an array, turned and mirrored along its last two axes; symmetry 0 leaves it as it is."""
    mirrored = array[..., ::-1] if symmetry >= 4 else array
    return np.rot90(mirrored, symmetry % 4, axes=(-2, -1))


def turned_back(array: np.ndarray, symmetry: int) -> np.ndarray:
    """Return the view of which this array is `turned`."""
    upright = np.rot90(array, -(symmetry % 4), axes=(-2, -1))
    return upright[..., ::-1] if symmetry >= 4 else upright
