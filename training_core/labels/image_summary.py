"""Summaries of labeled images: size, ground resolution, and how much of them is labeled, road, and held out.

Scope: label rasters to fractions of pixels. Independent of training and scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.sources import source_name
from .labeled_images import LabeledImage


@dataclass(frozen=True)
class ImageSummary:
    """An image that was trained or scored on, in pixels of the ground resolution that was worked at.

    The labeled fraction of pixels is road or background, and `road_share` is a fraction of these. Without training, the
    labeled pixels for it and the held-out ones for validation are 0.
    """

    name: str
    width: int
    height: int
    resolution_m: float
    labeled_share: float
    road_share: float
    training_px: int = 0
    validation_px: int = 0
    training_road_share: float = 0.0
    validation_road_share: float = 0.0


def summary_of(image: LabeledImage) -> ImageSummary:
    """Return the summary of an image that is split into training and validation."""
    # A pixel is labeled in at most one of both, and IGNORE is the largest code.
    labels = np.minimum(image.training, image.validation)
    height, width = labels.shape
    return ImageSummary(
        name=source_name(image.name),
        width=width,
        height=height,
        resolution_m=image.grid.resolution_m,
        labeled_share=float((labels != IGNORE).mean()),
        road_share=road_share(labels),
        training_px=int((image.training != IGNORE).sum()),
        validation_px=int((image.validation != IGNORE).sum()),
        training_road_share=road_share(image.training),
        validation_road_share=road_share(image.validation),
    )


def road_share(labels: np.ndarray) -> float:
    """Return the fraction of labeled pixels that are road; labels are (height, width), uint8, 255 where ignored."""
    return float((labels == ROAD).sum() / max(1, (labels != IGNORE).sum()))
