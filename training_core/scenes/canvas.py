"""What all layers of a picture share: its pixels on the ground, textures, and how colors are laid over each other.

Scope: pixels and noise. Independent of the picture's subject. Noise on a lattice depends on place and seed only, so
that pictures painted in tiles have no seams.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property

import geopandas as gpd
import numpy as np
from affine import Affine
from rasterio.features import rasterize
from scipy.interpolate import BSpline
from scipy.sparse import csr_array
from shapely.geometry import box

_ONE_AT_A_TIME = threading.Lock()  # rasterize silences a warning for the whole process while it works
# Standard deviation of a uniform lattice in [0, 1) after interpolation by cubic B-splines, averaged over places.
_SPLINE_DEVIATION = 0.1384


@dataclass(frozen=True)
class Canvas:
    """A part of the scene as pixels, row 0 at the north, with the scene's south-west corner as origin."""

    west_m: float
    north_m: float
    width: int
    height: int
    pixel_m: float

    @cached_property
    def x(self) -> np.ndarray:
        """(W,) float64 positions of the columns' centers in meters."""
        return self.west_m + (np.arange(self.width) + 0.5) * self.pixel_m

    @cached_property
    def y(self) -> np.ndarray:
        """(H,) float64 positions of the rows' centers in meters, falling."""
        return self.north_m - (np.arange(self.height) + 0.5) * self.pixel_m

    def burn(self, table: gpd.GeoDataFrame) -> np.ndarray:
        """Return an (H, W) int32 array of row numbers of a table, -1 where none of its shapes lies; later rows win."""
        reach = box(self.x[0], self.y[-1], self.x[-1], self.y[0]).buffer(self.pixel_m)
        rows = np.sort(table.sindex.query(reach))
        burned = np.full((self.height, self.width), -1, dtype=np.int32)
        transform = Affine(self.pixel_m, 0, self.west_m, 0, -self.pixel_m, self.north_m)
        if len(rows):
            with _ONE_AT_A_TIME:
                rasterize(zip(table.geometry.to_numpy()[rows], rows), out=burned, transform=transform)
        return burned


class Texture:
    """Noise over a canvas, each kind made when first asked for."""

    def __init__(self, canvas: Canvas, seed: int) -> None:
        self._canvas, self._seed = canvas, seed
        self._made: dict[tuple[float, int], np.ndarray] = {}

    def __call__(self, scale_m: float, layer: int = 0) -> np.ndarray:
        """Return (H, W) float32 noise of deviation 1 with blobs of about `scale_m`; another `layer` is unrelated.

        It is fractal where it is coarse: noise at the scale and its halves, each half as strong.
        """
        if (scale_m, layer) not in self._made:
            strengths = 0.5 ** np.arange(3 if scale_m >= 8 else 1, dtype=np.float32)
            seed, (x, y) = self._seed + 7919 * layer + round(97 * scale_m), (self._canvas.x, self._canvas.y)
            octaves = (smooth_noise(x, y, scale_m * s, seed + 101 * k) * s for k, s in enumerate(strengths))
            self._made[scale_m, layer] = sum(octaves) / np.float32(np.hypot.reduce(strengths))
        return self._made[scale_m, layer]


def pick(choices: np.ndarray, number: np.ndarray, seed: int) -> np.ndarray:
    """Return one of (N, 4) float32 choices for each number, (...) int64, by a hash: (4, ...) float32."""
    choice = (hashed(number, np.zeros(1, dtype=np.int64), seed) * len(choices)).astype(np.intp)
    return np.take(choices.T, choice, axis=1)


def blend(image: np.ndarray, color: np.ndarray, alpha: np.ndarray) -> None:
    """Lay a (4,) or (4, H, W) color over a (4, H, W) image with an (H, W) opacity from 0 to 1; all float32."""
    at = np.flatnonzero(alpha)
    below = image.reshape(len(image), -1)
    above = color[:, None] if color.ndim == 1 else color.reshape(len(color), -1)[:, at]
    below[:, at] += alpha.ravel()[at].astype(np.float32) * (above - below[:, at])


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
    the blobs. The lattice is interpolated by a cubic B-spline, first along columns, then along rows.
    """
    (columns, across), (rows, down) = _spline(x / scale_m), _spline(y / scale_m)
    lattice = hashed(columns[None, :], rows[:, None], seed) - np.float32(0.5)
    return (across @ (down @ lattice).T).T / np.float32(_SPLINE_DEVIATION)


def _spline(positions: np.ndarray) -> tuple[np.ndarray, csr_array]:
    """Return the (N,) int64 lattice points around positions, (P,), and their weights there, (P, N) float32."""
    first, last = int(np.floor(positions.min())) - 1, int(np.floor(positions.max())) + 2
    weights = BSpline.design_matrix(positions, np.arange(first - 2, last + 3, dtype=float), 3)
    return np.arange(first, last + 1), weights.astype(np.float32)
