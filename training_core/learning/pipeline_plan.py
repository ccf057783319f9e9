"""Plan of a pipeline: the cuts that make its stages even in time or in memory, and what is expected of them.

Scope: measured costs of parts. Independent of processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch.optim import SGD

from ..errors import JobError
from ..jobs import StepOptions
from ..jobs.processes import MEMORY, TIME
from ..models.architectures import Architecture, build_network, freeze_stages, set_training_mode
from ..models.engines import NativeEngine
from .optimizers import MOMENTS
from .pipeline_costs import PartCost, measure_parts
from .pipeline_cuts import place_cuts
from .pipeline_schedules import Forecast, forecast, in_flight
from .pipeline_stages import fewest_first, parts_of

CRITERIA = (TIME, MEMORY)


@dataclass(frozen=True)
class PipelinePlan:
    """The stages of a pipeline.

    Parameters
    ----------
    balance : tuple of int
        How many parts of the U-Net each has.
    forward_s, backward_s : tuple of float
        Time of each stage for a micro-batch.
    stage_bytes : tuple of int
        What weights, gradients, moments and kept activations of each stage take.
    """

    balance: tuple[int, ...]
    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]
    stage_bytes: tuple[int, ...]
    forecast: Forecast


def require_pipelines(recipe: StepOptions, stages: int, ranks: int) -> None:
    """Check that ranks make whole pipelines, and that a step has enough batches for them.

    Raises
    ------
    JobError
        They do not, or it has too few.
    """
    pipelines, left = divmod(ranks, stages)
    if left:
        raise JobError(
            f"There are {ranks} processes (processes) for pipelines of {stages} stages (pipeline_stages) each.",
            f"Choose {stages} processes, or a multiple of it.",
        )
    if recipe.accumulation < ranks:
        what = "a pipeline" if pipelines == 1 else f"{pipelines} pipelines"
        raise JobError(
            f"A step of {recipe.accumulation} batches (accumulation) does not fill {what} of {stages} stages "
            "(pipeline_stages).",
            f"Choose an accumulation of at least {ranks}, better {4 * ranks}, with smaller batches (batch_size).",
        )


def plan_pipeline(
    architecture: Architecture,
    engine: NativeEngine,
    recipe: StepOptions,
    chip_px: int,
    is_recomputing: bool,
    stages: int,
    pipelines: int,
    schedule: str,
    criterion: str,
) -> PipelinePlan:
    """Measure the parts of a model with random weights, and cut it into stages.

    Parameters
    ----------
    chip_px : int
        Side of a chip as it enters the model.
    is_recomputing : bool
        Whether activations are recomputed in the backward pass.
    stages, pipelines : int
        Stages of a pipeline, and pipelines that share the batches of a step.
    schedule : str
        One of `pipeline_schedules.SCHEDULES`.
    criterion : str
        What is to be even: one of CRITERIA.

    Raises
    ------
    JobError
        With so many frozen stages of the encoder, too few parts are left that learn.
    """
    with torch.random.fork_rng(devices=[]):  # what is tried must not change what is trained
        model = build_network(architecture)
        if is_recomputing:
            from ..models.recompute import recompute_activations  # loads the library of the U-Net

            recompute_activations(model)
        freeze_stages(model, recipe.frozen_stages)
        parts = parts_of(model)
        first = fewest_first(model, parts)
        model, _ = engine.prepare_training(model, SGD(model.parameters()))
        set_training_mode(model, recipe.frozen_stages, recipe.batch_norm)
        shape = (recipe.batch_size, architecture.in_channels, chip_px, chip_px)
        costs = measure_parts(model, parts, engine.dtype, shape)
    if first + stages - 1 > len(parts):
        raise JobError(
            f"With {recipe.frozen_stages} frozen stages of the encoder (frozen_stages), {len(parts) - first + 1} parts "
            f"of the model are left that learn: too few for {stages} stages (pipeline_stages).",
            "Freeze fewer stages, or choose a shorter pipeline.",
        )
    batches = -(-recipe.accumulation // pipelines)
    return plan_stages(costs, stages, batches, schedule, criterion, _copies(recipe), first)


def plan_stages(
    costs: Sequence[PartCost],
    stages: int,
    batches: int,
    schedule: str,
    criterion: str,
    copies: int,
    fewest_in_first: int = 1,
) -> PipelinePlan:
    """Cut parts into stages so that the largest is least.

    By time this is the fastest pipeline: the slowest stage sets the pace, and all else is the same for all cuts.

    Parameters
    ----------
    batches : int
        Micro-batches of a step.
    schedule, criterion : str
        See `plan_pipeline`.
    copies : int
        Copies of the weights in memory: themselves, gradients, moments, averages.
    fewest_in_first : int
        Parts that the first stage has at least.
    """

    def time_s(_: int, first: int, end: int) -> float:
        return sum(each.forward_s + each.backward_s for each in costs[first:end])

    def size_bytes(stage: int, first: int, end: int) -> int:
        kept = costs[first].received_bytes + sum(each.kept_bytes for each in costs[first:end])
        weights = sum(each.weight_bytes for each in costs[first:end])
        return copies * weights + in_flight(stage, stages, batches, schedule) * kept

    cost = {TIME: time_s, MEMORY: size_bytes}[criterion]
    balance = place_cuts(cost, len(costs), stages, fewest_in_first)
    ends = [0, *accumulate(balance)]
    spans = list(zip(ends, ends[1:]))
    forward_s = tuple(sum(each.forward_s for each in costs[first:end]) for first, end in spans)
    backward_s = tuple(sum(each.backward_s for each in costs[first:end]) for first, end in spans)
    sizes = tuple(size_bytes(stage, *span) for stage, span in enumerate(spans))
    return PipelinePlan(balance, forward_s, backward_s, sizes, forecast(forward_s, backward_s, batches, schedule))


def _copies(recipe: StepOptions) -> int:
    """Return how many copies of the weights a training has in memory."""
    moments = [each for each in MOMENTS[recipe.optimizer] if each != "step"]
    return 2 + len(moments) + bool(recipe.averaging)
