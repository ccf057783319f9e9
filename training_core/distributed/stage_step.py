"""A step in a pipeline: each rank has a stage of the model, and the batches of a step pass through all stages (1F1B).

Loss, gradients, running statistics and state are those of one process that accumulates the batches in turn. So a
training goes on with another number of stages, or with none. With more ranks than stages, several pipelines share the
batches of a step.

Scope: one rank's stage. Independent of where the cuts are best, of optimizers and of files.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Optional

import numpy as np
import torch
from torch import Tensor, distributed, nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

from ..errors import LostRankError
from ..jobs import StepOptions
from ..learning.losses import training_loss
from ..learning.step import STATE, RunningStatistics, Step, Stopwatch, gradient_norms, labeled_fractions
from ..learning.validation import Block, Validation
from ..models.architectures import freeze_stages
from ..models.engines import NativeEngine
from ..segmentation.inference import Predictor
from ..system.memory import give_free_blocks_back
from .data_parallel import PipelineParallel
from .group import Command
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
        self._schedule: Optional[Schedule1F1B] = None
        self._sent_bytes = 0

    def compute(self, samples: np.ndarray, labels: np.ndarray) -> float:
        """Add the gradients of a step, and return its loss.

        Only the first stage has chips, (assigned chips, bands, height, width), float32; all have labels, (assigned
        chips, height, width), uint8. Raises LostRankError if another rank has ended, or cannot be reached.
        """
        batches = self.recipe.accumulation
        schedule = self._schedule or self._new_schedule(len(labels), (samples.shape[1], *labels.shape[1:]))
        self._schedule = schedule
        self._fractions = iter(labeled_fractions(labels, self.recipe, self.share))
        self._turns = self.share.turns(batches)
        with self._statistics.step(batches) if self._statistics else nullcontext():
            losses = self._run(schedule, torch.from_numpy(samples), torch.from_numpy(labels))
            self.stopwatch.record("communication")
            for _ in self._turns:  # goes along where other pipelines have a batch more
                pass
            # Statistics change last, so this stands here; see `ChipStep`.
            self.share.finish()
            total = sum(self.share.losses_in_order(losses, batches))
        return total

    def _new_schedule(self, chips: int, shape: tuple[int, ...]) -> Schedule1F1B:
        """Return the schedule for the batches of a number of chips of a shape: bands, height, width."""
        size, stages = self.recipe.batch_size, self.share.stages
        between = handed_over(self.whole, self._cut.parts, (size, *shape), self.engine.dtype)
        received, sent = (between[end] for end in self._cut.ends[stages.rank :][:2])
        self.model.needs_gradient = tuple(each.requires_grad for each in received)
        # Features go forward, and the gradients of those received go back.
        carried = (() if stages.leads else received) + (() if self._is_last else sent)
        self._sent_bytes = chips // size * sum(each.nbytes for each in carried)
        place = _WatchedStage(
            self.model, stages.rank, stages.size, torch.device("cpu"), input_args=received, output_args=sent,
            group=stages.process_group,
        )  # fmt: skip
        place.watches = self._passing_forward, self._passing_backward
        return Schedule1F1B(place, chips // size, loss_fn=self._loss, scale_grads=False)

    @property
    def _is_last(self) -> bool:
        return self.share.stages.rank == self.share.stages.size - 1

    def _run(self, schedule: Schedule1F1B, images: Tensor, labels: Tensor) -> list[float]:
        """Compute the passes of a step; return the losses of its batches on the last stage, none on the others."""
        losses: list[Tensor] = []
        inputs = (images,) if self.share.stages.leads else ()
        target = {"target": labels, "losses": losses} if self._is_last else {}
        try:
            schedule.step(*inputs, **target)
        except RuntimeError as error:
            if error.__cause__ is not None:  # a pass has raised it, and torch adds a description of all tensors
                raise error.__cause__ from None
            stages = self.share.stages
            raise LostRankError(
                f"Stage {stages.rank} of {stages.size} has lost the connection to another stage ({error})."
            ) from error
        self.share.stages.sent_bytes += self._sent_bytes
        return [loss.item() for loss in losses]

    def _loss(self, returned: tuple[Tensor], labels: Tensor) -> Tensor:
        """Return a batch's part of the loss of the step, from the output of the last stage."""
        try:
            loss = training_loss(as_images(returned[0]), labels) * next(self._fractions)
        except RuntimeError as error:  # as torch's errors in passes, it gets a cause; those of communication have none
            raise RuntimeError("The loss failed.") from error
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
        self.share.group.command(Command.HAND_IN, name == STATE)
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


class _WatchedStage(PipelineStage):
    """torch's stage with contexts around its passes, and, unlike torch's own, memory for inputs only while needed."""

    # Return the contexts of a pass forward and of one backward.
    watches: tuple[Callable[[], AbstractContextManager[None]], Callable[[], AbstractContextManager[None]]]

    def forward_one_chunk(self, *arguments: Any, **named: Any) -> Any:
        with self.watches[0]():
            return super().forward_one_chunk(*arguments, **named)

    def backward_one_chunk(self, bwd_chunk_id: int, *arguments: Any, **named: Any) -> None:
        with self.watches[1]():
            super().backward_one_chunk(bwd_chunk_id, *arguments, **named)
        _renew(self.args_recv_info[bwd_chunk_id], "meta")
        _renew(self.grad_recv_info[bwd_chunk_id], "meta")

    def get_fwd_recv_ops(self, fwd_chunk_id: int) -> list[distributed.P2POp]:
        _renew(self.args_recv_info[fwd_chunk_id], "cpu")
        return super().get_fwd_recv_ops(fwd_chunk_id)

    def get_bwd_recv_ops(self, bwd_chunk_id: int) -> list[distributed.P2POp]:
        _renew(self.grad_recv_info[bwd_chunk_id], "cpu")
        return super().get_bwd_recv_ops(bwd_chunk_id)


def _renew(received: Sequence[Any], device: str) -> None:
    """Give received tensors new memory, or none (on the device meta); images come from elsewhere."""
    for each in received:
        buffer: Optional[Tensor] = getattr(each, "buffer", None)
        if buffer is not None:
            each.buffer = torch.empty_like(buffer, device=device, requires_grad=buffer.requires_grad)
