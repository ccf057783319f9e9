"""Images to train on: read at the resolution of the base model, with their labels, a part of which is held out.

Scope: the steps from files to labeled images, each in a module of its own. Independent of models.
"""

from __future__ import annotations

from ..events import Reporter
from ..geodata.grid import grid_of
from ..geodata.rasters import Band, open_raster
from ..geodata.road_classes import RoadClass
from ..jobs import FineTune
from .label_checks import check_labels
from .label_edges import EDGE_M, ignore_edges
from .labeled_images import LabeledImage, read_drawing, read_labeled_images, with_common_scaling
from .validation_split import split_for_validation

# An image is not upsampled by more than this, each way, for its base model: it would show no more than before.
MAX_ENLARGEMENT = 4.0
# Side of the blocks of which some are held out.
_BLOCK_PX = 256


def read_training_images(
    job: FineTune, base_m: float, base_bands: tuple[Band, ...], reporter: Reporter
) -> tuple[list[LabeledImage], tuple[RoadClass, ...]]:
    """Return the images with their labels, split for validation, and the road classes that are drawn.

    Parameters
    ----------
    base_m : float
        Ground resolution of the base model in meters; 0 without one.
    base_bands : tuple of Band
        Bands of the base model; empty without one.
    """
    reporter.progress(0.0, "Reading images and drawn roads")
    drawing = read_drawing(job.roads, job.aoi, job, job.class_field, job.speed_field)
    resolution_m = _resolution_m(job, base_m, reporter)
    images = read_labeled_images(job.rasters, drawing, resolution_m, job.bands, base_bands, reporter)
    images = split_for_validation(with_common_scaling(images), job.validation_share, _BLOCK_PX, job.seed)
    reporter.progress(0.01, "Comparing the drawn roads with the images")
    check_labels(images, drawing, reporter)
    if drawing.classes:
        names = ", ".join(f"{road_class.name} ({road_class.speed_kmh:g} km/h)" for road_class in drawing.classes)
        reporter.log(f"Training on {len(drawing.classes)} road classes: {names}.")
    return [ignore_edges(image, EDGE_M) for image in images], drawing.classes


def _resolution_m(job: FineTune, base_m: float, reporter: Reporter) -> float:
    """Return the ground resolution to train at, in meters; 0 for the first image's own."""
    if job.resolution_m or not base_m:
        return job.resolution_m
    with open_raster(job.rasters[0]) as dataset:
        own_m = grid_of(dataset).resolution_m
    if own_m <= MAX_ENLARGEMENT * base_m:
        return base_m
    reporter.warning(
        f"The ground resolution of {job.rasters[0]} is {own_m:.3g} m, that of the base model "
        f"{base_m:.3g} m. The model is trained at the image's own resolution."
    )
    return 0.0
