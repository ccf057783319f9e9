"""The job finetune: train a model on images with drawn roads; writes a model file and a report.

Scope: the order of the steps, each in a module of its own. Independent of how they work.
"""

from __future__ import annotations

import dataclasses
import time
from contextlib import suppress
from typing import Any, cast

import torch

from ..comparison.panels import COMPUTED_PX, Panel, make_panels
from ..distributed.group import ALONE, Group
from ..distributed.parallel_record import Meter, ParallelRecord
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
from ..learning.outcome import affordable_px, describe, interpolate
from ..learning.setup import Setup, batches_of, chip_side_px, predictor_of, start_model
from ..learning.training_loop import Training
from ..learning.validation import Validation
from ..models.architectures import LIBRARY
from ..models.base_model import architecture_for, read_base_model
from ..models.model_file import save_model, weights_sha256
from ..reports.training_report import ParallelFigures, record_of, write_training_report
from ..segmentation.inference import Predictor
from ..system.machine import versions
from ..system.outputs import Outputs
from ..system.prefetch import preload

_PANELS = 6
# The curve of speed-up ends at this multiple of the number of processes.
_SHOWN_PROCESSES = 4


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
            panels = _panels(setup, training, predictor, validation)
            figures = _parallel_figures(parallel) if parallel else None
            write_training_report(record_of(setup, training, panels, reporter.warnings, figures), report_path)
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
            reporter.warning("The drawn roads have no classes. The base model's classes are kept but not trained.")
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


def _panels(setup: Setup, training: Training, predictor: Predictor, validation: Validation) -> list[Panel]:
    """Return pictures for the report, as many as half of the time for it allows; the other half is for charts."""
    count = int(max(1, min(_PANELS, affordable_px(setup.job, validation) / 2 // COMPUTED_PX)))
    if count < _PANELS:
        training.history.notes.append(
            f"Pictures of {count} place{'s' * (count > 1)} instead of {_PANELS}: the time budget is short."
        )
    return make_panels(predictor, setup.images, count)


def _parallel_figures(record: ParallelRecord) -> ParallelFigures:
    """Return what the report shows of several processes."""
    counts = range(1, _SHOWN_PROCESSES * record.processes + 1)
    names = [field.name for field in dataclasses.fields(ParallelFigures) if field.name != "expected_speed_ups"]
    expected = [record.expected_speed_up(count) for count in counts]
    return ParallelFigures(**{name: getattr(record, name) for name in names}, expected_speed_ups=expected)
