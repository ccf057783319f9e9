"""The camera above a scene: off-nadir angle, blur, noise, haze, exposure, bit depth and JPEG compression.

Scope: four bands of light (red, green, blue, near infrared) from black at 0 to white at 1. Independent of their
subject.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np
from affine import Affine
from rasterio.io import MemoryFile
from scipy.ndimage import gaussian_filter

from .view import View, hashed

# What a picture of each kind holds.
BANDS = {"rgb": ("red", "green", "blue"), "pan": ("panchromatic",), "rgbn": ("red", "green", "blue", "near infrared")}
# JPEG codes squares of this side each by itself, but smooths color over their borders when it is read.
BLOCK_PX = 16
_PAN_WEIGHTS = np.array([0.34, 0.22, 0.08, 0.36], dtype=np.float32)
_SKY = np.array([0.66, 0.71, 0.77, 0.52], dtype=np.float32)
_GRAY = 0.5  # the light that `Camera.gray` speaks of
_LINEAR = 2.2  # the scene's colors are as a screen shows them; this power makes them proportional to light


@dataclass(frozen=True)
class Camera:
    """How a picture is taken, developed and stored."""

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
    jpeg_quality: Optional[int] = None  # of the compression that a picture of 8 bits has been through; None for none

    @classmethod
    def fair(cls, rng: np.random.Generator, bands: str, bit_depth: int, seed: int) -> "Camera":
        """Return a good, well-exposed camera at nadir."""
        exposure = float(rng.uniform(1.0, 1.18))
        return cls(
            bands=bands,
            bit_depth=bit_depth,
            seed=seed,
            lean=np.zeros(2),
            saturation=float(rng.uniform(0.8, 1.15)),
            haze=float(rng.uniform(0.02, 0.10)),
            blur_px=float(rng.uniform(0.55, 0.8)),
            grain=float(rng.uniform(0.006, 0.013)),
            balance=np.ones(3),
            black=0.0,
            gamma=1.0 if bit_depth == 8 else _LINEAR,
            gray=_GRAY * exposure * (1.0 if bit_depth == 8 else 0.5),
        )

    @classmethod
    def varied(cls, rng: np.random.Generator, bands: str, bit_depth: int, seed: int) -> "Camera":
        """Return any camera, from a dark off-nadir satellite's to a bright drone's."""
        azimuth, off_nadir = rng.uniform(0, 2 * np.pi), np.radians(rng.uniform(0, 30))
        has_jpeg = bit_depth == 8 and rng.random() < 0.6
        return cls(
            bands=bands,
            bit_depth=bit_depth,
            seed=seed,
            lean=np.tan(off_nadir) * np.array([np.sin(azimuth), np.cos(azimuth)]),
            blur_px=float(rng.uniform(0.4, 1.6)),
            grain=float(np.exp(rng.uniform(np.log(0.003), np.log(0.03)))),
            haze=float(rng.uniform(0, 0.25)),
            balance=np.exp(rng.uniform(-0.12, 0.12, 3) * (1, 0.3, 1)),
            saturation=float(rng.uniform(0.3, 1.3)),
            black=float(rng.uniform(0, 0.22)),
            gamma=float(rng.uniform(0.75, _LINEAR)),
            gray=float(np.exp(rng.uniform(np.log(0.1), np.log(0.65 if bit_depth == 8 else 0.4)))),
            jpeg_quality=int(rng.integers(35, 95)) if has_jpeg else None,
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


def take(light: np.ndarray, view: View, camera: Camera) -> np.ndarray:
    """Return the image that the camera takes, not compressed yet: (bands, H, W) uint8 or uint16.

    The (4, H, W) float32 `light` is red, green, blue and near infrared from 0 to 1.
    """
    hazy = light * (1 - camera.haze) + camera.haze * _SKY[:, None, None]
    if camera.bands == "pan":
        image = np.tensordot(_PAN_WEIGHTS, hazy, axes=1)[None]
    else:
        image = hazy[: len(BANDS[camera.bands])]
        _color(image[:3], camera.balance ** (1 / camera.contrast), camera.saturation / camera.contrast)
    column = np.floor(view.x / view.pixel_m + 1e-6).astype(np.int64)[None, :]
    row = np.floor(view.y / view.pixel_m + 1e-6).astype(np.int64)[:, None]
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


def compressed(image: np.ndarray, quality: int) -> np.ndarray:
    """Return a (bands, H, W) uint8 image, of sides divisible by BLOCK_PX, as it comes back out of a JPEG file.

    Blocks at the border come out slightly different than with their neighbors around them. Near infrared has a file of
    its own because one of colors has no place for it.
    """
    if len(image) == 1:
        return _through_jpeg(image, quality, photometric="minisblack")
    parts = [_through_jpeg(image[:3], quality, photometric="ycbcr")]
    parts += [_through_jpeg(band[None], quality, photometric="minisblack") for band in image[3:]]
    return np.concatenate(parts)


def _through_jpeg(image: np.ndarray, quality: int, photometric: str) -> np.ndarray:
    count, height, width = image.shape
    size = {"count": count, "height": height, "width": width, "blockysize": height, "blockxsize": width}
    storage = {"driver": "GTiff", "dtype": "uint8", "tiled": True, "compress": "jpeg", "jpeg_quality": quality}
    place = {"transform": Affine(1, 0, 0, 0, -1, height)}  # else a warning for each
    with MemoryFile() as file:
        with file.open(**size, **storage, **place, photometric=photometric) as dataset:
            dataset.write(image)
        with file.open() as dataset:
            return dataset.read()
