"""Keeping: writes the model of a session with its card, report and labels, as a fine-tune does.

Scope: card, report and output files. Independent of how the model was trained.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ..errors import OutputError
from ..geodata.grid import Grid
from ..geodata.rasters import Band
from ..geodata.sources import source_name, with_sources
from ..geodata.vector_output import write_layers
from ..jobs import Live
from ..labels.labeled_images import ImageSummary
from ..learning.history import Trained, best_at_threshold
from ..models.base_model import BaseModel
from ..models.engines import NativeEngine
from ..models.model_card import ModelCard
from ..models.model_file import save_model
from ..reports.training_report import TrainingRecord, write_training_report
from ..segmentation.pixel_metrics import Confusion
from ..system import processor
from ..system.machine import versions
from ..system.outputs import Outputs
from .commands import Keep
from .drawn_labels import DrawnLabels
from .label_layers import kept_labels
from .learner import BATCH, CHIP_PX, RATE, RECIPE, Learner
from .scoring import is_telling

_NO_SCORE = "Too few drawn pixels lie in held-out blocks for a score and a threshold."
_STORED = ("batch_size", "accumulation", "optimizer", "frozen_stages")


@dataclass(frozen=True)
class SessionSetup:
    """The base model with its card and digest, the image's grid at the working resolution, and the normalization."""

    job: Live
    base: BaseModel
    card: ModelCard
    base_sha256: str
    grid: Grid
    bands: tuple[Band, ...]
    engine: NativeEngine


def keep(
    command: Keep, setup: SessionSetup, learner: Learner, labels: DrawnLabels, confusion: Confusion
) -> Optional[float]:
    """Write the current model, and the report and labels if requested; all of them or none.

    The confusion counts its held-out pixels. Returns the F1 at the model's threshold; None if too few are held out.
    Raises OutputError if a file cannot be written, or would overwrite an input or existing labels.
    """
    job = setup.job
    if command.labels and os.path.lexists(command.labels):
        raise OutputError(
            f"{command.labels} exists already, and the labels in it would be lost.", "Choose another name."
        )
    kept = best_at_threshold(learner.weights(), confusion)
    if not is_telling(confusion):
        kept = dataclasses.replace(kept, threshold=setup.card.threshold)
    card = _card(setup, learner, labels, kept, is_telling(confusion))
    with Outputs([*with_sources([job.raster]), job.roads, job.aoi, job.no_road, job.base_model]) as outputs:
        path = outputs.stage(command.model)
        report = outputs.stage(command.report) if command.report else None
        layers = kept_labels(labels, setup.grid, job.width_m) if command.labels else {}
        if layers:
            write_layers(outputs.stage(command.labels), layers)
        save_model(path, kept.weights, card)
        if report:
            write_training_report(_record(setup, learner, labels, kept, card), report)
    return kept.scores.f1 if is_telling(confusion) else None


def _card(setup: SessionSetup, learner: Learner, labels: DrawnLabels, kept: Trained, has_score: bool) -> ModelCard:
    base = setup.card
    return ModelCard(
        architecture=setup.base.architecture,
        bands=setup.bands,
        resolution_m=setup.grid.resolution_m,
        threshold=kept.threshold,
        chip_px=CHIP_PX,
        halo_px=base.halo_px,
        training={
            "images": [source_name(setup.job.raster)],
            "labeled_px": sum(labels.labeled_px.values()),
            "minutes": round(learner.history.elapsed_s / 60, 2),
            "steps": learner.history.step,
            **{name: getattr(RECIPE, name) for name in _STORED},
            "learning_rate": RATE,
            "seed": setup.job.seed,
            "base_model": Path(setup.job.base_model).name,
            "base_sha256": setup.base_sha256,
            **({"attribution": base.attribution} if base.attribution else {}),
            "engine": setup.engine.name,
            "precision": setup.engine.precision,
            "processor": processor.name(),
            "notes": [f"Learned while {labels.roads} roads were drawn (live).", *([] if has_score else [_NO_SCORE])],
        },
        metrics=dataclasses.asdict(kept.scores) if has_score else {},
        versions=versions(),
        classes=base.classes,
    )


def _record(
    setup: SessionSetup, learner: Learner, labels: DrawnLabels, kept: Trained, card: ModelCard
) -> TrainingRecord:
    history = learner.history
    return TrainingRecord(
        options={**dataclasses.asdict(setup.job), **{name: getattr(RECIPE, name) for name in _STORED}},
        hardware=processor.name(),
        engine=setup.engine.name,
        precision=setup.engine.precision,
        engine_reason=setup.engine.reason,
        images=[_summary(setup, labels)],
        steps=history.steps,
        validations=history.validations,
        scores=kept.scores if card.metrics else None,
        thresholds=kept.confusion.thresholds.tolist() if card.metrics else (),
        sweep=kept.confusion.sweep() if card.metrics else (),
        threshold=kept.threshold,
        timings_s={"training": history.elapsed_s},
        images_per_s=BATCH * learner.steps_per_s,
        notes=card.training["notes"],
        steps_done=history.step,
        panels=(),
        versions=card.versions,
    )


def _summary(setup: SessionSetup, labels: DrawnLabels) -> ImageSummary:
    held_out = [block for block in labels.labels if labels.is_held_out(block)]
    labeled, road = sum(labels.labeled_px.values()), sum(labels.road_px.values())
    held_px = sum(labels.labeled_px[block] for block in held_out)
    held_road = sum(labels.road_px[block] for block in held_out)
    grid = setup.grid
    return ImageSummary(
        name=source_name(setup.job.raster),
        width=grid.width,
        height=grid.height,
        resolution_m=grid.resolution_m,
        labeled_share=labeled / (grid.width * grid.height),
        road_share=road / max(1, labeled),
        training_px=labeled - held_px,
        validation_px=held_px,
        training_road_share=(road - held_road) / max(1, labeled - held_px),
        validation_road_share=held_road / max(1, held_px),
    )
