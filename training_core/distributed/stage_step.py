"""A step in a pipeline: each rank has a stage of the model, and the batches of a step pass through all stages.

Loss, gradients, running statistics and state are those of one process that accumulates the batches in turn. So a
training goes on with another number of stages, or with none. With more ranks than stages, several pipelines share the
batches of a step.

Scope: one rank's stage. Independent of where the cuts are best, of optimizers and of files.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Optional

import numpy as np
import torch
from torch import Tensor, nn

from ..jobs import StepOptions
from ..learning.losses import training_loss
from ..learning.step import STATE, RunningStatistics, Step, Stopwatch, gradient_norms, labeled_fractions
from ..learning.validation import Block, Validation
from ..models.architectures import freeze_stages
from ..models.engines import NativeEngine
from ..segmentation.inference import Predictor
from ..system.memory import give_free_blocks_back
from .data_parallel import PipelineParallel
from .pipeline_plan import require_pipelines
from .pipeline_run import Pipeline
from .rank_protocol import Command, command
from .stages import Part, Stage, as_images, handed_over, parts_of, without_memory


@dataclass(frozen=True)
class Cut:
    """The cut of a model into stages: the whole model, without memory, and its parts between the ends of stages."""

    whole: nn.Module
    parts: Sequence[Part]
    ends: Sequence[int]


def cut_stage(
    model: nn.Module, engine: NativeEngine, recipe: StepOptions, share: PipelineParallel, balance: Sequence[int]
) -> tuple[Stage, Cut]:
    """Return this rank's stage of a U-Net, all of which each rank has, and free the memory of the others.

    `balance` has the number of parts of each stage; see `pipeline_plan`.
    """
    require_pipelines(recipe, len(balance), share.group.size)
    freeze_stages(model, recipe.frozen_stages)
    cut = Cut(without_memory(model), parts_of(model), [0, *accumulate(balance)])
    first, end = cut.ends[share.stages.rank :][:2]
    for part in (*cut.parts[:first], *cut.parts[end:]):
        for name in part.names:
            model.get_submodule(name).to("meta")
    give_free_blocks_back()
    return Stage(model, cut.parts[first:end], engine.dtype), cut


class StageStep(Step):
    """A step of the batches of a pipeline, whose micro-batches are those of the recipe, through one of its stages."""

    share: PipelineParallel

    def __init__(
        self,
        model: nn.Module,
        engine: NativeEngine,
        recipe: StepOptions,
        stopwatch: Stopwatch,
        share: PipelineParallel,
        cut: Cut,
    ) -> None:
        super().__init__(model, engine, recipe, stopwatch, share)
        self.whole, self._cut = cut.whole, cut
        self._statistics = RunningStatistics(model, share) if recipe.accumulation > 1 else None
        self._pipeline: Optional[Pipeline] = None

    def compute(self, samples: np.ndarray, labels: np.ndarray) -> float:
        """Add the gradients of a step, and return its loss.

        Only the first stage has chips, (assigned chips, bands, height, width), float32; all have labels, (assigned
        chips, height, width), uint8.
        """
        batches = self.recipe.accumulation
        self._pipeline = self._pipeline or self._new_pipeline(len(labels), (samples.shape[1], *labels.shape[1:]))
        self._fractions = iter(labeled_fractions(labels, self.recipe, self.share))
        self._turns = self.share.turns(batches)
        with self._statistics.step(batches) if self._statistics else nullcontext():
            losses = self._pipeline.run(torch.from_numpy(samples), torch.from_numpy(labels))
            self.stopwatch.record("communication")
            for _ in self._turns:  # goes along where other pipelines have a batch more
                pass
            # In here, so that statistics change last; see `ChipStep`.
            self.share.finish()
            total = sum(self.share.losses_in_order(losses, batches))
        return total

    def _new_pipeline(self, chips: int, shape: tuple[int, ...]) -> Pipeline:
        """Return the pipeline for the batches of a number of chips of a shape: bands, height, width."""
        size = self.recipe.batch_size
        between = handed_over(self.whole, self._cut.parts, (size, *shape), self.engine.dtype)
        received, sent = (between[end] for end in self._cut.ends[self.share.stages.rank :][:2])
        self.model.needs_gradient = tuple(each.requires_grad for each in received)
        watches = self._passing_forward, self._passing_backward
        return Pipeline(self.model, self.share.stages, (received, sent), chips // size, self._loss, watches)

    def _loss(self, returned: tuple[Tensor], labels: Tensor) -> Tensor:
        """Return a batch's part of the loss of the step, from the output of the last stage."""
        loss = training_loss(as_images(returned[0]), labels) * next(self._fractions)
        self.stopwatch.record("forward")
        return loss

    @contextmanager
    def _passing_forward(self) -> Iterator[None]:
        self.stopwatch.record("communication")
        yield
        if self._statistics:
            self._statistics.record()
        self.stopwatch.record("forward")

    @contextmanager
    def _passing_backward(self) -> Iterator[None]:
        self.stopwatch.record("communication")
        next(self._turns)
        yield
        self.stopwatch.record("backward")

    def gradient_norm(self) -> Tensor:
        """Return the norm of the gradients of all stages, 0-d, float32."""
        return torch.linalg.vector_norm(self.share.stages.sum(gradient_norms(self.model, self.whole)))

    def gathered(self, name: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return on rank 0 the tensors of all stages: (...), any dtype."""
        command(self.share.group, Command.HAND_IN, name == STATE)
        return self._collected(tensors)

    def _collected(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        # The first pipeline has all of them.
        return {} if self.share.replica else self.share.stages.collect_tensors(tensors)

    def validate(self, predictor: Predictor, blocks: Sequence[Block], fewest: int, limit_s: float) -> Validation:
        """Score the whole model, on all ranks together; see `Step.validate`."""
        model = copy.deepcopy(self.whole).to_empty(device="cpu")
        weights = self._collected(self.model.state_dict())
        model.load_state_dict(self.share.group.broadcast_tensors(weights))
        return super().validate(replace(predictor, model=model.eval()), blocks, fewest, limit_s)
