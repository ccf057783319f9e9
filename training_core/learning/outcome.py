"""Outcome of a fine-tune: interpolation with the base model, calibration, halo and card.

Scope: a training that has ended. Independent of files.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import torch

from ..events import Reporter
from ..geodata.sources import source_name
from ..jobs import FineTune
from ..jobs.recipe import MUCH_LABELED_PX
from ..models.engines import NativeEngine
from ..models.model_card import ModelCard
from ..segmentation.inference import Predictor
from ..segmentation.measured import AGREEMENT, middles, sufficient_halo_px
from ..system import processor
from ..system.machine import versions
from .calibration import fit_calibration, with_scaled_logits
from .history import History
from .setup import Setup, predictor_of
from .training_loop import Training
from .validation import Validation

# Fraction of the time budget that each of these may take, or is left out: halo measurement, report.
EXTRAS_FRACTION = 0.05
# Fractions of the way from the base model's weights to the fine-tuned ones (Wortsman et al., "Robust fine-tuning of
# zero-shot models", CVPR 2022; benchmarks/README.md has the gain here). The first is taken that validates about as well
# as the fine-tuned model.
FRACTIONS = (0.7, 0.85)
# Cost in validation F1 that is accepted for that: held-out blocks are in-distribution and do not measure forgetting.
TOLERANCE = 0.05
# Options of the recipe that are stored in the model file.
_STORED = ("batch_size", "accumulation", "optimizer", "learning_rate", "encoder_rate", "frozen_stages", "seed")


def interpolate(setup: Setup, training: Training, reporter: Reporter) -> list[str]:
    """Replace the best weights by some between the base model's and them, if these validate about as well.

    Returns a note on it, if so.
    """
    if not _keeps_base(setup):
        return []
    before = training.best.scores.f1
    for fraction in FRACTIONS:
        weights = interpolated(setup.start.base_weights, training.best.weights, fraction)
        if training.take_if_as_good(weights, predictor_of(setup, weights), TOLERANCE):
            text = (
                f"The weights lie {fraction:.0%} of the way from the base model to the fine-tuned model "
                "(interpolation), to keep more of the base model's knowledge. Validation F1 is "
                f"{training.best.scores.f1:.3f} with interpolation and {before:.3f} without."
            )
            reporter.log(text)
            return [text]
    return []


def _keeps_base(setup: Setup) -> bool:
    is_asked = setup.job.interpolation != "no" and setup.training_images.labeled_px < MUCH_LABELED_PX
    return bool(setup.start.base_weights) and is_asked


def calibrate(training: Training) -> None:
    """Calibrate the best weights on held-out blocks."""
    best = training.best
    scale, shift = fit_calibration([best.confusion])
    training.best_so_far = dataclasses.replace(best, weights=with_scaled_logits(best.weights, scale, shift))


def interpolated(
    base: dict[str, torch.Tensor], tuned: dict[str, torch.Tensor], fraction: float
) -> dict[str, torch.Tensor]:
    """Return weights between a base model's (`fraction` 0) and a fine-tuned one's (1): (...), float32 or int64.

    Counters, which are whole numbers, are those of the fine-tuned model.
    """
    return {
        name: base[name].lerp(values, fraction) if values.is_floating_point() else values
        for name, values in tuned.items()
    }


def describe(
    setup: Setup, training: Training, predictor: Predictor, validation: Validation, reporter: Reporter
) -> ModelCard:
    """Return the model's card, with its class accuracy and the halo that its tiles need."""
    job, images, start, history = setup.job, setup.images, setup.start, training.history
    if start.card and training.best.weights is start.base_weights:  # see `start_check`
        return dataclasses.replace(
            start.card,
            architecture=start.architecture,
            classes=start.classes,
            training={**start.card.training, "notes": history.notes},
            metrics=dataclasses.asdict(training.best.scores),
            versions=versions(),
        )
    attribution = start.card.attribution if start.card else {}
    accuracy = _class_accuracy(validation, reporter)
    halo_px = _measured_halo_px(setup, training, predictor, validation, reporter)
    return ModelCard(
        architecture=start.architecture,
        bands=images[0].bands,
        resolution_m=images[0].grid.resolution_m,
        threshold=training.best.threshold,
        # The threshold of the drawn ground is too high elsewhere, as that of the starter is.
        threshold_by_image=start.card is not None and start.card.threshold_by_image and _keeps_base(setup),
        chip_px=setup.chip_px,
        training={
            "images": [source_name(path) for path in setup.training_images.paths],
            "labeled_px": setup.training_images.labeled_px,
            **{name: getattr(job, name) for name in _STORED},
            **facts_of_training(history, setup.plan.engine, job.base_model, start.base_sha256, attribution),
            "notes": history.notes,
        },
        metrics={**dataclasses.asdict(training.best.scores), **accuracy},
        versions=versions(),
        halo_px=halo_px,
        classes=start.classes,
    )


def facts_of_training(
    history: History, engine: NativeEngine, base_model: str, base_sha256: str, attribution: dict[str, str]
) -> dict[str, Any]:
    """Return what the card of a model says of any training; `base_model` is the path or name of the base model."""
    return {
        "minutes": round(history.elapsed_s / 60, 2),
        "steps": history.step,
        "base_model": Path(base_model).name,
        "base_sha256": base_sha256,
        **({"attribution": attribution} if attribution else {}),
        "engine": engine.name,
        "precision": engine.precision,
        "processor": processor.name(),
    }


def _measured_halo_px(
    setup: Setup, training: Training, predictor: Predictor, validation: Validation, reporter: Reporter
) -> int:
    """Return the halo that the model's tiles need, measured if the time budget allows; else that of the base model."""
    most_px = affordable_px(setup.job, validation)
    pieces = list(middles(((image.values, image.known) for image in setup.images), most_px))
    if not pieces:
        base_px = setup.start.base_halo_px
        instead = f"the base model's is used, {base_px} px" if base_px else "it is unknown"
        training.history.notes.append(
            f"The halo that the model's tiles need was not measured, because the time budget is short: {instead}."
        )
        return base_px
    halo_px = sufficient_halo_px(predictor, pieces, training.best.threshold)
    reporter.log(f"Tiles with a halo of {halo_px} px keep {AGREEMENT:.2%} of the mask of an undivided image.")
    return halo_px


def affordable_px(job: FineTune, validation: Validation) -> float:
    """Return how many pixels inference computes in the time of one of the extras, by its measured throughput."""
    return math.inf if job.steps else EXTRAS_FRACTION * job.minutes * 60 * validation.px / validation.seconds


def _class_accuracy(validation: Validation, reporter: Reporter) -> dict[str, float]:
    """Return the fraction of validation road pixels whose class is predicted correctly, if any has a class."""
    if not validation.class_total:
        return {}
    accuracy = validation.class_hits / validation.class_total
    reporter.log(f"Class accuracy: {accuracy:.0%} of the validation road pixels have the right class.")
    return {"class_accuracy": accuracy}
