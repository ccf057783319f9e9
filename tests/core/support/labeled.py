"""Labeled images made by hand."""

from __future__ import annotations

import numpy as np
from affine import Affine
from rasterio.crs import CRS

from tests.core.support.rasters import NORTH_UP, UTM
from training_core.geodata.grid import Grid
from training_core.geodata.pixel_codes import IGNORE
from training_core.geodata.rasters import Band
from training_core.labels.labeled_images import LabeledImage


def labeled_image(
    training: np.ndarray, values: np.ndarray, resolution_m: float = 1.0, **others: object
) -> LabeledImage:
    """Return an image all of whose pixels are known, with labels to train on, and none to validate with.

    Its bands have mean 0 and deviation 1.
    """
    height, width = training.shape
    grid = Grid(CRS.from_string(UTM), NORTH_UP @ Affine.scale(resolution_m), width, height)
    usual = {
        "name": "image.tif",
        "known": np.ones(training.shape, bool),
        "validation": np.full_like(training, IGNORE),
        "bands": tuple(Band(f"band {number}") for number in range(len(values))),
    }
    return LabeledImage(grid=grid, values=values, training=training, **{**usual, **others})
