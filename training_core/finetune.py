"""The job finetune: from images with drawn roads to a model file and a report.

Knows the order of things; each step is another module's.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Optional

import numpy as np
import torch
from torch import nn

from . import processor
from .bundle import ModelCard, load_into, load_weights, save_model
from .chips import ChipSampler, prefetch
from .engines import NATIVE, Engine, choose_engine
from .events import Reporter
from .examples import LabeledImage, read_drawing, read_labeled_images, split_for_validation, with_common_scaling
from .inference import Predictor
from .jobs import FineTune
from .labels import IGNORE, ROAD
from .model import STRIDE_PX, Architecture, adapt_first_layer, build_network
from .outputs import Outputs
from .panels import make_panels
from .report import ImageSummary, TrainingRecord, write_training_report
from .trainer import Trainer
from .training import Budget, History, Trained, train
from .versions import versions

# Trying the engines out takes some ten steps; below this budget they are better spent on learning.
SHORTEST_BUDGET_WITH_TRIAL_MIN = 3.0
PANELS = 6


def run(job: FineTune, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.FineTune`."""
    torch.manual_seed(job.seed)
    torch.set_num_threads(job.threads or torch.get_num_threads())
    with Outputs([*job.rasters, job.roads, job.aoi, job.base_model]) as outputs:
        model_path = outputs.stage(job.model)
        report_path = outputs.stage(job.report) if job.report else None
        base = load_weights(job.base_model) if job.base_model else None
        images = _read_images(job, base[1] if base else None, reporter)
        network, architecture = _start_network(job, images, base)
        chip_px = -(-job.chip_px // STRIDE_PX) * STRIDE_PX
        engine = _choose_engine(job, architecture, chip_px, reporter)
        trainer = Trainer(network, engine)
        batches = prefetch(ChipSampler(images, chip_px, job.seed), job.batch_size)
        budget = Budget(job.minutes * 60, job.learning_rate)
        trained, history = train(trainer, batches, images, budget, reporter.part(0.02, 0.98))
        card = _describe(job, architecture, images, engine, trained, history, chip_px)
        save_model(model_path, trained.weights, card)
        if report_path:
            reporter.progress(0.99, "Writing the report")
            write_training_report(_record(job, images, engine, trained, history, card, reporter.warnings), report_path)
    return {
        "model": job.model,
        **({"report": job.report} if job.report else {}),
        "images_per_s": history.images_per_s,
        "steps": len(history.steps),
        "validation": dataclasses.asdict(trained.scores),
        "threshold": trained.threshold,
        "engine": engine.name,
        "precision": engine.precision,
    }


def _read_images(job: FineTune, base: Optional[ModelCard], reporter: Reporter) -> list[LabeledImage]:
    reporter.progress(0.0, "Reading images and drawn roads")
    drawing = read_drawing(job.roads, job.aoi, job)
    resolution_m = job.resolution_m or (base.resolution_m if base else 0.0)
    known_bands = base.bands if base else ()
    images = read_labeled_images(job.rasters, drawing, resolution_m, job.bands, known_bands, reporter)
    images = split_for_validation(with_common_scaling(images), job.validation_share, 256, job.seed)
    for image in images:
        labeled = max(1, (image.training != IGNORE).sum())
        reporter.log(
            f"{Path(image.name).name}: {image.grid.width} x {image.grid.height} px at {image.grid.resolution_m:.2f} m, "
            f"{labeled:,} px to learn from, {(image.training == ROAD).sum() / labeled:.1%} of them road"
        )
    return images


def _start_network(
    job: FineTune, images: list[LabeledImage], base: Optional[tuple[dict[str, torch.Tensor], ModelCard]]
) -> tuple[nn.Module, Architecture]:
    names = tuple(band.name for band in images[0].bands)
    if base is None:
        architecture = Architecture(in_channels=len(names))
        return build_network(architecture), architecture
    weights, card = base
    architecture = dataclasses.replace(card.architecture, in_channels=len(names))
    network = build_network(architecture)
    load_into(network, adapt_first_layer(weights, card.band_names, names), job.base_model)
    return network, architecture


def _choose_engine(job: FineTune, architecture: Architecture, chip_px: int, reporter: Reporter) -> Engine:
    chips = np.zeros((job.batch_size, architecture.in_channels, chip_px, chip_px), dtype=np.float32)
    labels = np.zeros((job.batch_size, chip_px, chip_px), dtype=np.uint8)
    trainers: dict[str, Trainer] = {}

    def trial(engine: Engine) -> None:
        reporter.check_cancelled()
        if engine.name not in trainers:
            trainers[engine.name] = Trainer(build_network(architecture), engine)
        trainers[engine.name].step(chips, labels, 0.0)

    is_long = job.minutes >= SHORTEST_BUDGET_WITH_TRIAL_MIN
    return choose_engine(job.engine, job.precision, trial if is_long else None, reporter.log)


def _describe(
    job: FineTune,
    architecture: Architecture,
    images: list[LabeledImage],
    engine: Engine,
    trained: Trained,
    history: History,
    chip_px: int,
) -> ModelCard:
    return ModelCard(
        architecture=architecture,
        bands=images[0].bands,
        resolution_m=images[0].grid.resolution_m,
        threshold=trained.threshold,
        chip_px=chip_px,
        training={
            "images": [Path(image.name).name for image in images],
            "labeled_px": int(sum((image.training != IGNORE).sum() for image in images)),
            "minutes": round(history.steps[-1][1] / 60, 2),
            "steps": len(history.steps),
            "batch_size": job.batch_size,
            "learning_rate": job.learning_rate,
            "seed": job.seed,
            "base_model": Path(job.base_model).name,
            "engine": engine.name,
            "precision": engine.precision,
            "processor": processor.name(),
        },
        metrics=dataclasses.asdict(trained.scores),
        versions=versions(),
    )


def _record(
    job: FineTune,
    images: list[LabeledImage],
    engine: Engine,
    trained: Trained,
    history: History,
    card: ModelCard,
    warnings: list[str],
) -> TrainingRecord:
    network = build_network(card.architecture)
    network.load_state_dict(trained.weights)
    native = dataclasses.replace(engine, name=NATIVE)
    predictor = Predictor(native.prepare_inference(network), native, card.bands)
    return TrainingRecord(
        options=dataclasses.asdict(job),
        hardware=processor.name(),
        engine=engine.name,
        precision=engine.precision,
        engine_reason=engine.reason,
        images=[_summary(image) for image in images],
        steps=history.steps,
        validations=history.validations,
        thresholds=trained.confusion.thresholds.tolist(),
        sweep=trained.confusion.sweep(),
        threshold=trained.threshold,
        timings_s=history.timings_s,
        images_per_s=history.images_per_s,
        warnings=warnings,
        panels=make_panels(predictor, images, PANELS),
        versions=card.versions,
    )


def _summary(image: LabeledImage) -> ImageSummary:
    labels = np.minimum(image.training, image.validation)
    known = labels != IGNORE
    height, width = labels.shape
    return ImageSummary(
        name=Path(image.name).name,
        width=width,
        height=height,
        resolution_m=image.grid.resolution_m,
        labeled_share=float(known.mean()),
        road_share=float((labels[known] == ROAD).mean()),
    )
