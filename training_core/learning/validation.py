"""Validation tiles, and the accuracy of predicted road classes on held-out labels.

Scope: labeled images and a predictor. Independent of training.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.tiling import USUAL_HALO_PX, Tile, tile_grid
from ..labels.labeled_images import LabeledImage, window_reader
from ..segmentation.inference import Predictor, predict_tiles

VALIDATION_TILE_PX = 512


def class_hits(predictor: Predictor, images: list[LabeledImage]) -> tuple[int, int]:
    """Return (correct, total): validation road pixels whose class is predicted correctly, and all with a class."""
    correct = total = 0
    for image in images:
        if image.classes is None:
            continue
        for tile, found in predict_tiles(predictor, window_reader(image), validation_tiles(image)):
            classes = image.classes[tile.destination]
            known = (image.validation[tile.destination] == ROAD) & (classes > 0)
            correct += int((found.classes[known] == classes[known]).sum())
            total += int(known.sum())
    return correct, total


def validation_tiles(image: LabeledImage) -> Iterator[Tile]:
    """Yield the tiles of an image that have validation labels."""
    height, width = image.validation.shape
    for tile in tile_grid(width, height, VALIDATION_TILE_PX, USUAL_HALO_PX):
        if (image.validation[tile.destination] != IGNORE).any():
            yield tile
