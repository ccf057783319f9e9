"""Spatial split of labels into training and validation, by square blocks.

Scope: label rasters and labeled images. Independent of chips and of training.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import LabelError
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..system import large_arrays
from .labeled_images import LabeledImage, count_labels

# Smaller blocks are correlated with their neighbors. With few blocks, chance decides how much road each side gets.
MIN_BLOCK_PX, DRAWS = 32, 16


def split_for_validation(images: list[LabeledImage], fraction: float, block_px: int, seed: int) -> list[LabeledImage]:
    """Return the images with some blocks of their labels moved from training to validation; see `choose_blocks`.

    The fraction is from 0 to 1, of the blocks with labels. The given images stay as they are. Raises LabelError if too
    few roads are drawn to be split.
    """
    side_px, chosen = choose_blocks([image.training for image in images], fraction, block_px, seed)
    split = [_split_image(image, blocks, side_px) for image, blocks in zip(images, chosen)]
    for of in ("training", "validation"):
        if not any(count_labels(getattr(image, of))[1] for image in split):
            raise LabelError(
                f"Too few roads are drawn to hold some out for validation: none is left for {of}.",
                "Draw roads in more places.",
            )
    return split


def _split_image(image: LabeledImage, blocks: np.ndarray, side_px: int) -> LabeledImage:
    width = image.training.shape[1]
    training, validation = (large_arrays.allocate(image.training.shape, np.uint8) for _ in range(2))
    for number, is_held_out in enumerate(blocks):
        rows = slice(number * side_px, (number + 1) * side_px)
        is_held_out = np.repeat(is_held_out, side_px)[:width]
        training[rows] = np.where(is_held_out, IGNORE, image.training[rows])
        validation[rows] = np.where(is_held_out, image.training[rows], IGNORE)
    return replace(image, training=training, validation=validation, block_px=side_px)


def choose_blocks(labels: list[np.ndarray], fraction: float, block_px: int, seed: int) -> tuple[int, list[np.ndarray]]:
    """Return the side of blocks in pixels, and which are held out of each image, (rows, columns), bool.

    They are whole squares, so that validation pixels are not next to training pixels. Stratified: blocks with and
    without road are drawn separately, so that both sides have both. The block size is halved until enough blocks have
    road for a fair draw, down to 32 px. The fraction is from 0 to 1. Labels of an image are (height, width), uint8.
    """
    while True:
        road = [_count_in_blocks(label, ROAD, block_px) for label in labels]
        if sum(np.count_nonzero(counts) for counts in road) >= 2 / fraction or block_px <= MIN_BLOCK_PX:
            break
        block_px //= 2
    # All blocks of all images in one list: those with road are drawn first, then those with background alone.
    background = [_count_in_blocks(label, BACKGROUND, block_px) for label in labels]
    roads, backgrounds = (np.concatenate([counts.ravel() for counts in both]) for both in (road, background))
    rng = np.random.default_rng(seed)
    chosen = _choose(roads, fraction, rng) | _choose(np.where(roads, 0, backgrounds), fraction, rng)
    # Back to the blocks of each image.
    ends = np.cumsum([counts.size for counts in road])
    return block_px, [part.reshape(counts.shape) for part, counts in zip(np.split(chosen, ends[:-1]), road)]


def _count_in_blocks(labels: np.ndarray, label: int, block_px: int) -> np.ndarray:
    """Return the number of pixels with a label in each block: (rows, columns), int64."""
    height, width = labels.shape
    tops, lefts = np.arange(0, height, block_px), np.arange(0, width, block_px)
    # A strip of blocks at a time: counts by column, then added up between the edges of blocks.
    columns = ((labels[top : top + block_px] == label).sum(axis=0) for top in tops)
    return np.stack([np.add.reduceat(counts, lefts) for counts in columns])


def _choose(counts: np.ndarray, fraction: float, rng: np.random.Generator) -> np.ndarray:
    """Choose a fraction of the blocks with a count: of several draws, the one that holds nearest to it."""
    chosen = np.zeros(len(counts), dtype=bool)
    indexes = np.flatnonzero(counts)
    if len(indexes) > 1:
        count = max(1, round(fraction * len(indexes)))
        draws = [rng.choice(indexes, count, replace=False) for _ in range(DRAWS)]
        held = [abs(counts[draw].sum() / counts.sum() - fraction) for draw in draws]
        chosen[draws[int(np.argmin(held))]] = True
    return chosen
