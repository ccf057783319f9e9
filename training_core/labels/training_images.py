"""Images to train on: read at the resolution of the base model, with their labels, a part of which is held out.

Scope: the steps from files to labeled images, the split into training and validation by square blocks, and which of
many images are at hand for a batch. Independent of models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Optional, TypeVar

import numpy as np

from ..errors import LabelError
from ..events import Reporter
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..geodata.rasters import ModelInput
from ..geodata.road_classes import RoadClass
from ..jobs import FineTune
from ..jobs.recipe import IMAGE
from ..system import large_arrays
from .drawing import Drawing, near_edges
from .label_checks import check_labels
from .label_offset import move_onto
from .labeled_images import (
    READ_FRACTION,
    ImagePart,
    LabeledImage,
    count_labels,
    find_images,
    read_labeled_image,
    read_labeled_images,
    read_truth,
    with_common_scaling,
)

# So few images, or so few pixels, are all read before the first step; otherwise a sample of their parts.
FEW_IMAGES, SAMPLE_PX, PART_PX = 8, 1 << 25, 1024
# Side of the blocks of which some are held out.
_BLOCK_PX = 256
# Distance from the edge of a drawn road, on the ground, within which labels are ignored: a drawn width is never exact.
EDGE_M = 0.5
# Smaller blocks are correlated with their neighbors. With few blocks, chance decides how much road each side gets.
MIN_BLOCK_PX, DRAWS = 32, 16
# Items at hand, and batches after which the oldest of them gives its place to another one.
ITEMS_AT_HAND, BATCHES_PER_EXCHANGE = 8, 4
_Part = TypeVar("_Part")
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class TrainingImages:
    """Images in memory, some of whose labels are held out, and others, read when it is their turn to be learned from.

    The images in memory are all there are, or a random sample of their parts: then the number of labeled pixels is
    estimated from it. `paths` are of all images. `read` returns one of the others with its labels. The classes are
    those of the drawn roads.
    """

    in_memory: list[LabeledImage]
    labeled_px: int
    paths: list[str]
    others: list[ImagePart]
    read: Callable[[ImagePart], Optional[LabeledImage]]
    classes: tuple[RoadClass, ...]


def read_training_images(job: FineTune, base: Optional[ModelInput], reporter: Reporter) -> TrainingImages:
    """Return the images of a job, a fraction of the labels of those in memory split off for validation.

    They are read as the base model takes them. Raises ImageryError, LayerError or LabelError; see `read_truth`,
    `find_images` and `read_labeled_images`.
    """
    truth = read_truth(job, job.aoi, job.rasters, reporter, job.class_field, job.speed_field)
    images = find_images(job.rasters, truth, job.resolution_m, job.bands, base, reporter)
    if job.move_roads and isinstance(truth, Drawing):
        truth = move_onto(images, truth, reporter)
    is_sampled = len(images) > FEW_IMAGES and sum(image.px for image in images) > SAMPLE_PX and job.sample != IMAGE
    parts = images
    if is_sampled:
        parts = [part for image in images for part in image.split(max(PART_PX, job.chip_px))]
        parts = [parts[number] for number in np.random.default_rng(job.seed).permutation(len(parts))]
    read, count = read_labeled_images(parts, truth, reporter, SAMPLE_PX if is_sampled else math.inf)
    read = split_for_validation(with_common_scaling(read), job.validation_share, _BLOCK_PX, job.seed)
    if isinstance(truth, Drawing):
        reporter.progress(READ_FRACTION, "Comparing the drawn roads with the images")
        check_labels(read, truth, reporter, is_sampled)
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
        classes=truth.classes if isinstance(truth, Drawing) else (),
    )


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


class ShuffleBuffer(Generic[_Part, _Item]):
    """A few of many items in memory at a time, exchanged one by one, so that memory does not grow.

    Which items are at hand depends on the seed and the batch's number alone. Their order is drawn anew once each has
    had its turn. There is at least one part. `read` returns the item of a part, or None where there is none.
    """

    def __init__(self, parts: Sequence[_Part], read: Callable[[_Part], Optional[_Item]], seed: int) -> None:
        self._parts, self._read, self._seed = parts, read, seed
        self._at_hand: dict[int, Optional[_Item]] = {}

    def weight(self, batch: int) -> float:
        """Return how many parts each of those read for a batch stands for."""
        return len(self._parts) / len(self._turns(batch))

    def at_hand(self, batch: int) -> list[_Item]:
        """Return the items at hand for a batch, the oldest first; those not in memory are read."""
        self._at_hand = {
            turn: self._at_hand[turn] if turn in self._at_hand else self._read(self._part(turn))
            for turn in self._turns(batch)
        }
        return [item for item in self._at_hand.values() if item is not None]

    def _turns(self, batch: int) -> range:
        newest = batch // BATCHES_PER_EXCHANGE
        # The first batch waits for a single part.
        return range(max(0, newest + 1 - min(ITEMS_AT_HAND, len(self._parts))), newest + 1)

    def _part(self, turn: int) -> _Part:
        number, place = divmod(turn, len(self._parts))
        return self._parts[np.random.default_rng([self._seed, number]).permutation(len(self._parts))[place]]
