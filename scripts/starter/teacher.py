"""Self-training: labels of real ground as a model sees it that has learned from real ground before.

Displaced lines are moved onto the roads that it sees beside them, and tiles without labels get those it is sure of.

Scope: real ground, its labels, and a model. Independent of training.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from scripts.starter.chips import resample
from scripts.starter.real_ground import MASSACHUSETTS, TOWNS, Ground, distance_px
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.geodata.tiling import tile_grid
from training_core.segmentation.inference import Predictor

# Probability from which a pixel beside a line is road, and below which it is none.
_ROAD_BESIDE, _NONE_BESIDE = 0.4, 0.15
# The same where there is no line that says so.
_SURE_ROAD, _SURE_NONE = 0.5, 0.08
# A line is displaced by no more than that.
_DISPLACED_PX = 6.0
_CORE_PX, _HALO_PX = 1024, 128


def taught(grounds: Iterable[Ground], predictor: Predictor, resolution_m: float) -> list[Ground]:
    """Return real ground, those images relabeled whose labels are displaced or absent.

    Parameters
    ----------
    predictor : Predictor
        Of the teacher, whose input is normalized beforehand.
    resolution_m : float
        Ground resolution at which the teacher sees images that are coarser.
    """
    relabel = {MASSACHUSETTS: moved_lines, TOWNS: sure_labels}
    return [
        with_labels(ground, relabel[ground.source](ground.labels, probability(ground, predictor, resolution_m)))
        if ground.source in relabel
        else ground
        for ground in grounds
    ]


def with_labels(ground: Ground, labels: np.ndarray) -> Ground:
    """Return real ground with other labels, (height, width), uint8."""
    return replace(ground, labels=labels, roads=np.flatnonzero(labels == ROAD))


def probability(ground: Ground, predictor: Predictor, resolution_m: float) -> np.ndarray:
    """Return the road probability of an image, at its own pixels.

    Parameters
    ----------
    resolution_m : float
        The image is enlarged to it, by a whole factor.

    Returns
    -------
    ndarray (height, width), float32
    """
    factor = max(1, round(ground.pixel_m / resolution_m))
    found = np.zeros(tuple(factor * side for side in ground.labels.shape), dtype=np.float32)
    for tile in tile_grid(found.shape[1], found.shape[0], _CORE_PX, _HALO_PX):
        column, row, width, height = tile.read_window
        side = max(width, height)
        center = ((row + side / 2) / factor, (column + side / 2) / factor)
        image, _ = resample(ground, center, 1 / factor, 0.0, side, ground.mean, ground.deviation)
        known = np.ones((height, width), dtype=bool)
        found[tile.destination] = predictor.probability(image[:, :height, :width], known)[tile.core]
    rows, columns = ground.labels.shape
    return found.reshape(rows, factor, columns, factor).mean((1, 3))


def moved_lines(labels: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return labels of displaced lines, moved to where the teacher sees the road.

    Where it sees none beside the line, the line stays: that is what it has missed.

    Parameters
    ----------
    labels : ndarray (height, width), uint8
        As `real_ground.displaced_lines` returns them.
    probability : ndarray (height, width), float32

    Returns
    -------
    ndarray (height, width), uint8
    """
    line_px = distance_px(labels == ROAD)
    may_be_road = (labels != BACKGROUND) & (line_px <= 2 * _DISPLACED_PX)
    seen = may_be_road & (probability >= _ROAD_BESIDE)
    is_settled = may_be_road & (distance_px(seen) <= _DISPLACED_PX)
    moved = labels.copy()
    moved[is_settled] = np.where(probability[is_settled] < _NONE_BESIDE, BACKGROUND, IGNORE)
    moved[seen] = ROAD
    return moved


def sure_labels(labels: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return labels, (height, width), uint8, where the teacher is sure, and those that there are elsewhere."""
    labels = labels.copy()
    labels[probability >= _SURE_ROAD] = ROAD
    labels[probability <= _SURE_NONE] = BACKGROUND
    return labels
