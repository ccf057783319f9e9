"""The job finetune: train a model on images with drawn roads; writes a model file and a report.

Scope: the order of the steps, each in a module of its own. Independent of how they work.
"""

from __future__ import annotations

import dataclasses
import time
from contextlib import suppress
from typing import Any, cast

import torch

from ..distributed.group import ALONE, Group
from ..distributed.parallel_record import Meter
from ..distributed.rank_protocol import agreed, follow, require_alike
from ..distributed.training import start_training, train
from ..events import Reporter
from ..geodata.sources import with_sources
from ..jobs import FineTune
from ..labels.drawing import Drawing, read_truth
from ..labels.training_images import read_training_images, training_resolution_m
from ..learning.checkpoint import checkpoint_path, identify, read_former
from ..learning.computation_plan import plan_computation, plan_from_document
from ..learning.fitted_recipe import encoder_rate
from ..learning.outcome import describe, interpolate
from ..learning.setup import Setup, batches_of, chip_side_px, predictor_of, start_model
from ..learning.training_loop import Training
from ..models.architectures import LIBRARY
from ..models.base_model import architecture_for, read_base_model
from ..models.model_file import save_model, weights_sha256
from ..reports.training_report import record_of, write_training_report
from ..system.machine import versions
from ..system.outputs import Outputs
from ..system.prefetch import preload


def run(job: FineTune, reporter: Reporter, group: Group = ALONE) -> dict[str, Any]:
    """Do the job, or a rank's part of it; see `jobs.FineTune`. Ranks other than 0 return an empty result.

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
    follow(training.trainer, group, batches_of(setup, training), training.blocks, lambda: reporter.is_cancelled)
    meter.read()
    return {}


def _lead(job: FineTune, reporter: Reporter, group: Group) -> dict[str, Any]:
    """Do the job, with the help of the other ranks if there are any."""
    with Outputs([*with_sources(job.rasters), *job.masks, job.roads, job.aoi, job.no_road, job.base_model]) as outputs:
        model_path = outputs.stage(job.model)
        report_path = outputs.stage(job.report) if job.report else None
        began_s = time.perf_counter()
        setup, training = _set_up(job, reporter, group)
        history, engine = training.history, setup.plan.engine
        history.timings_s["set-up"] = history.timings_s.get("set-up", 0.0) + time.perf_counter() - began_s
        meter = Meter(training) if group.size > 1 else None
        is_stopped = train(setup, training, reporter, group)
        parallel = meter.read() if meter else None
        interpolate(setup, training, reporter)
        predictor = predictor_of(setup, training.best.weights)
        validation = training.score_best(predictor)
        began_s = time.perf_counter()
        card = describe(setup, training, predictor, validation, reporter)
        history.timings_s["halo measurement"] = time.perf_counter() - began_s
        save_model(model_path, training.best.weights, card)
        if report_path:
            reporter.progress(0.99, "Writing the report")
            record = record_of(setup, training, predictor, validation, reporter.warnings)
            write_training_report(dataclasses.replace(record, parallel=parallel), report_path)
    if not is_stopped:
        with suppress(OSError):  # the model is complete; what cannot be removed does no harm
            checkpoint_path(job.model).unlink()
    return {
        "model": job.model,
        **({"report": job.report} if job.report else {}),
        "images_per_s": history.images_per_s,
        "steps": history.step,
        "validation": card.metrics,
        "validation_share": history.validation_share,
        "threshold": training.best.threshold,
        "engine": engine.name,
        "precision": engine.precision,
        "stopped": is_stopped,
    }


def _set_up(job: FineTune, reporter: Reporter, group: Group) -> tuple[Setup, Training]:
    """Return what the job works with, and the training that is to begin or to be resumed, the same on all ranks."""
    with agreed(group):
        base = read_base_model(job.base_model, job.architecture, job.encoder, reporter)
        card = base and base.card
        base_m, base_bands = (card.resolution_m, card.bands) if card else (0.0, ())
        reporter.progress(0.0, "Reading images and drawn roads")
        truth = read_truth(job, job.aoi, job.rasters, reporter, job.class_field, job.speed_field)
        drawn_classes = truth.classes if isinstance(truth, Drawing) else ()
        resolution_m = training_resolution_m(job.resolution_m, base_m, job.rasters[0], job.pixel_m, reporter)
        training_images = read_training_images(job, truth, resolution_m, base_bands, reporter)
        images = training_images.in_memory
        if card and card.classes and not drawn_classes:
            reporter.warning("The drawn roads have no classes: those of the base model are kept, but not trained.")
        identity = identify(job, training_images)
        former = read_former(checkpoint_path(job.model), job.resume, identity, reporter) if group.leads else None
    names = tuple(band.name for band in images[0].bands)
    architecture = base.architecture if base else architecture_for(job.architecture, job.encoder)
    start = start_model(base, architecture, names, drawn_classes, job.base_model)
    require_alike(group, {**versions(), **identity, "initial weights": weights_sha256(start.network.state_dict())})
    plan = None
    with agreed(group):
        if group.leads:
            plan = plan_computation(
                job, images, start.architecture, chip_side_px(job.chip_px, images), former, reporter, group.size,
                group.local_size,
            )  # fmt: skip
    plan = plan_from_document(group.broadcast_document(plan and dataclasses.asdict(plan)))
    rate = encoder_rate(job, start.knows_roads, training_images.labeled_px)
    job = dataclasses.replace(job, encoder_rate=rate, **cast(dict[str, Any], plan.fit.options))
    setup = Setup(job, training_images, start, chip_side_px(job.chip_px, images), plan, identity)
    training = start_training(setup, former, reporter.part(0.02, 0.98), group)
    training.history.fitted = plan.fit.options
    training.history.notes += [plan.fit.reason] if plan.fit.reason else []
    return setup, training
