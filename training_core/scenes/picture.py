"""A picture's pixels on the ground and their noise, the day, and the camera: what all of a scene's layers share.

Scope: four bands of light (red, green, blue, near infrared) from black at 0 to white at 1. Independent of their
subject. Noise on a lattice depends on place and seed only, so that pictures painted in tiles have no seams.
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
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array
from shapely.geometry import box

_ONE_AT_A_TIME = threading.Lock()  # rasterize silences a warning for the whole process while it works
# Standard deviation of a uniform lattice in [0, 1) after interpolation by cubic B-splines, averaged over places.
_SPLINE_DEVIATION = 0.1384
# Bands of a picture of each kind.
BANDS = {"rgb": ("red", "green", "blue"), "pan": ("panchromatic",), "rgbn": ("red", "green", "blue", "near infrared")}
_PAN_WEIGHTS = np.array([0.34, 0.22, 0.08, 0.36], dtype=np.float32)
_SKY = np.array([0.66, 0.71, 0.77, 0.52], dtype=np.float32)
_GRAY = 0.5  # the light that `Camera.gray` speaks of
_LINEAR = 2.2  # the scene's colors are as a screen shows them; this power makes them proportional to light
# Ranges of dryness and of turned in spring, summer, autumn and winter.
_SEASONS = (((0.0, 0.2), (0.0, 0.2)), ((0.0, 0.9), (0.0, 0.0)), ((0.2, 0.8), (0.2, 0.8)), ((0.5, 1.0), (0.6, 0.95)))


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

    def pixels_of(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the int64 columns and rows of the pixels at places in meters, also beyond the canvas."""
        column, row = (x - self.west_m) / self.pixel_m, (self.north_m - y) / self.pixel_m
        return np.floor(column).astype(np.int64), np.floor(row).astype(np.int64)

    def holds(self, column: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return where the canvas has such columns and rows, which broadcast."""
        return (column >= 0) & (column < self.width) & (row >= 0) & (row < self.height)

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


@dataclass(frozen=True)
class Look:
    """The day: where the sun stands, and what the season has made of all that grows.

    The (2,) vector `sun` points toward it as (east, north) with length 1. `sun_altitude` is radians above the horizon.
    `dryness` of grass is 0 if lush and 1 in late summer. `turned` is the fraction of trees that are not green.
    """

    seed: int
    sun: np.ndarray
    sun_altitude: float
    dryness: float
    turned: float = 0.0

    @classmethod
    def of(cls, conditions: str, rng: np.random.Generator) -> "Look":
        """Return a summer day around noon on the northern hemisphere (fair), or any season's on either (varied)."""
        if conditions == "fair":
            azimuth_deg, altitude_deg, dryness, turned = rng.uniform(110, 250), (38, 58), (0.0, 0.7), (0.0, 0.0)
        else:
            azimuth_deg, altitude_deg = rng.choice([0, 180]) + rng.uniform(-70, 70), (25, 70)
            dryness, turned = _SEASONS[rng.integers(len(_SEASONS))]
        azimuth = np.radians(azimuth_deg)
        return cls(
            seed=int(rng.integers(2**31)),
            sun=np.array([np.sin(azimuth), np.cos(azimuth)]),
            sun_altitude=float(np.radians(rng.uniform(*altitude_deg))),
            dryness=float(rng.uniform(*dryness)),
            turned=float(rng.uniform(*turned)),
        )

    def shadow_m(self, height_m: float | np.ndarray) -> np.ndarray:
        """Return the vectors, (..., 2) float64, from the feet of things (...) high to the tips of their shadows."""
        return -self.sun * np.expand_dims(height_m, -1) / np.tan(self.sun_altitude)


@dataclass(frozen=True)
class Camera:
    """How a picture is taken and developed."""

    bands: str  # a key of BANDS
    bit_depth: int  # 8 (uint8) or 11 (uint16)
    seed: int
    lean: np.ndarray  # (2,) offset (east, north) of the top of something one meter high; zero from above
    blur_px: float  # deviation of the blur
    grain: float  # deviation of the noise as a fraction of full scale at the exposure of a bright picture
    haze: float  # fraction of the sky's light
    balance: np.ndarray  # (3,) factors of red, green and blue
    saturation: float  # factor of color
    black: float  # the light that comes out as 0
    gamma: float  # power of the tone curve: 1 as a screen shows it, 2.2 proportional to light
    gray: float  # the exposure: the level from 0 to 1 that a middle gray comes out as

    @classmethod
    def of(cls, conditions: str, rng: np.random.Generator, bands: str, bit_depth: int, seed: int) -> "Camera":
        """Return a good camera at nadir (fair), or any, from a dark off-nadir satellite's to a bright drone's (varied).

        Eleven bits are exposed to half of their range, and in proportion to light.
        """
        is_fair, is_deep = conditions == "fair", bit_depth > 8
        azimuth, off_nadir = rng.uniform(0, 2 * np.pi), np.radians(rng.uniform(0, 0 if is_fair else 30))
        gray = (_GRAY, 1.18 * _GRAY) if is_fair else (0.1, 0.4 if is_deep else 0.65)
        return cls(
            bands=bands,
            bit_depth=bit_depth,
            seed=seed,
            lean=np.tan(off_nadir) * np.array([np.sin(azimuth), np.cos(azimuth)]),
            blur_px=float(rng.uniform(*((0.55, 0.8) if is_fair else (0.4, 1.6)))),
            grain=float(np.exp(rng.uniform(*np.log((0.006, 0.013) if is_fair else (0.003, 0.03))))),
            haze=float(rng.uniform(*((0.02, 0.10) if is_fair else (0.0, 0.25)))),
            balance=np.exp(rng.uniform(-0.12, 0.12, 3) * (1, 0.3, 1) * (not is_fair)),
            saturation=float(rng.uniform(*((0.8, 1.15) if is_fair else (0.3, 1.3)))),
            black=0.0 if is_fair else float(rng.uniform(0, 0.22)),
            gamma=(_LINEAR if is_deep else 1.0) if is_fair else float(rng.uniform(0.75, _LINEAR)),
            gray=float(np.exp(rng.uniform(*np.log(gray)))) * (0.5 if is_fair and is_deep else 1.0),
        )

    @property
    def top(self) -> int:
        """The greatest value of a pixel."""
        return 2**self.bit_depth - 1

    @property
    def dtype(self) -> str:
        """The type of a pixel."""
        return "uint8" if self.bit_depth == 8 else "uint16"

    @property
    def contrast(self) -> float:
        """Factor by which a small difference of light is enlarged at middle gray."""
        return self.gamma * _GRAY / (_GRAY - self.black)

    @property
    def reach_px(self) -> int:
        """How far off a pixel something may lie and still show in it."""
        return int(np.ceil(4 * self.blur_px)) + 1


def take(light: np.ndarray, canvas: Canvas, camera: Camera) -> np.ndarray:
    """Return the image that the camera takes: (bands, H, W) uint8 or uint16.

    The (4, H, W) float32 `light` is red, green, blue and near infrared from 0 to 1.
    """
    hazy = light * (1 - camera.haze) + camera.haze * _SKY[:, None, None]
    if camera.bands == "pan":
        image = np.tensordot(_PAN_WEIGHTS, hazy, axes=1)[None]
    else:
        image = hazy[: len(BANDS[camera.bands])]
        _color(image[:3], camera.balance ** (1 / camera.contrast), camera.saturation / camera.contrast)
    column = np.floor(canvas.x / canvas.pixel_m + 1e-6).astype(np.int64)[None, :]
    row = np.floor(canvas.y / canvas.pixel_m + 1e-6).astype(np.int64)[:, None]
    for number, band in enumerate(image):
        # Noise of deviation 1; the sum of two uniform numbers is bell-shaped enough.
        first, second = (hashed(column, row, camera.seed + number + offset) for offset in (41, 51))
        band[:] = gaussian_filter(band, camera.blur_px)
        band += camera.grain * (np.float32(np.sqrt(6)) * (first + second - 1))
    image = np.maximum(image - np.float32(camera.black), 0) ** np.float32(camera.gamma)
    image *= camera.top * camera.gray / (_GRAY - camera.black) ** camera.gamma
    return np.clip(np.rint(image), 0, camera.top).astype(camera.dtype)


def _color(image: np.ndarray, balance: np.ndarray, saturation: float) -> None:
    """Multiply the color of a (3, H, W) image, and red, green and blue by the three of `balance`."""
    gray = image.mean(axis=0)
    image -= gray
    image *= np.float32(saturation)
    image += gray
    image *= balance.astype(np.float32)[:, None, None]
