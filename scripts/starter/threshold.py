"""The starter's threshold: the one with the best relaxed F1 on held-out scenes and real ground.

Where labels are lines, whose width is not that of the road, or areas drawn roughly, F1 pixel by pixel prefers masks
that are too wide; within a tolerance, only what is no road at all counts as false.

Scope: a predictor and labeled images. Independent of training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scripts.starter.held_out import SCENES, ground_images
from scripts.starter.real_ground import DUBAI, MASSACHUSETTS, Ground
from training_core.geodata.pixel_codes import ROAD
from training_core.labels.labeled_images import LabeledImage
from training_core.segmentation.inference import Predictor
from training_core.segmentation.pixel_metrics import RelaxedCounts, relaxed_matches

THRESHOLDS = tuple(np.round(np.arange(0.15, 0.7, 0.05), 2).tolist())
# Lines of OpenStreetMap are displaced by more than drawn areas are wrong.
TOLERANCE_M = {SCENES: 3.0, MASSACHUSETTS: 5.0, DUBAI: 3.0}


def drawn_images(grounds: Iterable[Ground], resolution_m: float) -> dict[str, list[LabeledImage]]:
    """Return squares of real ground as labeled images by source, labeled as they were drawn.

    Parameters
    ----------
    resolution_m : float
        Ground resolution of the model.
    """
    drawn = (replace(ground, labels=ground.truth) for ground in grounds if ground.source in TOLERANCE_M)
    return ground_images(drawn, resolution_m)


def relaxed_f1(
    predictor: Predictor, images: Mapping[str, Sequence[LabeledImage]], resolution_m: float
) -> dict[str, np.ndarray]:
    """Return relaxed F1 by source at each of THRESHOLDS: (thresholds,), float64.

    Parameters
    ----------
    images : mapping of str to sequence of LabeledImage
        By source; those of others than TOLERANCE_M do not count.
    resolution_m : float
        Ground size of their pixels.
    """
    found = {}
    for source in TOLERANCE_M.keys() & images.keys():
        counts = [RelaxedCounts() for _ in THRESHOLDS]
        for image in images[source]:
            if not (image.validation == ROAD).any():
                continue
            probability = predictor.probability(image.values, image.known)
            for number, threshold in enumerate(THRESHOLDS):
                mask = probability >= threshold
                matches = relaxed_matches(mask, image.validation, TOLERANCE_M[source], (resolution_m, resolution_m))
                counts[number] += matches.counts()
        found[source] = np.array([each.f1 for each in counts])
    return found


def best_threshold(f1: Mapping[str, np.ndarray]) -> float:
    """Return the one of THRESHOLDS with the best mean over sources.

    Parameters
    ----------
    f1 : mapping of str to ndarray (thresholds,), float64
        By source, as `relaxed_f1` returns it.
    """
    return THRESHOLDS[int(np.mean(list(f1.values()), axis=0).argmax())]
