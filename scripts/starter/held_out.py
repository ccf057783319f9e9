"""Scores of a starter on held-out scenes and real ground, their calibration, and the best threshold.

Where labels are lines, whose width is not that of the road, or areas drawn roughly, F1 pixel by pixel prefers masks
that are too wide. So the threshold is the one with the best relaxed F1, which forgives what lies within a tolerance.

Scope: labeled images, and a predictor. Independent of training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scripts.starter.chips import known_place, resample
from scripts.starter.real_ground import DUBAI, MASSACHUSETTS, ROADLESS, SHANGHAI, Ground
from scripts.starter.worlds import World
from training_core.geodata.pixel_codes import IGNORE, ROAD
from training_core.geodata.rasters import Band
from training_core.labels.labeled_images import LabeledImage
from training_core.learning.calibration import fit_calibration
from training_core.learning.validation import held_out_blocks, validate
from training_core.segmentation.inference import Predictor
from training_core.segmentation.pixel_metrics import Confusion, RelaxedCounts, relaxed_matches

SCENES = "scenes"
BANDS = tuple(Band(name, 0.0, 1.0) for name in ("red", "green", "blue"))
THRESHOLDS = tuple(np.round(np.arange(0.15, 0.7, 0.05), 2).tolist())
# Lines of OpenStreetMap are displaced by more than drawn areas are wrong.
TOLERANCE_M = {SCENES: 3.0, MASSACHUSETTS: 5.0, DUBAI: 3.0, SHANGHAI: 3.0}
# Squares of real ground that are scored, of each source, and their side.
_SQUARES, _SIDE_PX = 32, 512


@dataclass(frozen=True)
class HeldOut:
    """Scores of a model by source."""

    confusions: dict[str, Confusion]

    @property
    def joint(self) -> Confusion:
        """That of all sources."""
        return sum(self.confusions.values(), Confusion())

    def f1(self) -> dict[str, float]:
        """Return F1 by source, at the one threshold that is best for all of them together."""
        threshold = self.joint.best_threshold()
        return {source: found.scores(threshold).f1 for source, found in self.confusions.items() if found.road_share}

    def false_share(self) -> float:
        """Return the share of the pixels of roadless tiles that are taken for road at that threshold."""
        if ROADLESS not in self.confusions:
            return 0.0
        _, other = self.confusions[ROADLESS].counts()
        level = round(self.joint.best_threshold() * (len(other) - 1))
        return sum(other[level:]) / max(1, sum(other))

    def calibration(self) -> tuple[float, float]:
        """Return scale and shift of the logits, without lines: what is ignored beside them is mostly road."""
        return fit_calibration(
            found for source, found in self.confusions.items() if source not in (MASSACHUSETTS, SHANGHAI)
        )

    @property
    def score(self) -> float:
        """What training is stopped by: the mean F1 of the sources with roads, less the share of false road."""
        return float(np.mean(list(self.f1().values()))) - self.false_share()


def scene_images(worlds: Iterable[World]) -> list[LabeledImage]:
    """Return scenes as labeled images, all of each held out."""
    return [_as_labeled(world.image.astype(np.float32), world.labels) for world in worlds]


def ground_images(grounds: Iterable[Ground], resolution_m: float, seed: int = 0) -> dict[str, list[LabeledImage]]:
    """Return squares of real ground as labeled images by source, at the resolution of the model, all held out."""
    rng, found = np.random.default_rng(seed), {}
    of_source: dict[str, list[Ground]] = {}
    for ground in grounds:
        of_source.setdefault(ground.source, []).append(ground)
    for source, there in of_source.items():
        images = []
        for number in range(_SQUARES):
            ground = there[number * len(there) // _SQUARES]
            side = min(_SIDE_PX, int(min(ground.labels.shape) * ground.pixel_m / resolution_m) // 32 * 32)
            center = known_place(ground, rng)
            step_px = resolution_m / ground.pixel_m
            inner = np.minimum(side * step_px, ground.labels.shape) / 2
            center = np.clip(center, inner, ground.labels.shape - inner)
            images.append(_as_labeled(*resample(ground, center, step_px, 0.0, side, ground.mean, ground.deviation)))
        found[source] = images
    return found


def _as_labeled(image: np.ndarray, labels: np.ndarray) -> LabeledImage:
    ignored, known = np.full_like(labels, IGNORE), np.ones(labels.shape, dtype=bool)
    return LabeledImage("held-out ground", None, image, known, ignored, labels, BANDS)


def score(predictor: Predictor, images: dict[str, list[LabeledImage]]) -> HeldOut:
    """Score a model on held-out images of each source."""
    return HeldOut({name: validate(predictor, held_out_blocks(each, 0)).confusion for name, each in images.items()})


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
