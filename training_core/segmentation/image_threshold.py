"""The threshold for the images at hand, from the network's own probabilities there, without labels.

On ground unlike that of its training a network is less certain: roads get lower probabilities, and a threshold that
was chosen elsewhere misses them. So the threshold follows the probabilities down.

Scope: a sample of images and the histogram of its probabilities. Independent of engines, tiles and result rasters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Optional, TypeVar

import numpy as np

from ..events import Reporter
from ..geodata.pixel_codes import CERTAIN, lowest_byte, to_byte
from ..geodata.rasters import open_for_model
from ..models.model_card import ModelCard
from .inference import Predictor
from .work_plan import ImagePlan

# Sampled windows, which are spread evenly over all images, and their side: some seconds of computation.
_WINDOWS, _SIDE_PX = 16, 512
# Usual fraction of road, to which the threshold is lowered, and the lowest threshold. Both were chosen by the tables
# in benchmarks/README.md: on ground that a training left out, that of the starter, and tiles without roads.
_USUAL_ROAD, _LOWEST = 0.05, 0.05
# Where a lower F1 is expected, as on ground without roads, the threshold is not lowered.
_SOME_F1 = 0.3
# From this expected F1 on, the expected fraction of road is believed if it is less.
_SURE_F1 = 0.6
# With less road, or more, an image is not of a town that the model knows.
_MIN_ROAD, _MAX_ROAD = 0.005, 0.5
_T = TypeVar("_T")


def spread(images: Sequence[_T]) -> list[_T]:
    """Return up to as many images as windows are sampled, spread evenly over all, the first among them."""
    count = min(_WINDOWS, len(images))
    return [images[number * len(images) // count] for number in range(count)]


def image_threshold(images: Sequence[ImagePlan], card: ModelCard, predictor: Predictor, reporter: Reporter) -> float:
    """Return the threshold for some images, or the model's own, with a warning, if none is plausible."""
    counts = _sampled_counts(images, predictor)
    reporter.check_cancelled()
    threshold = chosen_threshold(counts)
    if threshold is None:
        reporter.warning(
            f"The probabilities in {images[0].raster} do not look like roads that the model knows, so the model's own "
            f"threshold is used, {card.threshold:.2f}. Check the result, or give a threshold (threshold)."
        )
        return card.threshold
    reporter.log(
        f"Threshold {threshold:.2f}, chosen for these images. The model's own threshold is {card.threshold:.2f}."
    )
    return threshold


def chosen_threshold(counts: np.ndarray) -> Optional[float]:
    """Return the threshold with the best expected F1, lowered to the usual fraction of road; None if not plausible.

    If probabilities are calibrated, those of the pixels from a threshold on sum up to the expected hits, and all of
    them to the expected road; see Lipton et al., "Optimal thresholding of classifiers to maximize F1 measure", 2014. On
    unknown ground they are too low. There the threshold is lowered until `_USUAL_ROAD` of the pixels are road, unless
    so little is expected that there may be no road at all. Where the model is sure of less road than that, it is
    lowered until so much is road.

    Parameters
    ----------
    counts : ndarray (255,), int64
        Pixels by bytes of probability.
    """
    # Pixels that reach each threshold, and how many of them are expected to be road.
    pixels = counts[::-1].cumsum()[::-1]
    road = (counts * np.arange(len(counts)) / CERTAIN)[::-1].cumsum()[::-1]
    f1 = 2 * road / np.maximum(pixels + road[0], 1)
    level = int(f1.argmax())
    if f1[level] >= _SOME_F1:
        # The highest threshold that so many pixels reach, if it is below the one with the best F1.
        usual = _USUAL_ROAD * pixels[0]
        wanted = min(road[0], usual) if f1[level] >= _SURE_F1 else usual
        level = min(level, int(np.flatnonzero(pixels >= wanted)[-1]))
    threshold = max(_LOWEST, level / CERTAIN)
    fraction = pixels[lowest_byte(threshold)] / max(1, pixels[0])
    return threshold if _MIN_ROAD <= fraction <= _MAX_ROAD else None


def _sampled_counts(plans: Sequence[ImagePlan], predictor: Predictor) -> np.ndarray:
    """Return how many pixels of a sample have each probability, by bytes: (255,) int64."""
    counts = np.zeros(CERTAIN + 1, dtype=np.int64)
    for plan in plans:
        with open_for_model(plan.raster, plan.input) as (image, bands):
            normalized = replace(predictor, bands=bands)
            for window in _windows(plan, max(1, _WINDOWS // len(plans))):
                values, known = image.read(*window)
                if known.any():
                    probability = to_byte(normalized.probability(values, known), known)[known]
                    counts += np.bincount(probability, minlength=len(counts))
    return counts


def _windows(plan: ImagePlan, count: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield column, row, width and height of windows in the part to segment, row by row."""
    left, top, width, height = plan.window
    side = min(_SIDE_PX, width), min(_SIDE_PX, height)
    # No more than cover the image.
    columns = max(1, min(round((count * width / height) ** 0.5), count, -(-width // _SIDE_PX)))
    rows = max(1, min(count // columns, -(-height // _SIDE_PX)))
    for row in np.linspace(top, top + height - side[1], rows, dtype=int):
        for column in np.linspace(left, left + width - side[0], columns, dtype=int):
            yield int(column), int(row), *side
