"""The day and the camera above a scene: sun and season; off-nadir angle, blur, noise, haze, exposure and bit depth.

Scope: four bands of light (red, green, blue, near infrared) from black at 0 to white at 1. Independent of their
subject.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

from .canvas import Canvas, hashed

# What a picture of each kind holds.
BANDS = {"rgb": ("red", "green", "blue"), "pan": ("panchromatic",), "rgbn": ("red", "green", "blue", "near infrared")}
_PAN_WEIGHTS = np.array([0.34, 0.22, 0.08, 0.36], dtype=np.float32)
_SKY = np.array([0.66, 0.71, 0.77, 0.52], dtype=np.float32)
_GRAY = 0.5  # the light that `Camera.gray` speaks of
_LINEAR = 2.2  # the scene's colors are as a screen shows them; this power makes them proportional to light


# Ranges of dryness and of turned in spring, summer, autumn and winter.
_SEASONS = (((0.0, 0.2), (0.0, 0.2)), ((0.0, 0.9), (0.0, 0.0)), ((0.2, 0.8), (0.2, 0.8)), ((0.5, 1.0), (0.6, 0.95)))


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
