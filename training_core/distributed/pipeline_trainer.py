"""Training in a pipeline: each rank has a stage of the model, and the batches of a step pass through all stages.

Loss, gradients, running statistics and state are those of one process that accumulates the batches in turn. So a
training goes on with another number of stages, or with none. With more ranks than stages, several pipelines share the
batches of a step.

Scope: one rank's stage and its optimizer. Independent of where the cuts are best, and of files.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, Optional

import numpy as np
import torch
from torch import Tensor, nn

from ..geodata.rasters import Band
from ..jobs import StepOptions
from ..learning.losses import training_loss
from ..learning.pipeline.plan import require_pipelines
from ..learning.pipeline.stages import Stage, as_images, handed_over, without_memory
from ..learning.trainer import Trainer
from ..models.architectures import freeze_stages
from ..models.engines import FP32, NativeEngine
from ..models.parts import parts_of
from ..segmentation.inference import Predictor
from ..system.allocator import give_free_blocks_back
from .data_parallel import PipelineParallel
from .group import Group
from .pipeline_run import Pipeline
from .rank_protocol import Command, command

WEIGHTS, STATE = 0, 1


class PipelineTrainer(Trainer):
    """A stage of a model with its optimizer, on one of the ranks of a pipeline; see `Trainer`.

    Each rank gets the whole U-Net; the trainer frees other stages. `balance` has the parts of each stage, see
    `pipeline.plan`. The batches of the recipe are the micro-batches.
    """

    def __init__(
        self,
        model: nn.Module,
        engine: NativeEngine,
        recipe: StepOptions,
        group: Group,
        balance: Sequence[int],
        is_compressed: bool = False,
    ) -> None:
        require_pipelines(recipe, len(balance), group.size)
        strategy = PipelineParallel(group, len(balance), is_compressed)
        self._group, self._stages, self._replica = group, strategy.stages, strategy.replica
        self._losses_in_order = strategy.losses_in_order
        self.takes_images = self._stages.leads
        self._pipeline: Optional[Pipeline] = None
        freeze_stages(model, recipe.frozen_stages)
        self._parts_of_model, self._ends = parts_of(model), [0, *accumulate(balance)]
        # A trainer of the whole model, without memory: it never trains, but knows the state of a plain one.
        self._whole_model = without_memory(model)
        self._whole = Trainer(self._whole_model, NativeEngine(FP32), recipe)
        super().__init__(self._own_stage(model, engine), engine, recipe, strategy)
        # LAMB limits the norm of all gradients, of which this optimizer has some.
        self._most_norm = self._optimizer.defaults.get("max_grad_norm")
        if self._most_norm:
            self._optimizer.defaults["max_grad_norm"] = None

    def _own_stage(self, model: nn.Module, engine: NativeEngine) -> Stage:
        """Return this rank's stage of a model, and free the memory of the others."""
        parts, (first, end) = self._parts_of_model, self._ends[self._stages.rank :][:2]
        for part in (*parts[:first], *parts[end:]):
            for name in part.names:
                model.get_submodule(name).to("meta")
        give_free_blocks_back()
        return Stage(model, parts[first:end], engine.dtype)

    def _compute_gradients(self, chips: Any, labels: Any) -> float:
        """Leave the gradients of a step in the parameters, and return its loss; see `Trainer`."""
        try:
            return super()._compute_gradients(chips, labels)
        except BaseException:
            self.is_intact = False  # without the other stages there is no model
            raise

    def _pass_batches(self, chips: np.ndarray, labels: np.ndarray) -> list[float]:
        """Pass this pipeline's batches through the stages; return their losses on the last one."""
        batches = len(labels) // self._recipe.batch_size
        self._pipeline = self._pipeline or self._new_pipeline(batches, (chips.shape[1], *labels.shape[1:]))
        self._next_fraction, self._turns = iter(self._fractions(labels)), self.strategy.turns(self._recipe.accumulation)
        losses = self._pipeline.run(torch.from_numpy(chips), torch.from_numpy(labels))
        self.record_time("communication")
        for _ in self._turns:  # goes along where other pipelines have a batch more
            pass
        return losses

    def _new_pipeline(self, batches: int, shape: tuple[int, ...]) -> Pipeline:
        """Return the pipeline for a number of batches, of chips of a shape: bands, height, width."""
        batch = (self._recipe.batch_size, *shape)
        between = handed_over(self._whole_model, self._parts_of_model, batch, self._engine.dtype)
        received, sent = (between[end] for end in self._ends[self._stages.rank :][:2])
        self._model.needs_gradient = tuple(each.requires_grad for each in received)
        watches = self._passing_forward, self._passing_backward
        return Pipeline(self._model, self._stages, (received, sent), batches, self._loss, watches)

    def _loss(self, returned: tuple[Tensor], labels: Tensor) -> Tensor:
        """Return a batch's part of the loss of the step, from the output of the last stage."""
        fraction = next(self._next_fraction)
        loss = training_loss(as_images(returned[0]), labels) * fraction
        self.record_time("forward")
        return loss

    @contextmanager
    def _passing_forward(self) -> Iterator[None]:
        self.record_time("communication")
        yield
        if self._statistics:
            self._statistics.record()
        self.record_time("forward")

    @contextmanager
    def _passing_backward(self) -> Iterator[None]:
        self.record_time("communication")
        next(self._turns)
        yield
        self.record_time("backward")

    def _all_losses(self, computed: list[float]) -> list[float]:
        return self._losses_in_order(computed, self._recipe.accumulation)

    def _clip_gradients(self) -> None:
        if self._most_norm:
            excess = self._norm_of_gradients() / self._most_norm
            for each in self._model.parameters():
                if each.grad is not None:
                    each.grad.div_(excess.clamp(min=1.0))

    def _norm_of_gradients(self) -> Tensor:
        """Return the norm of the gradients of all stages, 0-d, float32, added in the order of the optimizer."""
        names = self._whole.ordered_names
        norms = torch.zeros(len(names))
        for name, parameter in self._model.named_parameters():
            if parameter.grad is not None:
                norms[names.index(name)] = torch.linalg.vector_norm(parameter.grad)
        return torch.linalg.vector_norm(self._stages.sum(norms))

    def weights(self) -> dict[str, Tensor]:
        """Return on rank 0, whom the others follow, the result of `Trainer.weights`: (...), any dtype."""
        command(self._group, Command.HAND_IN, WEIGHTS)
        return self.hand_in(WEIGHTS)

    def state_dict(self) -> dict[str, Tensor]:
        """Return on rank 0, whom the others follow, the result of `Trainer.state_dict`: (...), any dtype."""
        command(self._group, Command.HAND_IN, STATE)
        return self.hand_in(STATE)

    def hand_in(self, what: int) -> dict[str, Tensor]:
        """Return on rank 0 the WEIGHTS or the STATE of all stages, (...), any dtype; all ranks call it together."""
        if self._replica:
            return {}  # the first pipeline has all of it
        return self._stages.collect_tensors(super().weights() if what == WEIGHTS else self._stage_state())

    def _stage_state(self) -> dict[str, Tensor]:
        """Return this stage's state, in which moments have the indices of a plain trainer's optimizer."""
        return _renumbered(super().state_dict(), dict(enumerate(self._indices)))

    def _take_over(self, state: dict[str, Tensor]) -> None:
        """Resume from a state of the whole model, which has been checked."""
        others = self._whole_model.state_dict().keys() - self._model.state_dict().keys()
        of_other_stages = {f"network.{name}" for name in others}
        of_stage = {name: tensor for name, tensor in state.items() if name not in of_other_stages}
        super()._take_over(_renumbered(of_stage, {index: position for position, index in enumerate(self._indices)}))

    @property
    def _indices(self) -> list[int]:
        """Of this stage's parameters in a plain trainer's optimizer, in the order of its own."""
        return [self._whole.ordered_names.index(name) for name in self.ordered_names]

    def require_state(self, state: dict[str, Tensor]) -> None:
        """Check that a state, tensors (...) of any dtype, is one of the whole model; see `Trainer.require_state`."""
        self._whole.require_state(state)

    def require_fitting(self, weights: dict[str, Tensor]) -> None:
        """Check that weights, tensors (...) of any dtype, are those of the whole model; see `Trainer`."""
        self._whole.require_fitting(weights)

    @contextmanager
    def validating(self, bands: tuple[Band, ...]) -> Iterator[Predictor]:
        """Infer with the whole model for a while, on all ranks together; see `Trainer.validating`."""
        model = copy.deepcopy(self._whole_model).to_empty(device="cpu")
        model.load_state_dict(self._group.broadcast_tensors(self.hand_in(WEIGHTS)))
        yield Predictor(model.eval(), self._engine, bands)
        self.record_time("validation")


def _renumbered(state: dict[str, Tensor], indices: dict[int, int]) -> dict[str, Tensor]:
    """Return a trainer's state with other indices of parameters; moments of those that have none are left out."""
    renumbered = {}
    for name, tensor in state.items():
        kind, *rest = name.split(".")
        if kind != "optimizer":
            renumbered[name] = tensor
        elif int(rest[0]) in indices:
            renumbered[f"{kind}.{indices[int(rest[0])]}.{rest[1]}"] = tensor
    return renumbered
