"""Samples: random crops of images, with labels if roads are drawn, to measure models on.

Scope: rasters and drawn roads. Independent of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..errors import ImageryError
from ..events import Reporter
from ..geodata.model_input import MIN_KNOWN, ModelInput, open_for_model
from ..geodata.pixel_codes import IGNORE
from ..geodata.rasters import Band, Image, normalize, require_normal
from ..geodata.tiling import STRIDE_PX, Tile
from .drawing import Truth
from .labeled_images import nothing_labeled, without_labels


@dataclass(frozen=True)
class Sample:
    """A crop of an image, normalized, (1, bands, height, width), float32, with sides in multiples of 32.

    `known`, (height, width), bool, is false without data. If roads are given, `truth`, (height, width), uint8, has
    labels.
    """

    images: np.ndarray
    known: np.ndarray
    truth: Optional[np.ndarray]


def collect_samples(
    rasters: Sequence[str],
    wanted_input: ModelInput,
    count: int,
    side_px: int,
    reporter: Reporter,
    truth: Optional[Truth] = None,
    seed: int = 0,
) -> list[Sample]:
    """Draw up to so many samples, at least one, spread over images; a seed always draws the same.

    With drawn roads, only samples with labels count. `side_px` is a multiple of the stride. Raises ImageryError if an
    image cannot be used, or has hardly any data, and LabelError if the drawing touches no image.
    """
    rng = np.random.default_rng(seed)
    samples: list[Sample] = []
    for number, path in enumerate(rasters):
        wanted = -(-(count - len(samples)) // (len(rasters) - number))
        if not wanted:
            break  # each image before has given one
        samples += _samples_of(path, wanted_input, wanted, side_px, truth, rng, reporter)
    if not samples and truth:
        raise nothing_labeled(rasters)
    if not samples:
        named = " and ".join(rasters[:3])
        raise ImageryError(f"{named} have hardly any data, or are too small.", "Choose other images.")
    reporter.log(f"{len(samples)} samples of the images are used.")
    return samples


def _samples_of(
    path: str,
    wanted_input: ModelInput,
    wanted: int,
    side_px: int,
    truth: Optional[Truth],
    rng: np.random.Generator,
    reporter: Reporter,
) -> list[Sample]:
    with open_for_model(path, wanted_input) as (image, bands):
        labels = truth.burn(image.grid, path) if truth else None
        if truth and labels is None:
            reporter.warning(without_labels(path))
            return []
        tiles = _crops(image.grid.width, image.grid.height, side_px)
        samples: list[Sample] = []
        for index in rng.permutation(len(tiles)):
            if len(samples) == wanted:
                break
            reporter.check_cancelled()
            tile = tiles[index]
            labeled = labels.within((tile.column, tile.row, tile.width, tile.height)) if labels else None
            if labeled is None or (labeled != IGNORE).any():
                sample = _read(image, tile, bands, labeled)
                samples += [sample] if sample.known.mean() >= MIN_KNOWN else []
        return samples


def _crops(width: int, height: int, side_px: int) -> list[Tile]:
    """Return squares that cover a raster, as tiles without a halo; the last ones of a row or column overlap others."""
    starts = [sorted({min(at, max(0, size - side_px)) for at in range(0, size, side_px)}) for size in (width, height)]
    size = min(side_px, width), min(side_px, height)
    return [Tile(column, row, *size, 0, 0, 0, 0) for row in starts[1] for column in starts[0]]


def _read(image: Image, tile: Tile, bands: tuple[Band, ...], truth: Optional[np.ndarray]) -> Sample:
    values, known = image.read(*tile.read_window)
    missing = [(0, -extent % STRIDE_PX) for extent in known.shape]
    normalized = normalize(values, known, bands)
    require_normal(normalized, values.dtype, bands, image.name)
    images = np.pad(normalized, [(0, 0), *missing])
    padded = None if truth is None else np.pad(truth, missing, constant_values=IGNORE)
    return Sample(images[None], np.pad(known, missing), padded)
