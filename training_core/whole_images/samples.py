"""Whole labeled images as samples: turned, contrast and brightness jittered as one, and read tile by tile.

Scope: which image a step learns from, and how its pixels are read. Independent of files and of the model.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import count as count_from
from typing import Optional

import numpy as np

from ..geodata.pixel_codes import ROAD
from ..geodata.tiling import Tile
from ..labels.labeled_images import LabeledImage, count_labels
from ..learning.chips import draw_scaling, scale_into
from ..segmentation.inference import padded_size, turned


@dataclass(frozen=True, eq=False)
class ImageSample:
    """A labeled image as one step sees it; nothing of it is copied before a tile is read.

    The values, (bands, height, width), any number type, are as read, but turned. `known`, (height, width), bool, is
    False where the image has no data. Labels to train on are (height, width), uint8: BACKGROUND, ROAD or IGNORE.
    `classes`, (height, width), uint8, are numbers of road classes, from 1; 0 if not known. `scale` and `offset`,
    (bands,), float32, normalize the values; see `draw_scaling`. `labeled_px` are not IGNORE. All arrays may be
    memory-mapped.
    """

    values: np.ndarray
    known: np.ndarray
    training: np.ndarray
    classes: Optional[np.ndarray]
    scale: np.ndarray
    offset: np.ndarray
    labeled_px: int

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        height, width = self.known.shape
        return height, width

    def read(self, tile: Tile) -> np.ndarray:
        """Return core and halo of a tile: (bands, padded height, padded width), float32, 0 where there are no data."""
        column, row, width, height = tile.read_window
        rows, columns = slice(row, row + height), slice(column, column + width)
        image = np.zeros((len(self.values), *padded_size((height, width))), dtype=np.float32)
        values, known = self.values[:, rows, columns], self.known[rows, columns]
        scale_into(image[:, :height, :width], values, known, self.scale, self.offset)
        return image

    def labels(self, rows: slice, columns: slice) -> np.ndarray:
        """Return the labels of a window, as a copy: (height, width), uint8, ROAD + n for road of a known class n."""
        labels = np.array(self.training[rows, columns])
        if self.classes is not None:
            labels[labels == ROAD] += self.classes[rows, columns][labels == ROAD]
        return labels


def sample_of(image: LabeledImage, scale: np.ndarray, offset: np.ndarray, symmetry: int = 0) -> ImageSample:
    """Return an image as a sample, turned by one of the eight symmetries of the square; see `turned`.

    `scale` and `offset`, (bands,), float32, normalize its values; see `draw_scaling`.
    """
    values, known, training = (turned(array, symmetry) for array in (image.values, image.known, image.training))
    classes = None if image.classes is None else turned(image.classes, symmetry)
    return ImageSample(values, known, training, classes, scale, offset, count_labels(image.training)[0])


def draw_images(
    images: Sequence[LabeledImage], seed: int, per_step: int, first: int
) -> Generator[tuple[list[ImageSample], list[int]], None, None]:
    """Yield the images of each step, from the first on, and how many pixels of each are labeled.

    Each is drawn in proportion to its labeled pixels. They depend on the seed and the number of the step alone.
    """
    labeled_px = np.array([count_labels(image.training)[0] for image in images], dtype=float)
    for number in count_from(first):
        rng = np.random.default_rng([seed, number])
        samples = []
        for _ in range(per_step):
            image = images[rng.choice(len(images), p=labeled_px / labeled_px.sum())]
            scaling = draw_scaling(image.bands, rng)
            samples.append(sample_of(image, *scaling, symmetry=int(rng.integers(8))))
        yield samples, [sample.labeled_px for sample in samples]
