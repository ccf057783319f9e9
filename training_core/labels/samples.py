"""Samples: random crops of images, with labels if roads are drawn, to calibrate and compare quantized models on.

Scope: rasters and drawn roads. Independent of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..errors import ImageryError
from ..events import Reporter
from ..geodata.model_input import MIN_KNOWN, ModelInput, open_for_model
from ..geodata.pixel_codes import IGNORE
from ..geodata.rasters import Band, Image, normalize, require_normal
from ..geodata.tiling import STRIDE_PX, Tile, round_up
from ..jobs import Quantize
from .drawing import Truth, read_truth
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


def collect_samples(job: Quantize, wanted_input: ModelInput, reporter: Reporter) -> list[Sample]:
    """Draw samples, at least one, from the images of a job, up to the number that it asks for.

    With drawn roads, only samples with labels count. Raises ImageryError if an image cannot be used, or has hardly any
    data. Raises LayerError or LabelError if the drawing cannot be used, or touches no image.
    """
    rng = np.random.default_rng(job.seed)
    samples: list[Sample] = []
    truth = read_truth(job, job.aoi, job.rasters, reporter) if job.roads or job.masks else None
    for number, path in enumerate(job.rasters):
        wanted = -(-(job.chips - len(samples)) // (len(job.rasters) - number))
        if not wanted:
            break  # each image before has given one
        samples += _samples_of(path, job, truth, wanted_input, wanted, rng, reporter)
    if not samples and truth:
        raise nothing_labeled(job.rasters)
    if not samples:
        raise ImageryError(f"{' and '.join(job.rasters)} have hardly any data.", "Choose other images.")
    reporter.log(f"{len(samples)} samples of the images are used.")
    return samples


def _samples_of(
    path: str,
    job: Quantize,
    truth: Optional[Truth],
    wanted_input: ModelInput,
    wanted: int,
    rng: np.random.Generator,
    reporter: Reporter,
) -> list[Sample]:
    with open_for_model(path, wanted_input) as (image, bands):
        labels = truth.burn(image.grid, path) if truth else None
        if truth and labels is None:
            reporter.warning(without_labels(path))
            return []
        side_px = round_up(job.chip_px)
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
    """Return squares that cover a raster, smaller at its right and bottom, as tiles without a halo."""
    return [
        Tile(column, row, min(side_px, width - column), min(side_px, height - row), 0, 0, 0, 0)
        for row in range(0, height, side_px)
        for column in range(0, width, side_px)
    ]


def _read(image: Image, tile: Tile, bands: tuple[Band, ...], truth: Optional[np.ndarray]) -> Sample:
    values, known = image.read(*tile.read_window)
    missing = [(0, -extent % STRIDE_PX) for extent in known.shape]
    normalized = normalize(values, known, bands)
    require_normal(normalized, values.dtype, bands, image.name)
    images = np.pad(normalized, [(0, 0), *missing])
    padded = None if truth is None else np.pad(truth, missing, constant_values=IGNORE)
    return Sample(images[None], np.pad(known, missing), padded)
