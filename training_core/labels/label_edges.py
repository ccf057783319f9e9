"""Edge tolerance: training labels near the edge of a drawn road are ignored, since a drawn width is never exact.

Scope: label rasters. Independent of images and of the model. Roads so narrow that nothing else of them would remain
keep their pixels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import binary_dilation, binary_erosion

from ..geodata.pixel_codes import IGNORE, ROAD
from ..system import large_arrays
from .labeled_images import LabeledImage

# Distance from the edge of a drawn road, on the ground, within which a training ignores labels.
EDGE_M = 0.5


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


def near_edges(road: np.ndarray, known: np.ndarray, radius_px: int) -> np.ndarray:
    """Return which labeled pixels are near an edge, of road and known ones, all (height, width), bool."""
    if not radius_px:
        return np.zeros(road.shape, dtype=bool)
    core = road & binary_erosion(road | ~known, _disk(radius_px), border_value=1)
    # Reaches any pixel of a road from its core, so pixels out of its reach belong to roads too narrow for a core.
    wide = binary_dilation(core, _disk(2 * radius_px))
    outside = known & ~road & binary_dilation(road, _disk(radius_px))
    return outside | (road & ~core & wide)


def _disk(radius_px: int) -> np.ndarray:
    rows, columns = np.ogrid[-radius_px : radius_px + 1, -radius_px : radius_px + 1]
    return rows**2 + columns**2 <= radius_px**2
