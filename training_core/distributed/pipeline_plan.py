"""The way to train in pipelines, and its plan: cuts that make stages even in time, their memory, the speed to expect.

The schedule is 1F1B (Narayanan et al., 2019): each stage passes a micro-batch backward as soon as it can. Handing over
takes no time here.

Scope: the parts of the U-Net and their costs, as measured on a batch. Independent of processes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.optim import SGD

from ..errors import JobError, ResourceError
from ..jobs import FineTune, StepOptions
from ..labels.labeled_images import LabeledImage
from ..labels.training_images import TrainingImages
from ..learning.plan import TRIED_RECOMPUTING, MemoryPlan, Room
from ..learning.setup import Way, chip_batches, chip_side_px
from ..learning.share import Share
from ..learning.step import MakeStep
from ..learning.trainer import MOMENTS
from ..learning.training_loop import Batches
from ..models.architectures import Architecture, Part, build_network, freeze_stages, parts_of, set_training_mode
from ..models.engines import NativeEngine
from ..models.recompute import recompute_activations
from .data_parallel import PipelineParallel
from .stages import Stage, min_first_parts

# The first repeat prepares kernels and memory; of the others the best counts, which other programs disturb least.
REPEATS = 4


@dataclass(frozen=True)
class PartCost:
    """Time and memory of a part of the U-Net on a batch.

    It keeps `kept_bytes` for its backward pass, without its inputs. These are `received_bytes` after a cut.
    """

    forward_s: float
    backward_s: float
    weight_bytes: int
    kept_bytes: int
    received_bytes: int


@dataclass(frozen=True)
class PipelinePlan:
    """The stages of a pipeline, and the speed to expect.

    `balance` has the number of parts of the U-Net in each stage. `stage_bytes` are weights, gradients, moments and kept
    activations of each. A step takes `step_s`. The speed-up is against one process that computes all stages. The bubble
    is the fraction of the step in which a stage waits, in the mean over all stages.
    """

    balance: tuple[int, ...]
    stage_bytes: tuple[int, ...]
    step_s: float
    speed_up: float
    bubble: float


class StageWay(Way):
    """Steps on chips, each rank with a stage of the model; its share is one of `PipelineParallel`."""

    def plan(
        self, job: FineTune, images: list[LabeledImage], architecture: Architecture, engine: NativeEngine, room: Room
    ) -> MemoryPlan:
        """See `Way`."""
        return plan_pipeline(architecture, engine, job, chip_side_px(job.chip_px, images), room)

    def step(
        self, job: FineTune, model: nn.Module, engine: NativeEngine, layout: dict[str, Any], share: Share
    ) -> tuple[nn.Module, MakeStep]:
        """See `Way`."""
        from .stage_step import StageStep, cut_stage  # loads 190 MB of torch

        share = cast(PipelineParallel, share)
        stage, cut = cut_stage(model, engine, job, share, layout["balance"])
        return stage, partial(StageStep, share=share, cut=cut)

    def batches(self, job: FineTune, images: TrainingImages, share: Share, first: int) -> Batches:
        """Yield chips; only the first stage computes chips, the others have their labels alone."""
        return chip_batches(job, images, share, first, cast(PipelineParallel, share).stages.leads)


def require_pipelines(recipe: StepOptions, stages: int, ranks: int) -> None:
    """Check that ranks make whole pipelines, and that a step has enough batches for them.

    Raises JobError if they do not, or it has too few.
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
    architecture: Architecture, engine: NativeEngine, job: FineTune, chip_px: int, room: Room
) -> MemoryPlan:
    """Return how a training in pipelines fits into memory, with the `balance` of their stages as layout.

    A chip enters the model with a side of `chip_px`. The ranks make pipelines, which share the batches of a step.

    Raises JobError if the ranks make no pipelines, the network is not cut into stages, or too few parts of it learn.
    Raises ResourceError if the stages of this machine do not fit into its memory.
    """
    architecture.require_unet("The stages of a pipeline (pipeline_stages)")
    stages, ranks = job.pipeline_stages, room.ranks
    require_pipelines(job, stages, ranks)
    # Weights, gradients and moments.
    copies = 2 + sum(moment != "step" for moment in MOMENTS[job.optimizer])
    for is_recomputing in TRIED_RECOMPUTING[job.recompute]:
        costs, first = _measure_model(architecture, engine, job, chip_px, is_recomputing)
        if first + stages - 1 > len(costs):
            raise JobError(
                f"With {job.frozen_stages} frozen stages of the encoder (frozen_stages), only {len(costs) - first + 1} "
                f"parts of the model are trained, too few for {stages} stages (pipeline_stages).",
                "Freeze fewer stages, or choose a shorter pipeline.",
            )
        plan = plan_stages(costs, stages, -(-job.accumulation // (ranks // stages)), copies, first)
        largest_bytes = max(plan.stage_bytes)
        if largest_bytes <= room.limit_bytes:
            words = (
                f"A pipeline of {stages} stages with {', '.join(map(str, plan.balance))} parts of the network, at most "
                f"{largest_bytes / 1e9:.1f} GB each{', recomputing activations' * is_recomputing}; by measured times, "
                f"{plan.speed_up:.2f} times as fast as one process, with a bubble of {plan.bubble:.0%}."
            )
            return MemoryPlan(is_recomputing, largest_bytes, words, {"balance": plan.balance})
    raise ResourceError(
        f"The largest of {stages} stages of the network (pipeline_stages) needs {largest_bytes / 1e9:.1f} GB of "
        f"memory; {room.limit_bytes / 1e9:.1f} GB are available to each of {room.processes} processes.",
        "Choose more stages, or smaller batches (batch_size) or chips (chip_px).",
    )


def _measure_model(
    architecture: Architecture, engine: NativeEngine, recipe: StepOptions, chip_px: int, is_recomputing: bool
) -> tuple[list[PartCost], int]:
    """Return the costs of the parts of a model with random weights, and how many the first stage has at least."""
    with torch.random.fork_rng(devices=[]):  # the measurement must not change the training
        model = build_network(architecture)
        if is_recomputing:
            recompute_activations(model)
        freeze_stages(model, recipe.frozen_stages)
        parts = parts_of(model)
        first = min_first_parts(model, parts)
        model, _ = engine.prepare_training(model, SGD(model.parameters()))
        set_training_mode(model, recipe.frozen_stages, recipe.batch_norm)
        shape = (recipe.batch_size, architecture.in_channels, chip_px, chip_px)
        return measure_parts(model, parts, engine.dtype, shape), first


def measure_parts(
    model: nn.Module, parts: Sequence[Part], dtype: torch.dtype, shape: tuple[int, ...]
) -> list[PartCost]:
    """Measure time and memory of parts on a batch of images of a shape: batch, bands, height, width.

    An engine that computes in `dtype` has prepared the U-Net for training; its running statistics change.
    """
    costs, tensors = [], (torch.randn(shape),)
    for part in parts:
        stage, passes_s = Stage(model, [part], dtype), []
        inputs = tuple(each.detach().requires_grad_(each.requires_grad) for each in tensors)
        for _ in range(REPEATS):
            tensors, *seconds = _pass(stage, inputs)
            passes_s.append(seconds)
        forward_s, backward_s = map(min, zip(*passes_s[1:]))
        weight_bytes = sum(tensor.nbytes for tensor in stage.state_dict().values())
        received_bytes = sum(tensor.nbytes for tensor in inputs)
        costs.append(PartCost(forward_s, backward_s, weight_bytes, _kept_bytes(stage, inputs), received_bytes))
    return costs


def _pass(stage: Stage, inputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], float, float]:
    """Return the outputs of a stage, and the seconds of its forward and backward pass."""
    began_s = time.perf_counter()
    outputs = stage(*inputs)
    forward_s = time.perf_counter() - began_s
    features = outputs[0]  # skip connections pass through
    if not features.requires_grad:
        return outputs, forward_s, 0.0
    gradient = torch.ones_like(features)
    began_s = time.perf_counter()
    features.backward(gradient)
    return outputs, forward_s, time.perf_counter() - began_s


def _kept_bytes(stage: Stage, inputs: tuple[Tensor, ...]) -> int:
    """Return the size of the tensors that a stage keeps of a batch: its output too, but no weights and inputs."""
    sizes = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        outputs = stage(*inputs)
    note(outputs[0])
    others = {tensor.untyped_storage().data_ptr() for tensor in (*inputs, *stage.parameters(), *stage.buffers())}
    return sum(size for pointer, size in sizes.items() if pointer not in others)


def plan_stages(costs: Sequence[PartCost], stages: int, batches: int, copies: int, min_first: int = 1) -> PipelinePlan:
    """Cut parts into stages so that the slowest is as fast as possible: it limits the throughput.

    A step has micro-batches. There are `copies` of the weights in memory: themselves, gradients, moments, averages. The
    first stage has at least `min_first` parts.
    """
    balance = place_cuts([cost.forward_s + cost.backward_s for cost in costs], stages, min_first)
    ends = [0, *accumulate(balance)]
    parts_of_stages = [costs[first:end] for first, end in zip(ends, ends[1:])]
    stage_bytes = []
    for stage, parts in enumerate(parts_of_stages):
        kept_bytes = parts[0].received_bytes + sum(part.kept_bytes for part in parts)
        weight_bytes = sum(part.weight_bytes for part in parts)
        stage_bytes.append(copies * weight_bytes + in_flight(stage, stages, batches) * kept_bytes)
    forward_s = [sum(part.forward_s for part in parts) for parts in parts_of_stages]
    backward_s = [sum(part.backward_s for part in parts) for parts in parts_of_stages]
    step_s = step_seconds(forward_s, backward_s, batches)
    busy_s = batches * (sum(forward_s) + sum(backward_s))
    return PipelinePlan(balance, tuple(stage_bytes), step_s, busy_s / step_s, 1 - busy_s / (stages * step_s))


def place_cuts(seconds: Sequence[float], stages: int, min_first: int = 1) -> tuple[int, ...]:
    """Return how many of consecutive parts each stage has, so that the slowest stage is fastest: their balance.

    `seconds` are the times of the parts, of which the first stage has at least `min_first`.
    """

    @cache
    def best(end: int, stages: int) -> tuple[float, tuple[int, ...]]:
        """Return the largest of so many stages of the parts before `end`, and their balance."""
        if stages == 1:
            return sum(seconds[:end]), (end,)
        earlier = ((first, *best(first, stages - 1)) for first in range(min_first + stages - 2, end))
        return min((max(largest, sum(seconds[first:end])), (*cuts, end - first)) for first, largest, cuts in earlier)

    return best(len(seconds), stages)[1]


def in_flight(stage: int, stages: int, batches: int) -> int:
    """Return for how many of a step's micro-batches a stage, by its number from 0, keeps activations at most."""
    return min(batches, stages - stage)


def step_seconds(forward_s: Sequence[float], backward_s: Sequence[float], batches: int) -> float:
    """Return the time of a step of some micro-batches, from the times of each stage for one."""
    stages = len(forward_s)
    free_s = [0.0] * stages
    done_s: dict[tuple[int, bool, int], float] = {}
    waiting = [deque(_order(stage, stages, batches)) for stage in range(stages)]
    # Each stage computes the next pass in its order as soon as the neighboring stage has computed its input.
    while any(waiting):
        for stage, passes in enumerate(waiting):
            while passes:
                is_backward, number = passes[0]
                neighbor = stage + 1 if is_backward else stage - 1
                needed = (neighbor, is_backward, number)
                if 0 <= neighbor < stages and needed not in done_s:
                    break
                passes.popleft()
                took_s = (backward_s if is_backward else forward_s)[stage]
                free_s[stage] = max(free_s[stage], done_s.get(needed, 0.0)) + took_s
                done_s[stage, is_backward, number] = free_s[stage]
    return max(free_s)


def _order(stage: int, stages: int, batches: int) -> list[tuple[bool, int]]:
    """Return the passes of a stage in a step: whether backward, and of which micro-batch."""
    early = in_flight(stage, stages, batches)
    order = [(False, number) for number in range(early)]
    for number in range(batches):
        order += [(True, number), (False, early + number)]
    return [(is_backward, number) for is_backward, number in order if number < batches]
