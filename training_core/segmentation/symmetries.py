"""Test-time augmentation: the eight symmetries of the square (dihedral group), as views of arrays.

Scope: arrays. Independent of models.
"""

from __future__ import annotations

import numpy as np

ALL = tuple(range(8))


def turned(array: np.ndarray, symmetry: int) -> np.ndarray:
    """Return a view of an array, rotated and flipped along its last two axes; symmetry 0 is the identity.

    Parameters
    ----------
    array : ndarray (..., height, width), any dtype
    symmetry : int
        0 to 3 rotate by so many quarter turns, 4 to 7 flip first.

    Returns
    -------
    ndarray (..., height, width) or (..., width, height), same dtype
    """
    mirrored = array[..., ::-1] if symmetry >= 4 else array
    return np.rot90(mirrored, symmetry % 4, axes=(-2, -1))


def turned_back(array: np.ndarray, symmetry: int) -> np.ndarray:
    """Return the view that `turned` turned into this array.

    Parameters
    ----------
    array : ndarray (..., height, width), any dtype
    symmetry : int
        As for `turned`.

    Returns
    -------
    ndarray (..., height, width) or (..., width, height), same dtype
    """
    upright = np.rot90(array, -(symmetry % 4), axes=(-2, -1))
    return upright[..., ::-1] if symmetry >= 4 else upright
