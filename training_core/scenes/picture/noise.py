"""Lattice noise: random numbers that depend on place and seed only, so that pictures painted in tiles have no seams.

Scope: hashing of lattice points and their interpolation. Independent of the textures made of it.
"""

from __future__ import annotations

import numpy as np

# Standard deviation of a uniform lattice in [0, 1) after interpolation by cubic B-splines, averaged over places.
_SPLINE_DEVIATION = 0.1384


def hashed(x: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Return a number in [0, 1) for each pair of integers, (...) int8 to int64, that broadcast: (...) float32.

    The bits are mixed by the finalizer of MurmurHash3 (Appleby 2011).
    """
    key = np.uint32(seed * 0x27D4EB2F % 2**32)
    bits = (x.astype(np.int64) * 0x85EBCA77 % 2**32).astype(np.uint32) ^ key
    bits = bits + (y.astype(np.int64) * 0xC2B2AE3D % 2**32).astype(np.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        bits ^= bits >> np.uint32(shift)
        bits *= np.uint32(factor)
    bits ^= bits >> np.uint32(16)
    return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)


def smooth_noise(x: np.ndarray, y: np.ndarray, scale_m: float, seed: int) -> np.ndarray:
    """Return smooth noise of mean 0 and standard deviation 1: (H, W) float32.

    Columns (W,) and rows (H,) are float64 in meters. The spacing of the random lattice `scale_m` is about the size of
    the blobs.
    """
    (columns, column_weights), (rows, row_weights) = _spline(x / scale_m), _spline(y / scale_m)
    lattice_x = np.arange(columns[0], columns[-1] + 4)
    lattice_y = np.arange(rows.min(), rows.max() + 4)
    lattice = hashed(lattice_x[None, :], lattice_y[:, None], seed) - np.float32(0.5)
    rows, columns = rows - lattice_y[0], columns - lattice_x[0]
    lines = sum(row_weights[tap][:, None] * lattice[rows + tap] for tap in range(4))
    values = sum(column_weights[tap] * lines[:, columns + tap] for tap in range(4))
    return values / np.float32(_SPLINE_DEVIATION)


def fractal_noise(x: np.ndarray, y: np.ndarray, scale_m: float, seed: int, octaves: int = 3) -> np.ndarray:
    """Return fractal noise: smooth noise at `scale_m` and its halves, each half as strong, of standard deviation 1.

    The shapes and units are those of `smooth_noise`: (H, W) float32, from (W,) and (H,) float64.
    """
    strengths = 0.5 ** np.arange(octaves, dtype=np.float32)
    layers = (smooth_noise(x, y, scale_m * s, seed + 101 * k) * s for k, s in enumerate(strengths))
    return sum(layers) / np.float32(np.hypot.reduce(strengths))


def _spline(positions: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the first of the four lattice points around each position, and the cubic B-spline weights of the four."""
    base = np.floor(positions)
    t = (positions - base).astype(np.float32)
    weights = [(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3]
    return base.astype(np.int64) - 1, [weight / 6 for weight in weights]
