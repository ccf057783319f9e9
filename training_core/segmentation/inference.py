"""From image values to road probability, piece by piece.

Knows networks, engines and tiles; knows nothing of files or training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
from torch import nn

from ..geodata.pixel_codes import NO_DATA, to_byte
from ..geodata.rasters import Band, normalize_into
from ..geodata.tiling import Tile, round_up
from ..models.engines import Engine
from ..models.openvino_model import OpenvinoModel
from ..system.prefetch import ahead
from .symmetries import turned, turned_back

# Takes column, row, width and height; returns values (bands, height, width) and which are known (height, width).
Read = Callable[[int, int, int, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Predictor:
    """A model ready to infer.

    Parameters
    ----------
    model
        Prepared by the engine.
    engine : Engine
    bands : tuple of Band
        How values are scaled.
    symmetries : tuple of int
        Of the square, in which an image is looked at; the probability is the mean of what they give.
    channels : int
        What the network tells of each pixel: road, and classes.
    """

    model: nn.Module | OpenvinoModel
    engine: Engine
    bands: tuple[Band, ...]
    symmetries: tuple[int, ...] = (0,)
    channels: int = 1

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
        return self.probabilities(to_model_input(values, known, self.bands)[None])[0, 0, :height, :width]

    def probabilities(self, images: np.ndarray) -> np.ndarray:
        """Return what the network tells of images as it takes them, computed as one batch.

        Parameters
        ----------
        images : ndarray (batch, bands, height, width), float32

        Returns
        -------
        ndarray (batch, channels, height, width), float32
            The probability of road, and then of each class where a road is.
        """
        total = sum(turned_back(self._computed(turned(images, symmetry)), symmetry) for symmetry in self.symmetries)
        return total / len(self.symmetries) if len(self.symmetries) > 1 else total

    def _computed(self, images: np.ndarray) -> np.ndarray:
        batch = torch.from_numpy(np.ascontiguousarray(images))
        return self.engine.probability(self.model, batch).numpy()


def to_model_input(values: np.ndarray, known: np.ndarray, bands: tuple[Band, ...]) -> np.ndarray:
    """Return what was read of an image as the network takes it: scaled and padded, (bands, height, width), float32."""
    height, width = known.shape
    image = np.empty((len(bands), *padded_size(known.shape)), dtype=np.float32)
    image[:, height:], image[:, :, width:] = 0, 0
    normalize_into(image[:, :height, :width], values, known, bands)
    return image


def padded_size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return height and width as they enter the network: the next multiples of its stride."""
    height, width = map(round_up, shape)
    return height, width


@dataclass(frozen=True)
class Piece:
    """A tile with what was read of it.

    Parameters
    ----------
    tile : Tile
    wanted : ndarray (height, width), bool
        Of which pixels of its core the probability is wanted.
    image : ndarray (bands, height, width), float32
        Core and halo as the network takes them; anything where nothing is wanted.
    source : object
        What it is a tile of, for who sent it.
    """

    tile: Tile
    wanted: np.ndarray
    image: np.ndarray
    source: object = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it is wanted."""
        return not self.wanted.any()


def read_piece(
    tile: Tile, read: Read, bands: tuple[Band, ...], area: Optional[np.ndarray] = None, source: object = None
) -> Piece:
    """Return a tile with what a function reads of it, within an area: an array (height, width) of bool, as its core.

    Nothing is read where the area is empty.
    """
    nothing = np.empty((len(bands), 0, 0), dtype=np.float32)
    if area is not None and not area.any():
        return Piece(tile, area, nothing, source)
    values, known = read(*tile.read_window)
    wanted = known[tile.core] if area is None else known[tile.core] & area
    return Piece(tile, wanted, to_model_input(values, known, bands) if wanted.any() else nothing, source)


@dataclass(frozen=True)
class Prediction:
    """What a network tells of the core of a tile.

    Parameters
    ----------
    probability : ndarray (height, width), uint8
        See `to_byte`.
    classes : ndarray (height, width), uint8, optional
        Number of the likeliest class, from 1, if a road is there; NO_DATA where there is none. None where the network
        tells no classes, but for a tile of which nothing is wanted.
    """

    probability: np.ndarray
    classes: Optional[np.ndarray]


def _prediction(piece: Piece, channels: np.ndarray) -> Prediction:
    road, *classes = channels[(slice(None), *piece.tile.core)]
    if not classes:
        return Prediction(to_byte(road, piece.wanted), None)
    likeliest = (np.argmax(classes, axis=0) + 1).astype(np.uint8)
    likeliest[~piece.wanted] = NO_DATA
    return Prediction(to_byte(road, piece.wanted), likeliest)


def predict_pieces(predictor: Predictor, pieces: Iterable[Piece], most_px: int) -> Iterator[tuple[Piece, Prediction]]:
    """Yield each piece with what the network tells of its core, in order.

    Pieces that follow each other and are of one size are computed together, so that small ones keep all cores busy;
    those of which nothing is wanted are not computed.

    Parameters
    ----------
    predictor : Predictor
    pieces : iterable of Piece
    most_px : int
        Pixels that are computed together; a larger piece is computed by itself.
    """
    for pack in _packs(pieces, most_px):
        if pack[0].is_empty:
            nothing = np.full(pack[0].wanted.shape, NO_DATA, dtype=np.uint8)
            yield pack[0], Prediction(nothing, nothing)
            continue
        batch = np.stack([piece.image for piece in pack]) if len(pack) > 1 else pack[0].image[None]
        for piece, channels in zip(pack, predictor.probabilities(batch)):
            yield piece, _prediction(piece, channels)


def _packs(pieces: Iterable[Piece], most_px: int) -> Iterator[list[Piece]]:
    """Yield pieces in groups of one size that have no more pixels together than is wished; empty ones by themselves."""
    pack: list[Piece] = []
    for piece in pieces:
        too_many = (len(pack) + 1) * piece.image[0].size > most_px
        if pack and (piece.is_empty or pack[0].is_empty or piece.image.shape != pack[0].image.shape or too_many):
            yield pack
            pack = []
        pack.append(piece)
    if pack:
        yield pack


def predict_tiles(
    predictor: Predictor, read: Read, tiles: Iterable[Tile], most_px: int = 0
) -> Iterator[tuple[Tile, Prediction]]:
    """Yield each tile of an image with what the network tells of its core; the next ones are read meanwhile.

    Parameters
    ----------
    predictor : Predictor
    read : callable
        As `Image.read`.
    tiles : iterable of Tile
    most_px : int
        See `predict_pieces`.
    """
    pieces = ahead((read_piece(tile, read, predictor.bands) for tile in tiles), 1)
    for piece, prediction in predict_pieces(predictor, pieces, most_px):
        yield piece.tile, prediction
