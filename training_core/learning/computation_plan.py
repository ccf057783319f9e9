"""Plan of a fine-tune's computation: engine, recipe by measured throughput, and how it fits into memory.

It depends on the processor, its memory and timed trial steps; one of several processes makes it for all.

Scope: jobs, engines, memory, tiles of whole images, stages of a pipeline. Independent of the training itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Optional

from ..errors import ResourceError
from ..events import Reporter
from ..jobs import FineTune
from ..jobs.recipe import CHIPS, IMAGE
from ..labels.labeled_images import LabeledImage
from ..models.architectures import Architecture
from ..models.engines import TRAINING, NativeEngine, choose_engine, choose_precision, training_engine
from .checkpoint import Checkpoint
from .fitted_recipe import Fit, TrialSteps, fit_recipe, has_choice
from .pipeline.plan import plan_pipeline, require_pipelines
from .training_memory import TRIED_RECOMPUTING, MemoryPlan, max_bytes, plan_memory
from .whole_images.tiles import TilePlan, plan_tiles

# A trial of the engines takes some ten steps; where fewer than these are given, they are better spent on training.
MIN_STEPS_WITH_TRIAL = 200
# Fraction of the time budget that the engines' trial may take. The first step waits for it, and it seldom gains more
# than it takes.
TRIAL_FRACTION = 0.01


@dataclass(frozen=True)
class ComputationPlan:
    """How a fine-tune computes on this processor and in its memory.

    `tiles` are given if it learns from whole images. `balance` is how many parts of the model each stage of a pipeline
    has; else empty.
    """

    engine: NativeEngine
    fit: Fit
    memory: MemoryPlan
    tiles: Optional[TilePlan] = None
    balance: tuple[int, ...] = ()


def plan_from_document(document: dict[str, Any]) -> ComputationPlan:
    """Return the plan of which `dataclasses.asdict` made a document."""
    return ComputationPlan(
        training_engine(**document["engine"]),
        Fit(**document["fit"]),
        MemoryPlan(**document["memory"]),
        document["tiles"] and TilePlan(**document["tiles"]),
        tuple(document["balance"]),
    )


def plan_computation(
    job: FineTune,
    images: list[LabeledImage],
    architecture: Architecture,
    chip_px: int,
    former: Optional[Checkpoint],
    reporter: Reporter,
    ranks: int = 1,
    local_ranks: int = 1,
) -> ComputationPlan:
    """Plan how `ranks` processes compute, `local_ranks` of them here; a resumed training keeps its engine and recipe.

    Raises
    ------
    JobError
        The engine asked for cannot be used, the processes make no pipelines, or the network cannot be computed as asked
        for.
    ResourceError
        There is too little memory.
    """
    _require_possible(job, architecture)
    precision = former.engine.precision if former else choose_precision(job.precision, reporter.log)
    native, tiles, balance = NativeEngine(precision), None, tuple[int, ...]()
    if job.sample == IMAGE:
        shapes = [image.known.shape for image in images]
        tiles = plan_tiles(architecture, native, job, shapes, reporter.log, ranks, local_ranks)
        memory = MemoryPlan(tiles.is_recomputing, tiles.peak_bytes)
    elif job.pipeline_stages > 1:
        memory, balance = _plan_stages(job, architecture, chip_px, native, reporter, ranks, local_ranks)
    else:
        memory = plan_memory(architecture, native, job, chip_px, reporter.log, local_ranks)
    if former:
        return ComputationPlan(former.engine, Fit(former.history.fitted), memory, tiles, balance)
    trial = TrialSteps(architecture, job, chip_px, memory.is_recomputing)
    engine = _choose_engine(job, trial, reporter)
    return ComputationPlan(engine, _fit(job, trial, engine, reporter), memory, tiles, balance)


def _require_possible(job: FineTune, architecture: Architecture) -> None:
    """Raise JobError if the job asks for a computation that only some networks support."""
    if job.sample == IMAGE:
        architecture.require_resnet_unet("Whole images (sample)")
    if job.pipeline_stages > 1:
        architecture.require_resnet_unet("The stages of a pipeline (pipeline_stages)")
    if job.recompute == "yes":
        architecture.require_resnet_unet("Recomputed activations (recompute)")


def _plan_stages(
    job: FineTune,
    architecture: Architecture,
    chip_px: int,
    engine: NativeEngine,
    reporter: Reporter,
    ranks: int,
    local_ranks: int,
) -> tuple[MemoryPlan, tuple[int, ...]]:
    """Return where the model is cut into the stages of a pipeline, and whether these recompute to fit into memory.

    Raises
    ------
    ResourceError
        The stages of this machine do not fit into its memory.
    """
    stages = job.pipeline_stages
    require_pipelines(job, stages, ranks)
    for is_recomputing in TRIED_RECOMPUTING[job.recompute]:
        plan = plan_pipeline(architecture, engine, job, chip_px, is_recomputing, stages, ranks // stages)
        largest_bytes, limit_bytes = max(plan.stage_bytes), max_bytes(local_ranks)
        if largest_bytes <= limit_bytes:
            reporter.log(
                f"A pipeline of {stages} stages with {', '.join(map(str, plan.balance))} parts of the network, at most "
                f"{largest_bytes / 1e9:.1f} GB each{', recomputing activations' * is_recomputing}; by measured times, "
                f"{plan.speed_up:.2f} times as fast as one process, with a bubble of {plan.bubble:.0%}."
            )
            return MemoryPlan(is_recomputing, largest_bytes), plan.balance
    raise ResourceError(
        f"The largest of {stages} stages of the network (pipeline_stages) needs {largest_bytes / 1e9:.1f} GB of "
        f"memory; {limit_bytes / 1e9:.1f} GB are available to each of {local_ranks} processes.",
        "Choose more stages, or smaller batches (batch_size) or chips (chip_px).",
    )


def _choose_engine(job: FineTune, trial: TrialSteps, reporter: Reporter) -> NativeEngine:
    """Return the engine to train with: the one asked for, or the fastest in a trial where the budget is long."""

    def step(engine: NativeEngine) -> None:
        reporter.check_cancelled()
        trial.step(engine)

    is_plain = job.sample == CHIPS and job.pipeline_stages == 1
    is_tried = is_plain and (not job.steps or job.steps >= MIN_STEPS_WITH_TRIAL)
    limit_s = math.inf if job.steps else TRIAL_FRACTION * job.minutes * 60
    return choose_engine(job.engine, job.precision, TRAINING, step if is_tried else None, reporter.log, limit_s)


def _fit(job: FineTune, trial: TrialSteps, engine: NativeEngine, reporter: Reporter) -> Fit:
    """Return the options of the recipe that depend on the throughput of an engine."""
    fit = fit_recipe(job, trial.seconds(engine) if has_choice(job) else 0.0)
    if fit.reason:
        reporter.log(fit.reason)
    return fit
