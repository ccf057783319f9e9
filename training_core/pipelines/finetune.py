"""The job finetune: train a model on images with drawn roads; writes a model file and a report.

Scope: the order of the steps, each in a module of its own. Independent of how they work.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import torch
from torch import nn

from ..distributed.agreement import agreed, require_alike
from ..distributed.data_parallel import DataParallel
from ..distributed.group import ALONE, Group, LostRankError
from ..distributed.parallel_record import Meter
from ..distributed.pipeline_trainer import PipelineTrainer
from ..distributed.rank_protocol import follow, leading
from ..errors import Cancelled
from ..events import Reporter
from ..geodata.grid import grid_of
from ..geodata.pixel_codes import IGNORE
from ..geodata.rasters import open_raster
from ..geodata.road_classes import RoadClass
from ..geodata.sources import source_name, with_sources
from ..geodata.tiling import round_up
from ..jobs import FineTune
from ..jobs.recipe import USUAL_CHIP_PX
from ..labels.label_checks import check_labels
from ..labels.label_edges import EDGE_M, ignore_edges
from ..labels.labeled_images import LabeledImage, read_drawing, read_labeled_images, with_common_scaling
from ..labels.validation_split import split_for_validation
from ..learning.checkpoint import (
    Checkpoint,
    CheckpointWriter,
    check_identity,
    checkpoint_path,
    identify,
    read_checkpoint,
    take_over,
)
from ..learning.chips import ChipSampler, prefetch
from ..learning.computation_plan import ComputationPlan, plan_computation, plan_from_document
from ..learning.fitted_recipe import with_encoder_rate
from ..learning.history import History
from ..learning.strategy import SINGLE_PROCESS
from ..learning.trainer import Trainer
from ..learning.training_loop import Batches, Training
from ..learning.validation import Validation
from ..learning.weight_interpolation import SHARES, TOLERANCE, interpolated
from ..learning.whole_images.samples import ImageSampler, draw_images
from ..learning.whole_images.trainer import ImageTrainer
from ..models.architectures import (
    LIBRARY,
    Architecture,
    adapt_first_layer,
    adapt_head,
    build_network,
    build_uninitialized,
)
from ..models.base_model import BaseModel, architecture_for, read_base_model
from ..models.engines import BF16, NativeEngine, why_not_ipex
from ..models.loading import load_into
from ..models.model_card import ModelCard
from ..models.model_file import save_model, weights_sha256
from ..reports.panels import COMPUTED_PX as PANEL_COMPUTED_PX
from ..reports.panels import make_panels
from ..reports.training_report import TrainingRecord, summary_of, write_training_report
from ..segmentation.halo import AGREEMENT, middles, sufficient_halo_px
from ..segmentation.inference import Predictor
from ..system import processor, shutdown
from ..system.outputs import Outputs
from ..system.prefetch import preload
from ..system.versions import versions

# An image is not upsampled by more than this, each way, for its base model: it would show no more than before.
MAX_ENLARGEMENT = 4.0
PANELS = 6
# Share of the time budget that each of these may take, or is left out: halo measurement, report.
EXTRAS_SHARE = 0.05
# Options of the recipe that are stored in the model file.
_STORED = (
    "batch_size",
    "accumulation",
    "optimizer",
    "learning_rate",
    "encoder_rate",
    "frozen_stages",
    "seed",
)


@dataclass(frozen=True)
class Setup:
    """What a fine-tune works with, settled before its first step.

    Parameters
    ----------
    images : list of LabeledImage
        Split into training and validation.
    classes : tuple of RoadClass
        Road classes that the model is to predict; may be empty.
    chip_px : int
        Side of a chip as it enters the model.
    plan : ComputationPlan
        Engine, memory, tiles of whole images, stages of a pipeline.
    identity : dict
        What a checkpoint must share with this run to be resumed; see `identify`.
    base_halo_px : int
        Halo that the base model's tiles need; 0 without one.
    base_sha256 : str
        Digest of the base model's weights; empty without one.
    attribution : dict of str to str
        Whom the base model's card names.
    base_weights : dict of Tensor of any shape (...), float32 or int64
        What the model begins with, by name, if all of it is the base model's; else empty.
    """

    job: FineTune
    images: list[LabeledImage]
    classes: tuple[RoadClass, ...]
    architecture: Architecture
    chip_px: int
    plan: ComputationPlan
    identity: dict[str, Any]
    base_halo_px: int
    base_sha256: str
    attribution: dict[str, str]
    base_weights: dict[str, torch.Tensor]


def run(job: FineTune, reporter: Reporter, group: Group = ALONE) -> dict[str, Any]:
    """Do the job, or a rank's part of it; see `jobs.FineTune`.

    Parameters
    ----------
    group : Group
        The ranks that do the job together.

    Returns
    -------
    dict
        Paths and numbers by name; of ranks other than 0, nothing.

    Raises
    ------
    JobError
        The checkpoint to resume from does not fit the model, or the ranks differ.
    """
    preload(LIBRARY)
    torch.manual_seed(job.seed)
    if group.size == 1:
        torch.set_num_threads(job.threads or torch.get_num_threads())
    return _lead(job, reporter, group) if group.leads else _follow(job, reporter, group)


def _follow(job: FineTune, reporter: Reporter, group: Group) -> dict[str, Any]:
    """Do what rank 0 says; only it has outputs."""
    setup, training = _set_up(job, reporter, group)
    meter = Meter(training)
    follow(training.trainer, group, _batches(setup, training), training.blocks, lambda: reporter.is_cancelled)
    meter.read()
    return {}


def _lead(job: FineTune, reporter: Reporter, group: Group) -> dict[str, Any]:
    """Do the job, with the help of the other ranks if there are any."""
    with Outputs([*with_sources(job.rasters), job.roads, job.aoi, job.no_road, job.base_model]) as outputs:
        model_path = outputs.stage(job.model)
        report_path = outputs.stage(job.report) if job.report else None
        began_s = time.perf_counter()
        setup, training = _set_up(job, reporter, group)
        timings_s = training.history.timings_s
        timings_s["set-up"] = timings_s.get("set-up", 0.0) + time.perf_counter() - began_s
        meter = Meter(training) if group.size > 1 else None
        is_stopped = _train(setup, training, reporter, group)
        parallel = meter and meter.read()
        _interpolate(setup, training, reporter)
        predictor = _predictor(setup, training.best.weights)
        validation = training.score_best(predictor)
        began_s = time.perf_counter()
        card = _describe(setup, training, predictor, validation, reporter)
        timings_s["halo measurement"] = time.perf_counter() - began_s
        save_model(model_path, training.best.weights, card)
        if report_path:
            reporter.progress(0.99, "Writing the report")
            panels = _affordable_panels(setup, training, validation)
            record = _record(setup, training, predictor, card, panels, reporter.warnings)
            write_training_report(dataclasses.replace(record, parallel=parallel), report_path)
    if not is_stopped:
        with suppress(OSError):  # the model is complete; what cannot be removed does no harm
            checkpoint_path(job.model).unlink()
    return _result(setup, training, card, is_stopped)


def _result(setup: Setup, training: Training, card: ModelCard, is_stopped: bool) -> dict[str, Any]:
    job, engine = setup.job, setup.plan.engine
    return {
        "model": job.model,
        **({"report": job.report} if job.report else {}),
        "images_per_s": training.history.images_per_s,
        "steps": training.history.step,
        "validation": card.metrics,
        "validation_share": training.history.validation_share,
        "threshold": training.best.threshold,
        "engine": engine.name,
        "precision": engine.precision,
        "stopped": is_stopped,
    }


def _set_up(job: FineTune, reporter: Reporter, group: Group) -> tuple[Setup, Training]:
    """Return what the job works with, and the training that is to begin or to be resumed, the same on all ranks."""
    with agreed(group):
        base = read_base_model(job.base_model, job.architecture, job.encoder, reporter)
        images, classes = _read_images(job, base.card if base else None, reporter)
        identity = identify(job, images)
        former = _read_former(job, identity, reporter) if group.leads else None
    model, architecture = _start_model(job, images, classes, base)
    is_whole = base is not None and base.card is not None and set(classes) <= set(base.classes)
    knows_roads = is_whole and base.band_names == tuple(band.name for band in images[0].bands)
    job = with_encoder_rate(job, knows_roads)
    require_alike(group, {**versions(), **identity, "initial weights": weights_sha256(model.state_dict())})
    chip_px = _chip_px(job.chip_px or USUAL_CHIP_PX, images)
    plan = None
    with agreed(group):
        if group.leads:
            plan = plan_computation(job, images, architecture, chip_px, former, reporter, group.size, group.local_size)
    plan = plan_from_document(group.broadcast_document(plan and dataclasses.asdict(plan)))
    fit = plan.fit
    job = dataclasses.replace(job, **fit.options)
    chip_px = _chip_px(job.chip_px or USUAL_CHIP_PX, images)  # a checkpoint may say nothing of it
    base_halo_px, base_sha256 = (base.halo_px, weights_sha256(base.weights)) if base else (0, "")
    weights = {name: values.clone() for name, values in model.state_dict().items()} if is_whole else {}
    named = base.card.attribution if base and base.card else {}
    setup = Setup(
        job, images, classes, architecture, chip_px, plan, identity, base_halo_px, base_sha256, named, weights
    )
    if plan.memory.is_recomputing:
        from ..models.recompute import recompute_activations  # loads the library of the U-Net

        recompute_activations(model)
    training = _prepare(setup, model, former, reporter.part(0.02, 0.98), group)
    training.history.fitted = fit.options
    training.history.notes += [fit.reason] if fit.reason else []
    return setup, training


def _read_former(job: FineTune, identity: dict[str, Any], reporter: Reporter) -> Optional[Checkpoint]:
    """Return the checkpoint to resume from, if the job asks for it."""
    path = checkpoint_path(job.model)
    if job.resume:
        former = read_checkpoint(path)
        check_identity(former, identity, path)
        obstacle = why_not_ipex() if former.has_extension else None
        if obstacle:
            reporter.warning(f"The result will differ slightly from that of an uninterrupted run: {obstacle}.")
        return former
    if os.path.exists(path):  # which is no error either where its name would be too long
        reporter.warning(f"The checkpoint {path} of an interrupted run is replaced, since resume is off.")
    return None


def _prepare(
    setup: Setup, model: nn.Module, former: Optional[Checkpoint], reporter: Reporter, group: Group
) -> Training:
    """Return the training that is to begin, or to be resumed from a checkpoint."""
    images, job, engine = setup.images, setup.job, setup.plan.engine
    is_compressed = job.exchange_precision == BF16
    strategy = DataParallel(group, is_compressed) if group.size > 1 else SINGLE_PROCESS
    if setup.plan.tiles:
        # Several ranks finish a step together.
        tick = (lambda _: None) if group.size > 1 else lambda _: reporter.check_cancelled()
        trainer = ImageTrainer(model, engine, job, setup.plan.tiles, strategy, job.encoder_rate, tick)
    elif setup.plan.balance:
        trainer = PipelineTrainer(model, engine, job, group, setup.plan.balance, is_compressed)
    else:
        trainer = Trainer(model, engine, job, strategy, job.encoder_rate)
    with agreed(group):
        if former:
            take_over(trainer, former, checkpoint_path(job.model))
    step = group.broadcast_document(former and former.history.step)
    if step is not None and group.size > 1:  # rank 0 alone has the checkpoint
        state = group.broadcast_tensors(former.state if former else {})
        if not group.leads:
            trainer.load_state_dict(state)
    if former is None:
        return Training(trainer, images, job, reporter, History(step=step or 0))
    text = f"Resumed at step {former.history.step}, after {former.history.elapsed_s / 60:.1f} min of training."
    former.history.notes.append(text)
    reporter.log(f"{text} Engine {engine.name} in {engine.precision}, as before.")
    return Training(trainer, images, job, reporter, former.history, former.best)


def _train(setup: Setup, training: Training, reporter: Reporter, group: Group) -> bool:
    """Train to the end, writing checkpoints; return whether the user stopped it before."""
    writer = CheckpointWriter(checkpoint_path(setup.job.model), setup.identity, setup.plan.engine, reporter)
    with shutdown.critical_section(), writer, leading(group):  # so that a stopped run can be resumed
        try:
            training.run(_batches(setup, training), writer.keep)
            return False
        except LostRankError:
            if training.history.step and training.trainer.is_intact:
                writer.write(training)
            raise
        except Cancelled:
            if not training.history.step:
                raise
            writer.write(training)
            if not setup.job.keep_best:
                raise Cancelled(
                    "Stopped; no model was written. The same job with resume continues from here."
                ) from None
        if training.best_so_far is None:
            training.validate()
        training.history.notes.append(f"Stopped at step {training.history.step}; this is the best model up to then.")
        return True


def _batches(setup: Setup, training: Training) -> Batches:
    """Yield this rank's chips of each step from the next one on, and their labels.

    Or whole images, and how many pixels of each are labeled.
    """
    job = setup.job
    if setup.plan.tiles:
        return draw_images(ImageSampler(setup.images, job.seed), job.accumulation, training.history.step)
    sampler, chips = ChipSampler(setup.images, setup.chip_px, job.seed), job.batch_size * job.accumulation
    trainer = training.trainer
    return prefetch(sampler, chips, training.history.step, own=trainer.own_chips, has_images=trainer.takes_images)


def _chip_px(wanted_px: int, images: list[LabeledImage]) -> int:
    """Return the side of a chip: no larger than the largest image, rounded up to a multiple of the model's stride."""
    largest_px = max(max(image.known.shape) for image in images)
    return round_up(min(wanted_px, largest_px))


def _read_images(
    job: FineTune, base: Optional[ModelCard], reporter: Reporter
) -> tuple[list[LabeledImage], tuple[RoadClass, ...]]:
    """Return the images with their labels, split for validation, and the road classes to predict."""
    reporter.progress(0.0, "Reading images and drawn roads")
    drawing = read_drawing(job.roads, job.aoi, job, job.class_field, job.speed_field)
    resolution_m = _resolution_m(job, base, reporter)
    known_bands = base.bands if base else ()
    images = read_labeled_images(job.rasters, drawing, resolution_m, job.bands, known_bands, reporter)
    images = split_for_validation(with_common_scaling(images), job.validation_share, 256, job.seed)
    reporter.progress(0.01, "Comparing the drawn roads with the images")
    check_labels(images, drawing, reporter)
    images = [ignore_edges(image, EDGE_M) for image in images]
    if drawing.classes:
        names = ", ".join(f"{each.name} ({each.speed_kmh:g} km/h)" for each in drawing.classes)
        reporter.log(f"Training on {len(drawing.classes)} road classes: {names}.")
    elif base and base.classes:
        reporter.warning("The drawn roads have no classes: those of the base model are kept, but not trained.")
    return images, drawing.classes or (base.classes if base else ())


def _resolution_m(job: FineTune, base: Optional[ModelCard], reporter: Reporter) -> float:
    """Return the ground resolution to train at, in meters; 0 for the first image's own."""
    if job.resolution_m or base is None:
        return job.resolution_m
    with open_raster(job.rasters[0]) as dataset:
        own_m = grid_of(dataset).resolution_m
    if own_m <= MAX_ENLARGEMENT * base.resolution_m:
        return base.resolution_m
    reporter.warning(
        f"The ground resolution of {job.rasters[0]} is {own_m:.3g} m, that of the base model "
        f"{base.resolution_m:.3g} m. The model is trained at the image's own resolution."
    )
    return 0.0


def _start_model(
    job: FineTune,
    images: list[LabeledImage],
    classes: tuple[RoadClass, ...],
    base: Optional[BaseModel],
) -> tuple[nn.Module, Architecture]:
    """Return the model to train, with the weights of the base model if there is one, and its architecture."""
    names = tuple(band.name for band in images[0].bands)
    shape = {"in_channels": len(names), "classes": 1 + len(classes)}
    known = base.architecture if base else architecture_for(job.architecture, job.encoder)
    architecture = dataclasses.replace(known, **shape)
    model = build_network(architecture)
    if base:
        weights = adapt_first_layer(base.weights, architecture.first_layer, base.band_names, names)
        old, new = (tuple(each.name for each in them) for them in (base.classes, classes))
        load_into(model, adapt_head(weights, model.state_dict(), old, new), job.base_model)
    return model, architecture


def _interpolate(setup: Setup, training: Training, reporter: Reporter) -> None:
    """Replace the best weights by some between the base model's and them, where these validate about as well."""
    if not setup.base_weights or setup.job.interpolation == "no":
        return
    before = training.best.scores.f1
    for share in SHARES:
        weights = interpolated(setup.base_weights, training.best.weights, share)
        if training.take_if_as_good(weights, _predictor(setup, weights), TOLERANCE):
            text = (
                f"The weights are {share:.0%} of the way from the base model to the fine-tuned one (interpolation), to "
                f"keep more of what the base model knows: validation F1 {training.best.scores.f1:.3f}, without "
                f"{before:.3f}."
            )
            training.history.notes.append(text)
            reporter.log(text)
            return


def _predictor(setup: Setup, weights: dict[str, torch.Tensor]) -> Predictor:
    """Return a model with some weights, ready to infer in the precision in which it was trained."""
    model = build_uninitialized(setup.architecture)
    model.load_state_dict(weights)
    native = NativeEngine(setup.plan.engine.precision, setup.plan.engine.reason)
    return Predictor(native.prepare_inference(model), native, setup.images[0].bands)


def _describe(
    setup: Setup, training: Training, predictor: Predictor, validation: Validation, reporter: Reporter
) -> ModelCard:
    """Return the model's card, with its class accuracy and the halo that its tiles need."""
    job, images, engine, history = setup.job, setup.images, setup.plan.engine, training.history
    accuracy = _class_accuracy(validation, reporter)
    halo_px = _measured_halo_px(setup, training, predictor, validation, reporter)
    return ModelCard(
        architecture=setup.architecture,
        bands=images[0].bands,
        resolution_m=images[0].grid.resolution_m,
        threshold=training.best.threshold,
        chip_px=setup.chip_px,
        training={
            "images": [source_name(image.name) for image in images],
            "labeled_px": int(sum((image.training != IGNORE).sum() for image in images)),
            "minutes": round(history.elapsed_s / 60, 2),
            "steps": history.step,
            **{name: getattr(job, name) for name in _STORED},
            "base_model": Path(job.base_model).name,
            "base_sha256": setup.base_sha256,
            **({"attribution": setup.attribution} if setup.attribution else {}),
            "engine": engine.name,
            "precision": engine.precision,
            "processor": processor.name(),
            "notes": history.notes,
        },
        metrics={**dataclasses.asdict(training.best.scores), **accuracy},
        versions=versions(),
        halo_px=halo_px,
        classes=setup.classes,
    )


def _measured_halo_px(
    setup: Setup, training: Training, predictor: Predictor, validation: Validation, reporter: Reporter
) -> int:
    """Return the halo that the model's tiles need, measured within its share of the time; else the base model's."""
    most_px = _affordable_px(setup.job, validation)
    pieces = list(middles(((image.values, image.known) for image in setup.images), most_px))
    if not pieces:
        instead = f"that of the base model is taken, {setup.base_halo_px} px" if setup.base_halo_px else "it is unknown"
        training.history.notes.append(
            f"The halo that the model's tiles need was not measured, since the time budget is short: {instead}."
        )
        return setup.base_halo_px
    halo_px = sufficient_halo_px(predictor, pieces, training.best.threshold)
    reporter.log(f"Tiles with a halo of {halo_px} px keep {AGREEMENT:.2%} of the mask of an undivided image.")
    return halo_px


def _affordable_px(job: FineTune, validation: Validation) -> float:
    """Return how many pixels inference computes in the share of the time budget for extras, by its measured pace."""
    return math.inf if job.steps else EXTRAS_SHARE * job.minutes * 60 * validation.px / validation.seconds


def _affordable_panels(setup: Setup, training: Training, validation: Validation) -> int:
    """Return how many panels of the report fit into half of its share of the time; the other half is for charts."""
    count = int(max(1, min(PANELS, _affordable_px(setup.job, validation) / 2 // PANEL_COMPUTED_PX)))
    if count < PANELS:
        training.history.notes.append(
            f"Pictures of {count} place{'s' * (count > 1)} instead of {PANELS}: the time budget is short."
        )
    return count


def _class_accuracy(validation: Validation, reporter: Reporter) -> dict[str, float]:
    """Return the share of validation road pixels whose class is predicted correctly, if any has a class."""
    if not validation.class_total:
        return {}
    accuracy = validation.class_hits / validation.class_total
    reporter.log(f"Class accuracy: {accuracy:.0%} of the validation road pixels have the right class.")
    return {"class_accuracy": accuracy}


def _record(
    setup: Setup, training: Training, predictor: Predictor, card: ModelCard, panels: int, warnings: list[str]
) -> TrainingRecord:
    history, best, engine = training.history, training.best, setup.plan.engine
    return TrainingRecord(
        options=dataclasses.asdict(setup.job),
        hardware=processor.name(),
        engine=engine.name,
        precision=engine.precision,
        engine_reason=engine.reason,
        images=[summary_of(image) for image in setup.images],
        steps=history.steps,
        validations=history.validations,
        scores=best.scores,
        thresholds=best.confusion.thresholds.tolist(),
        sweep=best.confusion.sweep(),
        threshold=best.threshold,
        timings_s=history.timings_s,
        images_per_s=history.images_per_s,
        warnings=warnings,
        notes=history.notes,
        steps_done=history.step,
        steps_planned=setup.job.steps,
        memory_bytes=setup.plan.memory.peak_bytes,
        panels=make_panels(predictor, setup.images, panels),
        versions=card.versions,
    )
