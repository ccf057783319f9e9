"""Pieces of the ground kept apart, as pictures beside what a model says of them.

Knows labeled images and predictions; knows nothing of how a report shows them.
"""

from __future__ import annotations

import numpy as np

from .examples import LabeledImage
from .inference import Predictor, to_byte
from .labels import IGNORE, ROAD
from .report import Panel
from .trainer import window_reader

PANEL_PX, CONTEXT_PX = 320, 96


def make_panels(predictor: Predictor, images: list[LabeledImage], count: int) -> list[Panel]:
    """Return panels of the places with the most road kept apart, at most one for each square of PANEL_PX."""
    places = sorted(
        ((-road, number, row, column) for number, image in enumerate(images) for road, row, column in _places(image))
    )
    return [_panel(predictor, images[number], row, column) for _, number, row, column in places[:count]]


def _places(image: LabeledImage) -> list[tuple[int, int, int]]:
    """Return the amount of road kept apart in each square of an image, with its row and column.

    The last squares of a row or column are moved inside, and so may overlap.
    """
    rows, columns = (
        {min(at, max(0, size - PANEL_PX)) for at in range(0, size, PANEL_PX)} for size in image.known.shape
    )
    corners = [(row, column) for row in rows for column in columns]
    road = [(int((_square(image.validation, *corner) == ROAD).sum()), *corner) for corner in corners]
    return [place for place in road if place[0]]


def _square(array: np.ndarray, row: int, column: int) -> np.ndarray:
    return array[..., row : row + PANEL_PX, column : column + PANEL_PX]


def _panel(predictor: Predictor, image: LabeledImage, row: int, column: int) -> Panel:
    values, known, truth = (_square(array, row, column) for array in (image.values, image.known, image.validation))
    height, width = truth.shape
    top, left = max(0, row - CONTEXT_PX) // 32 * 32, max(0, column - CONTEXT_PX) // 32 * 32
    bottom = min(image.known.shape[0], row + height + CONTEXT_PX)
    right = min(image.known.shape[1], column + width + CONTEXT_PX)
    seen, seen_known = window_reader(image)(left, top, right - left, bottom - top)
    probability = predictor.probability(seen, seen_known)
    probability = probability[row - top : row - top + height, column - left : column - left + width]
    caption = f"{image.name.rpartition('/')[2]}, {(truth != IGNORE).mean():.0%} of it kept apart"
    return Panel(to_picture(values, known, image), truth, to_byte(probability, known), caption)


def to_picture(values: np.ndarray, known: np.ndarray, image: LabeledImage) -> np.ndarray:
    """Return image values (bands, height, width) as a picture (height, width, 3), uint8, stretched band by band.

    Red, green and blue are shown as such; else the first three bands are, or the first alone as gray.
    """
    names = [band.name for band in image.bands]
    if {"red", "green", "blue"} <= set(names):
        shown = [names.index(color) for color in ("red", "green", "blue")]
    else:
        shown = [0, 1, 2] if len(names) >= 3 else [0, 0, 0]
    picture = np.zeros((*known.shape, 3), dtype=np.uint8)
    for channel, index in enumerate(shown):
        seen = image.values[index][image.known]
        low, high = np.percentile(seen[:: max(1, len(seen) // 100_000)], (1, 99)).astype(float)
        stretched = (values[index].astype(np.float64) - low) / max(high - low, 1e-9) * 255
        picture[..., channel] = np.where(known, np.clip(stretched, 0, 255), 0)
    return picture
