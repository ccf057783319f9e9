"""From image values to road probability, tile by tile.

Knows networks, engines and tiles; knows nothing of files or training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .engines import Engine
from .imagery import Band, normalize
from .memory import available_bytes
from .model import STRIDE_PX
from .tiling import Tile

# Probability travels as a byte: 0 to 254 for 0 to 1, and 255 for no data.
CERTAIN, NO_DATA = 254, 255
# Peak memory of ResNet34-UNet a pixel of its input, and the share of the free memory that a tile may take.
BYTES_PER_PX = {"int8": 700, "bf16": 700, "fp32": 1200}
MEMORY_SHARE = 0.25
LARGEST_TILE_PX = 2048


@dataclass(frozen=True)
class Predictor:
    """A network ready to infer.

    Parameters
    ----------
    network
        Prepared by the engine.
    engine : Engine
    bands : tuple of Band
        How values are scaled.
    """

    network: Any
    engine: Engine
    bands: tuple[Band, ...]

    def probability(self, values: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return the road probability of a piece of image.

        Parameters
        ----------
        values : ndarray (bands, height, width)
            As read.
        known : ndarray (height, width), bool

        Returns
        -------
        ndarray (height, width), float32
        """
        height, width = known.shape
        padded = np.pad(
            normalize(values, known, self.bands), [(0, 0), (0, -height % STRIDE_PX), (0, -width % STRIDE_PX)]
        )
        probability = self.engine.probability(self.network, torch.from_numpy(padded)[None])
        return probability[0, 0, :height, :width].numpy()


def to_byte(probability: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return probability as bytes, NO_DATA where nothing is known."""
    return np.where(known, np.rint(probability * CERTAIN), NO_DATA).astype(np.uint8)


def to_mask(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Return 1 where a byte of probability reaches the threshold, 0 where not, NO_DATA where there is none."""
    return np.where(probability == NO_DATA, NO_DATA, probability >= threshold * CERTAIN).astype(np.uint8)


def largest_tile_px(precision: str, halo: int) -> int:
    """Return the side of the largest core whose tile fits the memory: large tiles waste least on halos."""
    free = available_bytes() * MEMORY_SHARE
    side = int((free / BYTES_PER_PX[precision]) ** 0.5) - 2 * halo
    return max(512, min(LARGEST_TILE_PX, side // 512 * 512))


def predict_tiles(
    predictor: Predictor, read: Callable[..., tuple[np.ndarray, np.ndarray]], tiles: Iterable[Tile]
) -> Iterator[tuple[Tile, np.ndarray]]:
    """Yield each tile with the probability bytes of its core; the next tile is read while one is computed.

    Parameters
    ----------
    predictor : Predictor
    read : callable
        Takes column, row, width and height; returns values and known, as `Image.read`.
    tiles : iterable of Tile
    """
    tiles = list(tiles)
    with ThreadPoolExecutor(1) as reader:
        coming = [reader.submit(read, *tile.read_window) for tile in tiles[:1]]
        for number, tile in enumerate(tiles):
            values, known = coming.pop().result()
            if number + 1 < len(tiles):
                coming.append(reader.submit(read, *tiles[number + 1].read_window))
            core = known[tile.core]
            if core.any():
                yield tile, to_byte(predictor.probability(values, known)[tile.core], core)
            else:
                yield tile, np.full(core.shape, NO_DATA, dtype=np.uint8)
