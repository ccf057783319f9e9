"""The job finetune: train a model on images with drawn roads; writes a model file and a report.

Scope: the order of the steps, each in a module of its own, and the parts of which a step of the training is made.
"""

from __future__ import annotations

import dataclasses
import os
import time
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, Optional, cast

import torch

from ..comparison.evaluation import COMPUTED_PX, Panel, make_panels
from ..errors import DeviceError
from ..events import Reporter
from ..geodata.sources import with_sources
from ..jobs import CPU, FineTune
from ..jobs.recipe import IMAGE
from ..labels.labeled_images import LabeledImage, summary_of
from ..labels.training_images import read_training_images
from ..learning.checkpoint import Checkpoint, CheckpointWriter, checkpoint_path, identify, read_former, take_over
from ..learning.history import History
from ..learning.outcome import affordable_px, calibrate, describe, interpolate
from ..learning.plan import Fit, Plan, encoder_rate, plan_from_document, room_for, room_on
from ..learning.setup import Setup, Way, chip_side_px, predictor_of, start_model
from ..learning.share import ALL
from ..learning.start_check import StartCheck, check_labels, start_if_better
from ..learning.trainer import Trainer
from ..learning.training_loop import Batches, Training
from ..learning.trial import plan_by_trial
from ..learning.validation import Validation
from ..models.architectures import LIBRARY, Architecture
from ..models.base_model import architecture_for, read_base_model
from ..models.engine_choice import choose_precision
from ..models.engines import BF16, NativeEngine, why_not
from ..models.model_file import save_model, weights_sha256
from ..models.recompute import recompute_activations
from ..reports.training_report import ParallelFigures, record_of, write_training_report
from ..segmentation.inference import Predictor
from ..system import work
from ..system.machine import versions
from ..system.outputs import Outputs
from ..system.work import preload

if TYPE_CHECKING:
    from ..distributed.group import Group
    from ..distributed.ranks import Ranks

_PANELS = 6


def run(job: FineTune, reporter: Reporter, group: Optional[Group] = None) -> dict[str, Any]:
    """Do the job, or a rank's part of it; see `jobs.FineTune`. Ranks other than 0 return an empty result.

    Raises JobError if the checkpoint to resume from does not fit the model, or the ranks differ.
    """
    preload(LIBRARY)
    torch.manual_seed(job.seed)
    if group is None or group.size == 1:
        torch.set_num_threads(job.threads or torch.get_num_threads())
        former = _written_ns(job)
        try:
            return _lead(job, reporter, None)
        except DeviceError as error:
            failure = str(error)
        # Not in the handler, so that nothing of the first attempt stays in memory.
        is_kept = _written_ns(job) != former
        reporter.warning(f"{failure} The training {'goes on' if is_kept else 'begins again'} on the CPU.")
        return run(dataclasses.replace(job, device=CPU, resume=job.resume or is_kept), reporter)
    from ..distributed.ranks import Ranks

    ranks = Ranks(group, job.pipeline_stages, job.exchange_precision == BF16)
    if ranks.leads:
        return _lead(job, reporter, ranks)
    _, training, batches = _set_up(job, reporter, ranks)
    ranks.follow(training, batches, lambda: reporter.is_cancelled)
    return {}


def _written_ns(job: FineTune) -> Optional[int]:
    """Return when the job's checkpoint was written; None if there is none."""
    path = checkpoint_path(job.model)
    return path.stat().st_mtime_ns if os.path.exists(path) else None


def _lead(job: FineTune, reporter: Reporter, ranks: Optional[Ranks]) -> dict[str, Any]:
    """Do the job, with the help of the other ranks if there are any."""
    inputs = [*with_sources(job.rasters), *job.masks, job.roads, job.aoi, job.no_road, job.base_model]
    with Outputs(inputs) as outputs:
        model_path = outputs.stage(job.model)
        report_path = outputs.stage(job.report) if job.report else None
        began_s = time.perf_counter()
        setup, training, batches = _set_up(job, reporter, ranks)
        history, engine = training.history, setup.plan.engine
        history.timings_s["set-up"] = history.timings_s.get("set-up", 0.0) + time.perf_counter() - began_s
        is_stopped, parallel, start = _train(setup, training, batches, reporter, ranks)
        why_start = start.misfit
        if not why_start:
            notes = interpolate(setup, training, reporter)
            calibrate(training)
            predictor = predictor_of(setup, training.best.weights)
            validation = training.score_best(predictor)
            why_start = start_if_better(setup, training, start, validation, reporter)
            if not why_start:
                history.notes += notes
        if why_start:
            predictor, validation = predictor_of(setup, training.best.weights), cast(Validation, start.found)
        began_s = time.perf_counter()
        card = describe(setup, training, predictor, validation, reporter)
        history.timings_s["halo measurement"] = time.perf_counter() - began_s
        save_model(model_path, training.best.weights, card)
        if report_path:
            reporter.progress(0.99, "Writing the report")
            images = [summary_of(image) for image in setup.images]
            record = dataclasses.replace(
                record_of(dataclasses.asdict(setup.job), engine, images, history, training.best),
                panels=_panels(setup, training, predictor, validation),
                warnings=reporter.warnings,
                steps_planned=job.steps,
                memory_bytes=setup.plan.memory.peak_bytes,
                parallel=parallel,
                is_base_kept=bool(why_start),
            )
            write_training_report(record, report_path)
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
        "why_base_model": why_start,
    }


def _train(
    setup: Setup, training: Training, batches: Batches, reporter: Reporter, ranks: Optional[Ranks]
) -> tuple[bool, Optional[ParallelFigures], StartCheck]:
    """Train to the end, writing checkpoints, if the labels fit the base model.

    Returns whether the user stopped it before the end, how the ranks did, and the check of the base model.
    """
    writer = CheckpointWriter(checkpoint_path(setup.job.model), setup.identity, setup.plan.engine, reporter)
    leading = ranks.leading(training) if ranks else nullcontext()
    # The writer, so that a stopped run can be resumed.
    with work.critical_section(), setup.plan.engine.guard(), writer, leading as meter:
        start = check_labels(setup, training, reporter)
        is_stopped = writer.run(training, batches, setup.job.keep_best)
    figures = meter.read() if meter else None  # which all ranks read together
    return is_stopped, ParallelFigures(**figures) if figures and not start.misfit else None, start


def _set_up(job: FineTune, reporter: Reporter, ranks: Optional[Ranks]) -> tuple[Setup, Training, Batches]:
    """Return what the job works with, the training that begins or is resumed, and this rank's batches of it."""
    agreed, leads = (ranks.agreed, ranks.leads) if ranks else (nullcontext, True)
    with agreed():
        base = read_base_model(job.base_model, job.architecture, job.encoder, reporter)
        architecture = base.architecture if base else architecture_for(job.architecture, job.encoder)
        reporter.progress(0.0, "Reading images and drawn roads")
        images = read_training_images(job, base.card.input if base and base.card else None, reporter)
        if base and base.card and base.card.classes and not images.classes:
            reporter.warning("The drawn roads have no classes. The base model's classes are kept but not trained.")
        identity = identify(job, images)
        former = read_former(checkpoint_path(job.model), job.resume, identity, reporter) if leads else None
    names = tuple(band.name for band in images.in_memory[0].bands)
    start = start_model(base, architecture, names, images.classes, job.base_model)
    if ranks:
        first_weights = weights_sha256(start.network.state_dict())
        ranks.require_alike({**versions(), **identity, "initial weights": first_weights})
    way = _way(job, reporter, ranks)
    plan: Any = None
    with agreed():
        if leads:
            plan = _plan(job, way, images.in_memory, start.architecture, former, reporter, ranks)
    if ranks:
        plan = plan_from_document(ranks.group.broadcast_document(plan and dataclasses.asdict(plan)))
    # The stages of a pipeline learn at one rate.
    rate = encoder_rate(job, start.knows_roads and job.pipeline_stages == 1, images.labeled_px)
    job = dataclasses.replace(job, encoder_rate=rate, **cast(dict[str, Any], plan.fit.options))
    setup = Setup(job, images, start, chip_side_px(job.chip_px, images.in_memory), plan, identity)
    return setup, *_start(setup, way, former, reporter.part(0.02, 0.98), ranks)


def _way(job: FineTune, reporter: Reporter, ranks: Optional[Ranks]) -> Way:
    """Return the way in which a job computes its steps: on whole images, in the stages of a pipeline, or on chips."""
    if job.sample == IMAGE:
        from ..whole_images.step import ImageWay

        # Several ranks finish a step together.
        return ImageWay((lambda _: None) if ranks else lambda _: reporter.check_cancelled())
    if job.pipeline_stages > 1:
        from ..distributed.pipeline_plan import StageWay

        return StageWay()
    return Way()


def _plan(
    job: FineTune,
    way: Way,
    images: list[LabeledImage],
    architecture: Architecture,
    former: Optional[Checkpoint],
    reporter: Reporter,
    ranks: Optional[Ranks],
) -> Plan:
    """Plan how to compute on this machine; a resumed training keeps its engine and recipe."""
    if former:
        engine = _resumed(former.engine, job, reporter, ranks)
    else:
        engine = NativeEngine(choose_precision(job.precision, reporter.log))
    ranks_here, ranks_all = (ranks.group.local_size, ranks.group.size) if ranks else (1, 1)
    room = room_on(engine, architecture) or room_for(architecture, ranks_here, ranks_all)
    memory = way.plan(job, images, architecture, NativeEngine(engine.precision), room)
    reporter.log(str(memory))
    if former:
        return Plan(engine, Fit(former.history.fitted), memory)
    return plan_by_trial(job, architecture, chip_side_px(job.chip_px, images), memory, reporter, ranks is None)


def _resumed(engine: NativeEngine, job: FineTune, reporter: Reporter, ranks: Optional[Ranks]) -> NativeEngine:
    """Return the engine with which a training goes on: as before, or that of the CPU where the device is not used."""
    if not engine.is_device:
        return engine
    is_forbidden = ranks is not None or job.device == CPU
    obstacle = "the CPU is asked for" if is_forbidden else why_not(engine.name)
    if obstacle is None:
        return engine
    reporter.warning(f"The training began on {engine.name}, and goes on on the CPU: {obstacle}.")
    return NativeEngine(choose_precision(job.precision, reporter.log))


def _start(
    setup: Setup, way: Way, former: Optional[Checkpoint], reporter: Reporter, ranks: Optional[Ranks]
) -> tuple[Training, Batches]:
    """Return the training that begins, or is resumed from rank 0's checkpoint, and its next batches."""
    job, plan, history = setup.job, setup.plan, former.history if former else History()
    model, memory = setup.start.network, plan.memory
    if memory.is_recomputing:
        recompute_activations(model)
    share, make_trainer = (ranks.share, ranks.trainer) if ranks else (ALL, Trainer)
    part, make_step = way.step(job, model, plan.engine, memory.layout, share)
    trainer = make_trainer(part, plan.engine, job, make_step, encoder_rate=job.encoder_rate)
    with ranks.agreed() if ranks else nullcontext():
        if former:
            take_over(trainer, former, checkpoint_path(job.model))
    if ranks:
        history.step = ranks.resume(trainer, history.step, former.state if former else {})
    if former:
        text = f"Resumed at step {history.step}, after {history.elapsed_s / 60:.1f} min of training."
        history.notes.append(text)
        same = ", as before" * (plan.engine == former.engine)
        reporter.log(f"{text} Engine {plan.engine.name} in {plan.engine.precision}{same}.")
    history.fitted = plan.fit.options
    history.notes += [plan.fit.reason] if plan.fit.reason else []
    batches = way.batches(job, setup.training_images, share, history.step)
    return Training(trainer, setup.images, job, reporter, history, former.best if former else None), batches


def _panels(setup: Setup, training: Training, predictor: Predictor, validation: Validation) -> list[Panel]:
    """Return pictures for the report, as many as half of the time for it allows; the other half is for charts."""
    count = int(max(1, min(_PANELS, affordable_px(setup.job, validation) / 2 // COMPUTED_PX)))
    if count < _PANELS:
        training.history.notes.append(
            f"Pictures of {count} place{'s' * (count > 1)} instead of {_PANELS}: the time budget is short."
        )
    return make_panels(predictor, setup.images, count)
