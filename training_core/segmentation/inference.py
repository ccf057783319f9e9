"""Inference: from pixel values to road probability and classes, tile by tile and in batches.

Scope: normalization, padding, batches, test-time augmentation. Independent of files and training.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import torch
from torch import nn

from ..errors import ModelFileError
from ..geodata.pixel_codes import NO_DATA, to_byte
from ..geodata.rasters import Band, normalize, require_normal
from ..geodata.tiling import Tile, round_up
from ..models.engines import Engine
from ..models.openvino_model import DeviceModel, OpenvinoModel
from ..system.work import ahead

# Symmetries of the square (dihedral group), over which predictions can be averaged (test-time augmentation).
SYMMETRIES = tuple(range(8))
# Takes column, row, width and height; returns values (bands, height, width) and where there are data (height, width).
Read = Callable[[int, int, int, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Predictor:
    """A model ready to infer, as prepared by the engine.

    Predictions, of `channels` for road and classes, are averaged over `symmetries` of the square (test-time
    augmentation). `bands` normalize values, and `name` is the model's file, for messages.
    """

    model: nn.Module | OpenvinoModel | DeviceModel
    engine: Engine[Any]
    bands: tuple[Band, ...]
    symmetries: tuple[int, ...] = (0,)
    channels: int = 1
    name: str = "The model"

    def probability(self, values: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return the road probability of a piece of an image: (height, width) float32.

        Values are (bands, height, width) of any dtype as read. The (height, width) bool `known` is where there are
        data. Raises ModelFileError if the model computes NaN.
        """
        height, width = known.shape
        probability = self.probabilities(to_model_input(values, known, self.bands)[None])[0, 0, :height, :width]
        require_numbers(probability, self.name)
        return probability

    def probabilities(self, images: np.ndarray) -> np.ndarray:
        """Return the prediction for one batch: (batch, channels, height, width) float32.

        The (batch, bands, height, width) float32 images come from `to_model_input`. Channels are the probability of
        road and then of each class if there is road.
        """
        # Each symmetry's prediction is turned back onto the image before they are averaged.
        views = ((each, torch.from_numpy(np.ascontiguousarray(turned(images, each)))) for each in self.symmetries)
        predictions = (turned_back(self.engine.probability(self.model, view).numpy(), each) for each, view in views)
        total = functools.reduce(np.add, predictions)
        return total / len(self.symmetries) if len(self.symmetries) > 1 else total


def require_numbers(prediction: np.ndarray, model: str, image: str = "") -> None:
    """Check a (...) float32 prediction: NaN would pass for background. Names are the files for the message.

    Raises ModelFileError if it holds NaN: numbers within the model are too large for FP32.
    """
    if prediction.size and np.isnan(prediction.min()):  # in a single pass, and without another array
        where = f" for {image}" if image else ""
        raise ModelFileError(
            f"{model} computes values that are not numbers (NaN){where}: its weights are too large.",
            "Copy the model again, train it again, or choose another.",
        )


def to_model_input(values: np.ndarray, known: np.ndarray, bands: tuple[Band, ...]) -> np.ndarray:
    """Normalize a piece of an image, and pad it with 0 at the right and bottom: (bands, height, width) float32.

    Values are (bands, height, width) of any dtype as read. The result is 0, the mean, where the (height, width) bool
    `known` is False.
    """
    height, width = known.shape
    image = np.empty((len(bands), *padded_size(known.shape)), dtype=np.float32)
    image[:, height:], image[:, :, width:] = 0, 0
    normalize(values, known, bands, out=image[:, :height, :width])
    return image


def padded_size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return height and width, in pixels, rounded up to multiples of the model's stride."""
    height, width = map(round_up, shape)
    return height, width


@dataclass(frozen=True)
class Piece:
    """A tile with its pixels.

    `wanted`, (height, width), bool, are pixels of its core with data and in the area of interest. The image, (bands,
    height, width), float32, is core and halo, normalized and padded; of no pixels if none is wanted. The source is the
    image that it is a tile of, for the caller, and the name that image's file, for messages.
    """

    tile: Tile
    wanted: np.ndarray
    image: np.ndarray
    source: Any = None
    name: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether no pixel of it is wanted."""
        return not self.wanted.any()


def read_piece(
    tile: Tile,
    read: Read,
    bands: tuple[Band, ...],
    area: Optional[np.ndarray] = None,
    source: Any = None,
    name: str = "",
) -> Piece:
    """Read a tile with `read`, as `Image.read`; nothing is read where the area of interest does not touch it.

    The (height, width) bool `area` is which pixels of the tile's core lie in the area of interest; None for all. Raises
    ImageryError if a value is too far from the mean for a model to compute with.
    """
    nothing = np.empty((len(bands), 0, 0), dtype=np.float32)
    if area is not None and not area.any():
        return Piece(tile, area, nothing, source, name)
    values, known = read(*tile.read_window)
    wanted = known[tile.core] if area is None else known[tile.core] & area
    if not wanted.any():
        return Piece(tile, wanted, nothing, source, name)
    image = to_model_input(values, known, bands)
    require_normal(image, values.dtype, bands, name)
    return Piece(tile, wanted, image, source, name)


@dataclass(frozen=True)
class Prediction:
    """The prediction for the core of a tile: probability bytes, (height, width) uint8.

    `classes`, of the same shape and dtype, are the number of the likeliest class if there is road, from 1; NO_DATA
    where there are no data. None if the model predicts no classes, except for a tile of which no pixel is wanted.
    """

    probability: np.ndarray
    classes: Optional[np.ndarray]


def _prediction(channels: np.ndarray, wanted: np.ndarray) -> Prediction:
    road, *classes = channels
    if not classes:
        return Prediction(to_byte(road, wanted), None)
    likeliest = (np.argmax(classes, axis=0) + 1).astype(np.uint8)
    likeliest[~wanted] = NO_DATA
    return Prediction(to_byte(road, wanted), likeliest)


def predict_pieces(
    predictor: Predictor, pieces: Iterable[Piece], most_px: int
) -> Generator[tuple[Piece, Prediction], None, None]:
    """Predict pieces in order, in batches of consecutive ones of the same size, so that small ones keep all cores busy.

    Pieces of which no pixel is wanted are not computed. A piece larger than `most_px`, the largest batch in pixels, is
    computed by itself. Raises ModelFileError if the model computes NaN.
    """
    for pack in _packs(pieces, most_px):
        if pack[0].is_empty:
            nothing = np.full(pack[0].wanted.shape, NO_DATA, dtype=np.uint8)
            yield pack[0], Prediction(nothing, nothing)
            continue
        batch = np.stack([piece.image for piece in pack]) if len(pack) > 1 else pack[0].image[None]
        for piece, channels in zip(pack, predictor.probabilities(batch)):
            core = channels[(slice(None), *piece.tile.core)]
            require_numbers(core, predictor.name, piece.name)
            yield piece, _prediction(core, piece.wanted)


def _packs(pieces: Iterable[Piece], most_px: int) -> Iterator[list[Piece]]:
    """Yield consecutive pieces of one size in groups of at most so many pixels; empty ones by themselves."""
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
    predictor: Predictor, read: Read, tiles: Iterable[Tile], most_px: int = 0, name: str = ""
) -> Iterator[tuple[Tile, Prediction]]:
    """Predict the tiles of an image in order; the next ones are read meanwhile.

    `read` is like `Image.read`, `most_px` as for `predict_pieces`, and `name` the image's file, for messages. Raises
    ModelFileError if the model computes NaN.
    """
    pieces = ahead((read_piece(tile, read, predictor.bands, name=name) for tile in tiles), 1)
    for piece, prediction in predict_pieces(predictor, pieces, most_px):
        yield piece.tile, prediction


def turned(array: np.ndarray, symmetry: int) -> np.ndarray:
    """Return a view of a (..., height, width) array of any dtype, rotated and flipped along its last two axes.

    Symmetries 0 to 3 rotate by that number of quarter turns. 4 to 7 flip first.
    """
    mirrored = array[..., ::-1] if symmetry >= 4 else array
    return np.rot90(mirrored, symmetry % 4, axes=(-2, -1))


def turned_back(array: np.ndarray, symmetry: int) -> np.ndarray:
    """Return the view that `turned` turned into this (..., height, width) array of any dtype."""
    upright = np.rot90(array, -(symmetry % 4), axes=(-2, -1))
    return upright[..., ::-1] if symmetry >= 4 else upright
