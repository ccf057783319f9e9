"""What all layers of a picture share: its pixels on the ground, sun and season, textures, and colors in four bands.

Scope: pixels, light and noise. Independent of the picture's subject. Noise on a lattice depends on place and seed only,
so that pictures painted in tiles have no seams.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields
from functools import cached_property

import geopandas as gpd
import numpy as np
from affine import Affine
from rasterio.features import rasterize
from shapely.geometry import box

from ..plan.biomes import Palette, colors

_ONE_AT_A_TIME = threading.Lock()  # rasterize silences a warning for the whole process while it works
# Ranges of dryness, turned and bare in spring, summer, autumn and winter.
_SEASONS = (
    ((0.0, 0.2), (0.0, 0.0), (0.0, 0.35)),
    ((0.0, 0.9), (0.0, 0.05), (0.0, 0.0)),
    ((0.2, 0.8), (0.2, 0.8), (0.05, 0.4)),
    ((0.5, 1.0), (0.0, 0.1), (0.6, 0.95)),
)
_ARID_SHARE = 0.25
_LEAVES = {"covers", "crops", "gardens", "fence", "dry", "rut", "bank", "crown", "autumn"}
_WATER_INFRARED = 0.55  # of what something else of that color would reflect


@dataclass(frozen=True)
class Look:
    """The day: where the sun stands, and what the season and the climate have made of all that grows.

    The (2,) vector `sun` points toward it as (east, north) with length 1. `sun_altitude` is radians above the horizon.
    `dryness` of grass is 0 if lush and 1 in late summer. `aridity` is 1 in a desert. `turned` and `bare` are fractions
    of trees in autumn's colors and without leaves.
    """

    seed: int
    sun: np.ndarray
    sun_altitude: float
    dryness: float
    turned: float = 0.0
    bare: float = 0.0
    aridity: float = 0.0

    @classmethod
    def fair(cls, rng: np.random.Generator) -> "Look":
        """Return a summer day's hours around noon on the northern hemisphere."""
        azimuth = np.radians(rng.uniform(110, 250))
        return cls(
            seed=int(rng.integers(2**31)),
            sun=np.array([np.sin(azimuth), np.cos(azimuth)]),
            sun_altitude=float(np.radians(rng.uniform(38, 58))),
            dryness=float(rng.uniform(0, 0.7)),
        )

    @classmethod
    def varied(cls, rng: np.random.Generator) -> "Look":
        """Return any season's day on either hemisphere, now and then in a dry country."""
        azimuth = rng.choice([0, np.pi]) + np.radians(rng.uniform(-70, 70))
        dryness, turned, bare = _SEASONS[rng.integers(len(_SEASONS))]
        return cls(
            seed=int(rng.integers(2**31)),
            sun=np.array([np.sin(azimuth), np.cos(azimuth)]),
            sun_altitude=float(np.radians(rng.uniform(25, 70))),
            dryness=float(rng.uniform(*dryness)),
            turned=float(rng.uniform(*turned)),
            bare=float(rng.uniform(*bare)),
            aridity=float(rng.uniform(0.6, 1.0)) if rng.random() < _ARID_SHARE else 0.0,
        )

    def shadow_m(self, height_m: float | np.ndarray) -> np.ndarray:
        """Return the vectors, (..., 2) float64, from the feet of things (...) high to the tips of their shadows."""
        return -self.sun * np.expand_dims(height_m, -1) / np.tan(self.sun_altitude)


@dataclass(frozen=True)
class View:
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

    @property
    def transform(self) -> Affine:
        """From (column, row) of pixel corners to meters."""
        return Affine(self.pixel_m, 0, self.west_m, 0, -self.pixel_m, self.north_m)

    def burn(self, table: gpd.GeoDataFrame) -> np.ndarray:
        """Return an (H, W) int32 array of row numbers of a table, -1 where none of its shapes lies; later rows win."""
        reach = box(self.x[0], self.y[-1], self.x[-1], self.y[0]).buffer(self.pixel_m)
        rows = np.sort(table.sindex.query(reach))
        burned = np.full((self.height, self.width), -1, dtype=np.int32)
        if len(rows):
            with _ONE_AT_A_TIME:
                rasterize(zip(table.geometry.to_numpy()[rows], rows), out=burned, transform=self.transform)
        return burned


class Texture:
    """Noise over a view, each kind made when first asked for."""

    def __init__(self, view: View, seed: int) -> None:
        self._view, self._seed = view, seed
        self._made: dict[tuple[float, int], np.ndarray] = {}

    def __call__(self, scale_m: float, layer: int = 0) -> np.ndarray:
        """Return (H, W) float32 noise of deviation 1 with blobs of about `scale_m`; another `layer` is unrelated."""
        if (scale_m, layer) not in self._made:
            octaves = 3 if scale_m >= 8 else 1
            seed = self._seed + 7919 * layer + round(97 * scale_m)
            self._made[scale_m, layer] = fractal_noise(self._view.x, self._view.y, scale_m, seed, octaves)
        return self._made[scale_m, layer]


def spectra(text: str, leaves: bool = False) -> np.ndarray:
    """Return colors with near infrared: (N, 4) float32; see `biomes.colors` and `with_infrared`."""
    return with_infrared(colors(text), leaves)


def with_infrared(rgb: np.ndarray, leaves: bool) -> np.ndarray:
    """Return (N, 4) float32 colors: (N, 3) float32 ones with near infrared, bright for leaves the greener they are."""
    red, green, blue = rgb.T
    greenness = np.clip((2 * green - red - blue) / (red + green + blue) / 0.15, 0, 1) * leaves
    infrared = red + greenness * np.maximum(0.42 + 0.5 * green - red, 0)
    return np.stack([red, green, blue, infrared], axis=1).astype(np.float32)


def of_palette(palette: Palette) -> Palette:
    """Return a palette of (N, 3) colors as one of (N, 4)."""
    bands = {
        field.name: with_infrared(getattr(palette, field.name), field.name in _LEAVES) for field in fields(palette)
    }
    bands["water"][:, 3] *= _WATER_INFRARED
    return Palette(**bands)


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
