"""Images to train on: read at the resolution of the base model, with their labels, a part of which is held out.

Scope: the steps from files to labeled images, each in a module of its own. Independent of models.
"""

from __future__ import annotations

from ..events import Reporter
from ..geodata.grid import grid_of
from ..geodata.rasters import Band, open_raster
from .label_checks import check_labels
from .label_edges import EDGE_M, ignore_edges
from .labeled_images import Drawing, LabeledImage, read_labeled_images, with_common_scaling
from .validation_split import split_for_validation

# An image is not upsampled by more than this, each way, for its base model: it would show no more than before.
MAX_ENLARGEMENT = 4.0
# Side of the blocks of which some are held out.
_BLOCK_PX = 256


def read_training_images(
    paths: tuple[str, ...],
    drawing: Drawing,
    resolution_m: float,
    bands: tuple[int, ...],
    base_bands: tuple[Band, ...],
    held_out: float,
    seed: int,
    reporter: Reporter,
) -> list[LabeledImage]:
    """Return the images, see `read_labeled_images`, with a fraction of labels, `held_out`, split off for validation."""
    images = read_labeled_images(paths, drawing, resolution_m, bands, base_bands, reporter)
    images = split_for_validation(with_common_scaling(images), held_out, _BLOCK_PX, seed)
    reporter.progress(0.01, "Comparing the drawn roads with the images")
    check_labels(images, drawing, reporter)
    if drawing.classes:
        names = ", ".join(f"{road_class.name} ({road_class.speed_kmh:g} km/h)" for road_class in drawing.classes)
        reporter.log(f"Training on {len(drawing.classes)} road classes: {names}.")
    return [ignore_edges(image, EDGE_M) for image in images]


def training_resolution_m(wanted_m: float, base_m: float, path: str, reporter: Reporter) -> float:
    """Return the ground resolution to train at, `wanted_m` unless 0, or else `base_m`; 0 for the first image's own."""
    if wanted_m or not base_m:
        return wanted_m
    with open_raster(path) as dataset:
        own_m = grid_of(dataset).resolution_m
    if own_m <= MAX_ENLARGEMENT * base_m:
        return base_m
    reporter.warning(
        f"The ground resolution of {path} is {own_m:.3g} m, that of the base model "
        f"{base_m:.3g} m. The model is trained at the image's own resolution."
    )
    return 0.0
