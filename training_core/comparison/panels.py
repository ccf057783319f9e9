"""Panels: squares of labeled images with their predictions, chosen by road and by errors.

Scope: labeled images, truth and predictions. Independent of how a report shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..geodata.pixel_codes import IGNORE, ROAD, reaches, to_byte
from ..labels.labeled_images import LabeledImage, window_reader
from ..segmentation.inference import Predictor
from ..segmentation.pixel_metrics import Confusion

PANEL_PX, CONTEXT_PX = 320, 64
# Pixels that are computed for a panel.
COMPUTED_PX = (PANEL_PX + 2 * CONTEXT_PX) ** 2


@dataclass(frozen=True)
class Panel:
    """A square of an image, (height, width, 3) uint8, with its labels and its prediction, (height, width).

    Labels are uint8: 0 background, 1 road, 255 ignored. Probabilities are uint8: 0 to 254 for 0 to 1, 255 no data.
    """

    image: np.ndarray
    truth: np.ndarray
    probability: np.ndarray
    caption: str = ""


def make_panels(predictor: Predictor, images: list[LabeledImage], count: int) -> list[Panel]:
    """Return at most `count` panels, PANEL_PX wide, with the most held-out road, none of which overlap."""
    places = sorted(
        (-road, number, row, column)
        for number, image in enumerate(images)
        for road, row, column in _places(image.validation == ROAD, PANEL_PX // 2)
    )
    chosen = _disjoint([place[1:] for place in places])[:count]
    return [_panel(predictor, images[number], row, column) for number, row, column in chosen]


@dataclass(frozen=True)
class ScoredPlace:
    """A scored square: its true road pixels, its wrong pixels, and its panel."""

    road_px: int
    wrong_px: int
    panel: Panel


def scored_places(
    name: str,
    bands: Sequence[str],
    read: Callable[..., tuple[np.ndarray, np.ndarray]],
    truth: np.ndarray,
    probability: np.ndarray,
    threshold: float,
    count: int,
) -> list[ScoredPlace]:
    """Return the squares of PANEL_PX of an image with the most road, and those with the most wrong pixels.

    Truth is (height, width), uint8: 0 background, 1 road, 255 ignored. Probability is (height, width), uint8: 0 to 254
    for 0 to 1, 255 no data. From the threshold on a pixel is road. `read` is as `Image.read`, in pixels of the truth,
    and returns the named bands. There are `count` squares of either kind, at most.
    """
    is_road = truth == ROAD
    is_wrong = (reaches(probability, threshold) != is_road) & (truth != IGNORE)
    corners = {
        corner
        for where in (is_road, is_wrong)
        for corner in _disjoint([(0, *place[1:]) for place in sorted(_places(where, PANEL_PX), reverse=True)])[:count]
    }
    places = []
    for _, row, column in _disjoint(sorted(corners)):
        square, predicted = _square(truth, row, column), _square(probability, row, column)
        values, known = read(column, row, square.shape[1], square.shape[0])
        confusion = Confusion()
        confusion.add(predicted, square)
        scores = confusion.scores(threshold)
        caption = f"{name}: F1 {scores.f1:.3f} here, precision {scores.precision:.3f}, recall {scores.recall:.3f}"
        picture = to_picture(values, known, bands, stretch_limits(values, known))
        road_px, wrong_px = (int(_square(where, row, column).sum()) for where in (is_road, is_wrong))
        places.append(ScoredPlace(road_px, wrong_px, Panel(picture, square, predicted, caption)))
    return places


def select_places(places: Iterable[ScoredPlace], count: int) -> list[ScoredPlace]:
    """Return at most `count` places: half by most road, then by most wrong pixels among the others."""
    by_road = sorted(places, key=lambda place: -place.road_px)
    most_road, others = by_road[: count - count // 2], by_road[count - count // 2 :]
    return most_road + sorted(others, key=lambda place: -place.wrong_px)[: count // 2]


def _places(where: np.ndarray, step_px: int) -> list[tuple[int, int, int]]:
    """Return the count of true pixels in squares of an image, where there are any, with row and column of the square.

    The last squares of a row or column are moved inside, and so may overlap the ones before.
    """
    rows, columns = ({min(at, max(0, size - PANEL_PX)) for at in range(0, size, step_px)} for size in where.shape)
    counts = [(int(_square(where, row, column).sum()), row, column) for row in rows for column in columns]
    return [place for place in counts if place[0]]


def _disjoint(places: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return the places (image, row, column) whose squares overlap none of an earlier one."""
    kept: list[tuple[int, int, int]] = []
    for image, row, column in places:
        if all(image != other or max(abs(row - y), abs(column - x)) >= PANEL_PX for other, y, x in kept):
            kept.append((image, row, column))
    return kept


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
    caption = f"{image.name.rpartition('/')[2]}, {(truth != IGNORE).mean():.0%} of it held out"
    picture = to_picture(values, known, [band.name for band in image.bands], stretch_limits(image.values, image.known))
    return Panel(picture, truth, to_byte(probability, known), caption)


def stretch_limits(values: np.ndarray, known: np.ndarray) -> list[tuple[float, float]]:
    """Return each band's 1st and 99th percentile where there are data; (0, 1) without data.

    Values are (bands, height, width) of any dtype, known (height, width) bool.
    """
    if not known.any():
        return [(0.0, 1.0)] * len(values)
    step = max(1, int(known.sum()) // 100_000)
    return [tuple(np.percentile(band[known][::step].astype(float), (1, 99))) for band in values]


def to_picture(
    values: np.ndarray, known: np.ndarray, bands: Sequence[str], limits: Sequence[tuple[float, float]]
) -> np.ndarray:
    """Return image values as an RGB picture, (height, width, 3) uint8, contrast-stretched.

    Values are (bands, height, width) of any dtype, known (height, width) bool. Red, green and blue are shown as such;
    else the first three bands, or the first one as gray. Limits of each band become black and white.
    """
    names = list(bands)
    if {"red", "green", "blue"} <= set(names):
        shown = [names.index(color) for color in ("red", "green", "blue")]
    else:
        shown = [0, 1, 2] if len(names) >= 3 else [0, 0, 0]
    picture = np.zeros((*known.shape, 3), dtype=np.uint8)
    for channel, index in enumerate(shown):
        low, high = limits[index]
        with np.errstate(invalid="ignore"):  # NaN is not known either
            stretched = (values[index].astype(np.float64) - low) / max(high - low, 1e-9) * 255
            picture[..., channel] = np.where(known, np.clip(stretched, 0, 255), 0)
    return picture
