"""The job finetune: from images with drawn roads to a model file and a report.

Knows the order of things; each step is another module's.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

import numpy as np
import torch
from torch import nn

from ..errors import Cancelled, JobError
from ..events import Reporter
from ..geodata.grid import grid_of
from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.rasters import open_raster
from ..geodata.road_classes import RoadClass
from ..geodata.tiling import STRIDE_PX
from ..jobs import FineTune, RecipeOptions
from ..labels.label_checks import check_labels
from ..labels.labeled_images import LabeledImage, read_drawing, read_labeled_images, with_common_scaling
from ..labels.validation_split import split_for_validation
from ..learning.checkpoint import (
    Checkpoint,
    CheckpointWriter,
    check_identity,
    checkpoint_path,
    identify,
    read_checkpoint,
)
from ..learning.chips import ChipSampler, prefetch
from ..learning.tensorboard_log import logged
from ..learning.trainer import Trainer
from ..learning.training_loop import Training
from ..learning.training_memory import MemoryPlan, plan_memory
from ..learning.validation import class_hits
from ..models.engines import NATIVE, Engine, choose_engine, choose_precision, why_not_ipex
from ..models.model_card import ModelCard
from ..models.model_file import load_into, load_weights, save_model
from ..models.recompute import recompute_activations
from ..models.unet import Architecture, adapt_first_layer, adapt_head, build_network
from ..reports.panels import make_panels
from ..reports.training_report import ImageSummary, TrainingRecord, write_training_report
from ..segmentation.halo import AGREEMENT, middles, sufficient_halo_px
from ..segmentation.inference import Predictor
from ..system import processor, shutdown
from ..system.outputs import Outputs
from ..system.versions import versions

# Trying the engines out takes some ten steps; below this budget they are better spent on learning.
SHORTEST_BUDGET_WITH_TRIAL_MIN, FEWEST_STEPS_WITH_TRIAL = 3.0, 200
# An image is not enlarged by more than this, each way, for its base model: it would show no more than before.
LARGEST_ENLARGEMENT = 4.0
PANELS = 6
# What of the recipe stands in the model file.
_TOLD = ("batch_size", "accumulation", "optimizer", "learning_rate", "averaging", "frozen_stages", "seed")


def run(job: FineTune, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.FineTune`."""
    torch.manual_seed(job.seed)
    torch.set_num_threads(job.threads or torch.get_num_threads())
    path = checkpoint_path(job.model)
    with (
        Outputs([*job.rasters, job.roads, job.aoi, job.base_model]) as outputs,
        logged(reporter, job.log_folder, job.model, dataclasses.asdict(job)) as reporter,
    ):
        model_path = outputs.stage(job.model)
        report_path = outputs.stage(job.report) if job.report else None
        base = load_weights(job.base_model) if job.base_model else None
        images, classes = _read_images(job, base[1] if base else None, reporter)
        former = _read_former(job, images, path, reporter)
        network, architecture = _start_network(job, images, classes, base)
        chip_px = _chip_px(job, images)
        precision = former.engine.precision if former else choose_precision(job.precision, reporter.log)
        memory = plan_memory(architecture, Engine(NATIVE, precision), job, chip_px, reporter.log)
        engine = former.engine if former else _choose_engine(job, architecture, chip_px, memory, reporter)
        if memory.is_recomputing:
            recompute_activations(network)
        training = _prepare(job, images, network, engine, former, reporter.part(0.02, 0.98))
        writer = CheckpointWriter(path, job.checkpoint_minutes * 60, identify(job, images), engine, reporter)
        with shutdown.critical_section(), writer:  # so that a stopped run can be gone on with
            is_stopped = _train(job, training, images, writer)
        card = _describe(job, architecture, images, classes, engine, training)
        predictor = _predictor(card, engine, training)
        if classes:
            card = _with_class_accuracy(card, predictor, images, reporter)
        pieces = middles((image.values, image.known) for image in images)
        card = dataclasses.replace(card, halo_px=sufficient_halo_px(predictor, pieces, card.threshold))
        reporter.log(f"Tiles with a halo of {card.halo_px} px keep {AGREEMENT:.2%} of the mask of an undivided image.")
        save_model(model_path, training.best.weights, card)
        if report_path:
            reporter.progress(0.99, "Writing the report")
            record = _record(job, images, engine, training, predictor, card, reporter.warnings)
            write_training_report(dataclasses.replace(record, memory_bytes=memory.peak_bytes), report_path)
    if not is_stopped:
        with suppress(OSError):  # the model is complete; what cannot be removed does no harm
            path.unlink()
    return _result(job, training, card, engine, is_stopped)


def _result(job: FineTune, training: Training, card: ModelCard, engine: Engine, is_stopped: bool) -> dict[str, Any]:
    return {
        "model": job.model,
        **({"report": job.report} if job.report else {}),
        "images_per_s": training.history.images_per_s,
        "steps": training.history.step,
        "validation": card.metrics,
        "threshold": training.best.threshold,
        "engine": engine.name,
        "precision": engine.precision,
        "stopped": is_stopped,
    }


def _read_former(job: FineTune, images: list[LabeledImage], path: Path, reporter: Reporter) -> Optional[Checkpoint]:
    """Return the checkpoint to go on from, if any is wanted."""
    if job.resume:
        former = read_checkpoint(path)
        check_identity(former, identify(job, images), path)
        obstacle = why_not_ipex() if former.has_extension else None
        if obstacle:
            reporter.warning(f"The result will differ a little from that of a run without a break: {obstacle}.")
        return former
    if path.exists():
        reporter.warning(f"{path}, of a run that was cut off, is replaced, since resume was not asked for.")
    return None


def _prepare(
    job: FineTune,
    images: list[LabeledImage],
    network: nn.Module,
    engine: Engine,
    former: Optional[Checkpoint],
    reporter: Reporter,
) -> Training:
    """Return the training that is to begin, or to go on."""
    trainer = Trainer(network, engine, job)
    if former is None:
        return Training(trainer, images, job, reporter)
    try:
        trainer.restore(former.state)
    except (KeyError, IndexError, ValueError, RuntimeError) as error:
        raise JobError("The checkpoint does not fit the network.", "Run it without resume.") from error
    text = f"Resumed at step {former.history.step}, after {former.history.elapsed_s / 60:.1f} min of training."
    former.history.notes.append(text)
    reporter.log(f"{text} Engine {engine.name} in {engine.precision}, as before.")
    return Training(trainer, images, job, reporter, former.history, former.best)


def _train(job: FineTune, training: Training, images: list[LabeledImage], writer: CheckpointWriter) -> bool:
    """Train to the end, and return whether the person stopped it before."""
    sampler = ChipSampler(images, _chip_px(job, images), job.seed)
    batches = prefetch(sampler, job.batch_size * job.accumulation, training.history.step)
    try:
        training.run(batches, writer.keep)
        return False
    except Cancelled:
        if not training.history.step:
            raise
        writer.write(training)
        if not job.keep_best:
            raise Cancelled(
                "Stopped; no model was written. The same job with resume goes on from where it was."
            ) from None
    if training.best is None:
        training.validate()
    training.history.notes.append(f"Stopped at step {training.history.step}; this is the best model until then.")
    return True


def _chip_px(job: FineTune, images: list[LabeledImage]) -> int:
    """Return the side of a chip: no larger than the largest image, rounded up to what the network takes."""
    largest_px = max(max(image.known.shape) for image in images)
    return -(-min(job.chip_px, largest_px) // STRIDE_PX) * STRIDE_PX


def _read_images(
    job: FineTune, base: Optional[ModelCard], reporter: Reporter
) -> tuple[list[LabeledImage], tuple[RoadClass, ...]]:
    """Return the images with their labels, and the classes that the network is to tell."""
    reporter.progress(0.0, "Reading images and drawn roads")
    drawing = read_drawing(job.roads, job.aoi, job, job.class_field, job.speed_field)
    resolution_m = _resolution_m(job, base, reporter)
    known_bands = base.bands if base else ()
    images = read_labeled_images(job.rasters, drawing, resolution_m, job.bands, known_bands, reporter)
    images = split_for_validation(with_common_scaling(images), job.validation_share, 256, job.seed)
    reporter.progress(0.01, "Comparing the drawn roads with the images")
    check_labels(images, drawing, reporter)
    if drawing.classes:
        told = ", ".join(f"{each.name} ({each.speed_kmh:g} km/h)" for each in drawing.classes)
        reporter.log(f"{len(drawing.classes)} classes of roads are learned: {told}.")
    elif base and base.classes:
        reporter.warning("The drawn roads tell no classes: those of the base model are kept, but not learned from.")
    return images, drawing.classes or (base.classes if base else ())


def _resolution_m(job: FineTune, base: Optional[ModelCard], reporter: Reporter) -> float:
    """Return the ground resolution at which to learn; 0 for the first image's own."""
    if job.resolution_m or base is None:
        return job.resolution_m
    with open_raster(job.rasters[0]) as dataset:
        own_m = grid_of(dataset).resolution_m
    if own_m <= LARGEST_ENLARGEMENT * base.resolution_m:
        return base.resolution_m
    reporter.warning(
        f"The pixels of {job.rasters[0]} are {own_m:.3g} m on the ground, and those of the base model "
        f"{base.resolution_m:.3g} m. The image is learned from at its own resolution."
    )
    return 0.0


def _start_network(
    job: FineTune,
    images: list[LabeledImage],
    classes: tuple[RoadClass, ...],
    base: Optional[tuple[dict[str, torch.Tensor], ModelCard]],
) -> tuple[nn.Module, Architecture]:
    names = tuple(band.name for band in images[0].bands)
    shape = {"in_channels": len(names), "classes": 1 + len(classes)}
    if base is None:
        architecture = Architecture(**shape)
        return build_network(architecture), architecture
    weights, card = base
    architecture = dataclasses.replace(card.architecture, **shape)
    network = build_network(architecture)
    weights = adapt_first_layer(weights, card.band_names, names)
    old, new = (tuple(each.name for each in told) for told in (card.classes, classes))
    load_into(network, adapt_head(weights, network.state_dict(), old, new), job.base_model)
    return network, architecture


def _choose_engine(
    job: FineTune, architecture: Architecture, chip_px: int, memory: MemoryPlan, reporter: Reporter
) -> Engine:
    chips = np.zeros((job.batch_size, architecture.in_channels, chip_px, chip_px), dtype=np.float32)
    labels = np.zeros((job.batch_size, chip_px, chip_px), dtype=np.uint8)
    trainers: dict[str, Trainer] = {}

    def trial(engine: Engine) -> None:
        reporter.check_cancelled()
        if engine.name not in trainers:
            network = build_network(architecture)
            if memory.is_recomputing:
                recompute_activations(network)
            trainers[engine.name] = Trainer(network, engine, job)
        trainers[engine.name].step(chips, labels, 0.0)

    is_long = job.steps >= FEWEST_STEPS_WITH_TRIAL if job.steps else job.minutes >= SHORTEST_BUDGET_WITH_TRIAL_MIN
    return choose_engine(job.engine, job.precision, trial if is_long else None, reporter.log)


def _describe(
    job: FineTune,
    architecture: Architecture,
    images: list[LabeledImage],
    classes: tuple[RoadClass, ...],
    engine: Engine,
    training: Training,
) -> ModelCard:
    history = training.history
    return ModelCard(
        architecture=architecture,
        bands=images[0].bands,
        resolution_m=images[0].grid.resolution_m,
        threshold=training.best.threshold,
        chip_px=_chip_px(job, images),
        training={
            "images": [Path(image.name).name for image in images],
            "labeled_px": int(sum((image.training != IGNORE).sum() for image in images)),
            "minutes": round(history.elapsed_s / 60, 2),
            "steps": history.step,
            **{field.name: getattr(job, field.name) for field in RecipeOptions.option_fields() if field.name in _TOLD},
            "base_model": Path(job.base_model).name,
            "engine": engine.name,
            "precision": engine.precision,
            "processor": processor.name(),
            "notes": history.notes,
        },
        metrics=dataclasses.asdict(training.best.scores),
        versions=versions(),
        classes=classes,
    )


def _with_class_accuracy(
    card: ModelCard, predictor: Predictor, images: list[LabeledImage], reporter: Reporter
) -> ModelCard:
    """Return a card that tells how many of the road pixels kept apart are told to be of their class."""
    right, total = class_hits(predictor, images)
    if not total:
        return card
    reporter.log(f"Of the road kept apart, {right / total:.0%} is told to be of its class.")
    return dataclasses.replace(card, metrics={**card.metrics, "class_accuracy": right / total})


def _predictor(card: ModelCard, engine: Engine, training: Training) -> Predictor:
    """Return the best network, ready to infer in the precision in which it learned."""
    network = build_network(card.architecture)
    network.load_state_dict(training.best.weights)
    native = dataclasses.replace(engine, name=NATIVE)
    return Predictor(native.prepare_inference(network), native, card.bands)


def _record(
    job: FineTune,
    images: list[LabeledImage],
    engine: Engine,
    training: Training,
    predictor: Predictor,
    card: ModelCard,
    warnings: list[str],
) -> TrainingRecord:
    history, best = training.history, training.best
    return TrainingRecord(
        options=dataclasses.asdict(job),
        hardware=processor.name(),
        engine=engine.name,
        precision=engine.precision,
        engine_reason=engine.reason,
        images=[_summary(image) for image in images],
        steps=history.steps,
        validations=history.validations,
        thresholds=best.confusion.thresholds.tolist(),
        sweep=best.confusion.sweep(),
        threshold=best.threshold,
        timings_s=history.timings_s,
        images_per_s=history.images_per_s,
        warnings=warnings,
        notes=history.notes,
        steps_done=history.step,
        steps_planned=job.steps,
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
        training_px=int((image.training != IGNORE).sum()),
        validation_px=int((image.validation != IGNORE).sum()),
        training_road_share=_road_share(image.training),
        validation_road_share=_road_share(image.validation),
    )


def _road_share(labels: np.ndarray) -> float:
    return float((labels == ROAD).sum() / max(1, (labels != IGNORE).sum()))
