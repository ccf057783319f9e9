"""Plan of a fine-tune's computation: engine, recipe by the pace, and how it fits into memory.

Rank 0 finds it out, for all ranks: it depends on the processor, its memory and the time that trial steps take.

Scope: jobs, engines, memory, tiles of whole images, stages of a pipeline. Independent of the training itself.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Optional

from ..distributed.group import Group
from ..errors import ResourceError
from ..events import Reporter
from ..jobs import FineTune
from ..jobs.recipe import CHIPS, IMAGE
from ..labels.labeled_images import LabeledImage
from ..models.architectures import Architecture
from ..models.engines import Engine, NativeEngine, choose_engine, choose_precision, make_engine
from .checkpoint import Checkpoint
from .fitted_recipe import Fit, fit_recipe, has_choice
from .image_tiles import TilePlan, plan_tiles
from .pipeline_plan import plan_pipeline
from .pipeline_trainer import require_pipelines
from .training_memory import TRIED_RECOMPUTING, MemoryPlan, most_bytes, plan_memory
from .trial_steps import TrialSteps

# A trial of the engines takes some ten steps; where fewer than these are given, they are better spent on training.
MIN_STEPS_WITH_TRIAL = 200
# Share of the time budget that the engines' trial may take, for which the first step waits: it seldom gains more
# than it takes.
TRIAL_SHARE = 0.01


@dataclass(frozen=True)
class ComputationPlan:
    """What the processor and its memory decide.

    Parameters
    ----------
    tiles : TilePlan, optional
        Where whole images are learned from: how they are divided.
    balance : tuple of int
        Where the model is cut into the stages of a pipeline: how many of its parts each has; else empty.
    """

    engine: Engine
    fit: Fit
    memory: MemoryPlan
    tiles: Optional[TilePlan] = None
    balance: tuple[int, ...] = ()


def plan_computation(
    job: FineTune,
    images: list[LabeledImage],
    architecture: Architecture,
    chip_px: int,
    former: Optional[Checkpoint],
    reporter: Reporter,
    group: Group,
) -> ComputationPlan:
    """Return what the processor and its memory decide, on all ranks as rank 0 has found it out.

    Parameters
    ----------
    chip_px : int
        Side of a usual chip as it enters the model.
    former : Checkpoint, optional
        On rank 0: what is resumed, whose engine and recipe stay.

    Raises
    ------
    JobError
        The engine asked for cannot be used, the ranks make no pipelines, or the network cannot be computed like that.
    ResourceError
        There is too little memory.
    """
    _require_possible(job, architecture)
    document = None
    if group.leads:
        precision = former.engine.precision if former else choose_precision(job.precision, reporter.log)
        native, tiles, balance = NativeEngine(precision), None, ()
        if job.sample == IMAGE:
            memory, tiles = _plan_image(job, images, architecture, native, reporter, group)
        elif job.pipeline_stages > 1:
            memory, balance = _plan_stages(job, architecture, chip_px, native, reporter, group)
        else:
            memory = plan_memory(architecture, native, job, chip_px, reporter.log, group.local_size)
        if former:
            engine, fit = former.engine, Fit(former.history.fitted)
        else:
            trial = TrialSteps(architecture, job, chip_px, memory.is_recomputing)
            engine = _choose_engine(job, trial, reporter)
            fit = _fit(job, trial, engine, reporter)
        document = dataclasses.asdict(ComputationPlan(engine, fit, memory, tiles, balance))
    chosen = group.broadcast_document(document)
    return ComputationPlan(
        make_engine(**chosen["engine"]),
        Fit(**chosen["fit"]),
        MemoryPlan(**chosen["memory"]),
        chosen["tiles"] and TilePlan(**chosen["tiles"]),
        tuple(chosen["balance"]),
    )


def _require_possible(job: FineTune, architecture: Architecture) -> None:
    """Raise JobError if a way of computing is asked for that only some networks have."""
    if job.sample == IMAGE:
        architecture.require_resnet_unet("Whole images (sample)")
    if job.pipeline_stages > 1:
        architecture.require_resnet_unet("The stages of a pipeline (pipeline_stages)")
    if job.recompute == "yes":
        architecture.require_resnet_unet("Recomputed activations (recompute)")


def _plan_image(
    job: FineTune,
    images: list[LabeledImage],
    architecture: Architecture,
    engine: NativeEngine,
    reporter: Reporter,
    group: Group,
) -> tuple[MemoryPlan, TilePlan]:
    """Return how whole images are divided to fit into memory."""
    shapes = [image.known.shape for image in images]
    tiles = plan_tiles(architecture, engine, job, shapes, reporter.log, group.size, group.local_size)
    return MemoryPlan(tiles.is_recomputing, tiles.peak_bytes), tiles


def _plan_stages(
    job: FineTune, architecture: Architecture, chip_px: int, engine: NativeEngine, reporter: Reporter, group: Group
) -> tuple[MemoryPlan, tuple[int, ...]]:
    """Return where the model is cut into the stages of a pipeline, and whether these recompute to fit into memory.

    Raises
    ------
    ResourceError
        The stages of this machine do not fit into its memory.
    """
    stages = job.pipeline_stages
    require_pipelines(job, stages, group.size)
    for is_recomputing in TRIED_RECOMPUTING[job.recompute]:
        plan = plan_pipeline(
            architecture, engine, job, chip_px, is_recomputing, stages, group.size // stages, job.pipeline_schedule,
            job.pipeline_cuts,
        )  # fmt: skip
        largest_bytes, limit_bytes = max(plan.stage_bytes), most_bytes(group.local_size)
        if largest_bytes <= limit_bytes:
            expected = plan.forecast
            reporter.log(
                f"A pipeline of {stages} stages with {', '.join(map(str, plan.balance))} parts of the network, at most "
                f"{largest_bytes / 1e9:.1f} GB each{', recomputing activations' * is_recomputing}; by measured times, "
                f"{expected.speed_up:.2f} times as fast as one process, with a bubble of {expected.bubble:.0%}."
            )
            return MemoryPlan(is_recomputing, largest_bytes), plan.balance
    raise ResourceError(
        f"The largest of {stages} stages of the network (pipeline_stages) needs {largest_bytes / 1e9:.1f} GB of "
        f"memory; {limit_bytes / 1e9:.1f} GB are available to each of {group.local_size} processes.",
        "Choose more stages, smaller batches (batch_size) or chips (chip_px), or cuts by memory (pipeline_cuts).",
    )


def _choose_engine(job: FineTune, trial: TrialSteps, reporter: Reporter) -> Engine:
    """Return the engine to train with: the one asked for, or the fastest in a trial where the budget is long."""

    def step(engine: Engine) -> None:
        reporter.check_cancelled()
        trial.step(engine)

    is_plain = job.sample == CHIPS and job.pipeline_stages == 1
    is_tried = is_plain and (not job.steps or job.steps >= MIN_STEPS_WITH_TRIAL)
    limit_s = math.inf if job.steps else TRIAL_SHARE * job.minutes * 60
    return choose_engine(job.engine, job.precision, step if is_tried else None, reporter.log, limit_s=limit_s)


def _fit(job: FineTune, trial: TrialSteps, engine: Engine, reporter: Reporter) -> Fit:
    """Return the options of the recipe that the pace of an engine decides."""
    fit = fit_recipe(job, trial.seconds(engine) if has_choice(job) else 0.0)
    if fit.reason:
        reporter.log(fit.reason)
    return fit
