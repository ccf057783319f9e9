"""Images to train on: read at the resolution of the base model, with their labels, a part of which is held out.

Scope: the steps from files to labeled images, each in a module of its own. Independent of models.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..events import Reporter
from ..geodata.grid import grid_of
from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.rasters import Band, open_raster
from ..system import large_arrays
from .label_checks import check_labels
from .label_raster import near_edges
from .labeled_images import READ_FRACTION, Drawing, LabeledImage, Truth, read_labeled_images, with_common_scaling
from .validation_split import split_for_validation

# An image is not upsampled by more than this, each way, for its base model: it would show no more than before.
MAX_ENLARGEMENT = 4.0
# Side of the blocks of which some are held out.
_BLOCK_PX = 256
# Distance from the edge of a drawn road, on the ground, within which labels are ignored: a drawn width is never exact.
EDGE_M = 0.5


def read_training_images(
    paths: tuple[str, ...],
    truth: Truth,
    resolution_m: float,
    bands: tuple[int, ...],
    base_bands: tuple[Band, ...],
    held_out: float,
    seed: int,
    reporter: Reporter,
) -> list[LabeledImage]:
    """Return the images, see `read_labeled_images`, with a fraction of labels, `held_out`, split off for validation."""
    images = read_labeled_images(paths, truth, resolution_m, bands, base_bands, reporter)
    images = split_for_validation(with_common_scaling(images), held_out, _BLOCK_PX, seed)
    if isinstance(truth, Drawing):
        reporter.progress(READ_FRACTION, "Comparing the drawn roads with the images")
        check_labels(images, truth, reporter)
        if truth.classes:
            names = ", ".join(f"{road_class.name} ({road_class.speed_kmh:g} km/h)" for road_class in truth.classes)
            reporter.log(f"Training on {len(truth.classes)} road classes: {names}.")
    return [ignore_edges(image, EDGE_M) for image in images]


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
