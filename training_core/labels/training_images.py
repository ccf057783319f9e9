"""Images to train on: read at the resolution of the base model, with their labels, a part of which is held out.

Scope: the steps from files to labeled images, each in a module of its own. Independent of models.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

from ..events import Reporter
from ..geodata.grid import grid_of
from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.rasters import Band, open_raster
from ..jobs import FineTune
from ..jobs.recipe import IMAGE
from ..system import large_arrays
from .drawing import Drawing, Truth
from .label_checks import check_labels, check_sample
from .label_offset import move_onto
from .label_raster import near_edges
from .labeled_images import (
    READ_FRACTION,
    ImagePart,
    LabeledImage,
    count_labels,
    find_images,
    read_labeled_image,
    read_labeled_images,
    with_common_scaling,
)
from .validation_split import split_for_validation

# An image is not upsampled by more than this, each way, for its base model: it would show no more than before.
MAX_ENLARGEMENT = 4.0
# So few images, or so few pixels, are all read before the first step; otherwise a sample of their parts.
FEW_IMAGES, SAMPLE_PX, PART_PX = 8, 1 << 25, 1024
# Side of the blocks of which some are held out.
_BLOCK_PX = 256
# Distance from the edge of a drawn road, on the ground, within which labels are ignored: a drawn width is never exact.
EDGE_M = 0.5


@dataclass(frozen=True)
class TrainingImages:
    """Images in memory, some of whose labels are held out, and others, read when it is their turn to be learned from.

    The images in memory are all there are, or a random sample of their parts: then the number of labeled pixels is
    estimated from it. `paths` are of all images. `read` returns one of the others with its labels.
    """

    in_memory: list[LabeledImage]
    labeled_px: int
    paths: list[str]
    others: list[ImagePart]
    read: Callable[[ImagePart], Optional[LabeledImage]]


def read_training_images(
    job: FineTune, truth: Truth, resolution_m: float, base_bands: tuple[Band, ...], reporter: Reporter
) -> TrainingImages:
    """Return the images of a job, a fraction of the labels of those in memory split off for validation.

    Raises ImageryError or LabelError; see `find_images` and `read_labeled_images`.
    """
    images = find_images(job.rasters, truth, resolution_m, job.bands, base_bands, reporter)
    if job.move_roads and isinstance(truth, Drawing):
        truth = move_onto(images, truth, reporter)
    is_sampled = len(images) > FEW_IMAGES and sum(image.px for image in images) > SAMPLE_PX and job.sample != IMAGE
    parts = shuffled_parts(images, max(PART_PX, job.chip_px), job.seed) if is_sampled else images
    read, count = read_labeled_images(parts, truth, reporter, SAMPLE_PX if is_sampled else math.inf)
    read = split_for_validation(with_common_scaling(read), job.validation_share, _BLOCK_PX, job.seed)
    if isinstance(truth, Drawing):
        reporter.progress(READ_FRACTION, "Comparing the drawn roads with the images")
        (check_sample if is_sampled else check_labels)(read, truth, reporter)
        if truth.classes:
            names = ", ".join(f"{road_class.name} ({road_class.speed_kmh:g} km/h)" for road_class in truth.classes)
            reporter.log(f"Training on {len(truth.classes)} road classes: {names}.")
    in_memory = [ignore_edges(image, EDGE_M) for image in read]
    labeled_px, bands = sum(count_labels(image.training)[0] for image in in_memory), read[0].bands

    def read_other(part: ImagePart) -> Optional[LabeledImage]:
        image = read_labeled_image(part, truth, reporter.silent())
        return image and ignore_edges(replace(image, bands=bands), EDGE_M)

    return TrainingImages(
        in_memory=in_memory,
        labeled_px=labeled_px * sum(part.px for part in parts) // sum(part.px for part in parts[:count]),
        paths=[image.path for image in images] if is_sampled else [image.name for image in read],
        others=parts[count:],
        read=read_other,
    )


def shuffled_parts(images: list[ImagePart], side_px: int, seed: int) -> list[ImagePart]:
    """Return the parts of all images, of at most `side_px` each way, in random order."""
    parts = [part for image in images for part in image.split(side_px)]
    return [parts[number] for number in np.random.default_rng(seed).permutation(len(parts))]


def ignore_edges(image: LabeledImage, edge_m: float) -> LabeledImage:
    """Return the image without training labels within `edge_m`, in whole pixels, of the edges of roads."""
    radius_px = round(edge_m / image.grid.resolution_m)
    if not radius_px:
        return image
    height, width = image.training.shape
    training, margin = large_arrays.allocate((height, width), np.uint8), 3 * radius_px
    for rows in large_arrays.strips(height, width):
        top, bottom = max(0, rows.start - margin), min(height, rows.stop + margin)
        part = image.training[top:bottom]
        ignored = near_edges(part == ROAD, part != IGNORE, radius_px)
        training[rows] = np.where(ignored, IGNORE, part)[rows.start - top : rows.stop - top]
    return replace(image, training=training)


def training_resolution_m(wanted_m: float, base_m: float, path: str, pixel_m: float, reporter: Reporter) -> float:
    """Return the ground resolution to train at, `wanted_m` unless 0, or else `base_m`; 0 for the first image's own."""
    if wanted_m or not base_m:
        return wanted_m
    with open_raster(path) as dataset:
        own_m = grid_of(dataset, pixel_m).resolution_m
    if own_m <= MAX_ENLARGEMENT * base_m:
        return base_m
    reporter.warning(
        f"The ground resolution of {path} is {own_m:.3g} m, that of the base model "
        f"{base_m:.3g} m. The model is trained at the image's own resolution."
    )
    return 0.0
