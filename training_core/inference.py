"""From image values to road probability, piece by piece.

Knows networks, engines and tiles; knows nothing of files or training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .engines import Engine
from .imagery import Band, normalize_into
from .model import STRIDE_PX
from .pipeline import ahead
from .symmetries import turned, turned_back
from .tiling import Tile

# Probability travels as a byte: 0 to 254 for 0 to 1, and 255 for no data.
CERTAIN, NO_DATA = 254, 255


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
    symmetries : tuple of int
        Of the square, in which an image is looked at; the probability is the mean of what they give.
    """

    network: Any
    engine: Engine
    bands: tuple[Band, ...]
    symmetries: tuple[int, ...] = (0,)

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
        return self.probabilities([(values, known)])[0]

    def probabilities(self, pieces: list[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
        """Return the road probability of pieces that are of one size, once padded; they are computed as one batch."""
        batch = np.zeros((len(pieces), len(self.bands), *padded_size(pieces[0][1].shape)), dtype=np.float32)
        for target, (values, known) in zip(batch, pieces):
            normalize_into(target[:, : known.shape[0], : known.shape[1]], values, known, self.bands)
        total = sum(turned_back(self._computed(turned(batch, symmetry)), symmetry) for symmetry in self.symmetries)
        mean = total / len(self.symmetries)
        return [part[: known.shape[0], : known.shape[1]] for part, (_, known) in zip(mean, pieces)]

    def _computed(self, batch: np.ndarray) -> np.ndarray:
        images = torch.from_numpy(np.ascontiguousarray(batch))
        return self.engine.probability(self.network, images)[:, 0].numpy()


def padded_size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return height and width as they enter the network: the next multiples of its stride."""
    height, width = (-(-size // STRIDE_PX) * STRIDE_PX for size in shape)
    return height, width


def to_byte(probability: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return probability as bytes, NO_DATA where nothing is known."""
    values = np.rint(probability * np.float32(CERTAIN)).astype(np.uint8)
    values[~known] = NO_DATA
    return values


def to_mask(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Return 1 where a byte of probability reaches the threshold, 0 where not, NO_DATA where there is none."""
    mask = (probability >= threshold * CERTAIN).astype(np.uint8)
    mask[probability == NO_DATA] = NO_DATA
    return mask


@dataclass(frozen=True)
class Piece:
    """A tile with what was read of it.

    Parameters
    ----------
    tile : Tile
    values : ndarray (bands, height, width)
        Of core and halo.
    known : ndarray (height, width), bool
    source : object
        What it is a tile of, for who sent it.
    """

    tile: Tile
    values: np.ndarray
    known: np.ndarray
    source: Any = None


def predict_pieces(predictor: Predictor, pieces: Iterable[Piece], most_px: int) -> Iterator[tuple[Piece, np.ndarray]]:
    """Yield each piece with the probability bytes of its core, in order.

    Pieces that follow each other and are of one size are computed together, so that small ones keep all cores busy;
    those without data are not computed.

    Parameters
    ----------
    predictor : Predictor
    pieces : iterable of Piece
    most_px : int
        Pixels that are computed together; a larger piece is computed by itself.
    """
    for pack in _packs(pieces, most_px):
        wanted = [piece for piece in pack if piece.known[piece.tile.core].any()]
        computed = iter(predictor.probabilities([(piece.values, piece.known) for piece in wanted]) if wanted else ())
        for piece in pack:
            core = piece.known[piece.tile.core]
            if core.any():
                yield piece, to_byte(next(computed)[piece.tile.core], core)
            else:
                yield piece, np.full(core.shape, NO_DATA, dtype=np.uint8)


def _packs(pieces: Iterable[Piece], most_px: int) -> Iterator[list[Piece]]:
    """Yield pieces in groups of one padded size, of no more pixels together than is wished."""
    pack: list[Piece] = []
    for piece in pieces:
        size = padded_size(piece.known.shape)
        if pack and (size != padded_size(pack[0].known.shape) or (len(pack) + 1) * size[0] * size[1] > most_px):
            yield pack
            pack = []
        pack.append(piece)
    if pack:
        yield pack


def predict_tiles(
    predictor: Predictor, read: Callable[..., tuple[np.ndarray, np.ndarray]], tiles: Iterable[Tile], most_px: int = 0
) -> Iterator[tuple[Tile, np.ndarray]]:
    """Yield each tile of an image with the probability bytes of its core; the next ones are read meanwhile.

    Parameters
    ----------
    predictor : Predictor
    read : callable
        Takes column, row, width and height; returns values and known, as `Image.read`.
    tiles : iterable of Tile
    most_px : int
        See `predict_pieces`.
    """
    pieces = ahead((Piece(tile, *read(*tile.read_window)) for tile in tiles), 1)
    for piece, probability in predict_pieces(predictor, pieces, most_px):
        yield piece.tile, probability
