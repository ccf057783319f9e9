"""Training step: forward, backward and optimizer on batches; inference with the weights so far; state to resume from.

Scope: a model, its engine, loss and optimizer. Independent of how long to train, of files and of other processes: a
strategy says which batches this trainer computes, and sums the gradients of all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..geodata.pixel_codes import IGNORE
from ..geodata.rasters import Band
from ..jobs import StepOptions
from ..models.architectures import freeze_stages, set_training_mode
from ..models.engines import NativeEngine
from ..segmentation.inference import Predictor
from .averages import RunningStatistics, WeightAverage
from .history import PARTS_OF_A_STEP
from .losses import training_loss
from .optimizers import MIN_MOMENTS, MOMENTS, build_optimizer, set_rate
from .strategy import SINGLE_PROCESS, SingleProcess

PARTS = (*PARTS_OF_A_STEP, "validation", "checkpoint")


class Trainer:
    """A model with its optimizer, as an engine trains them; the model belongs to it from here on.

    `encoder_rate` is a factor on the encoder's learning rate. `averaging` is the decay, from 0 to 1, of the average of
    the weights, which is validated and kept instead of the last ones; 0 for none. `clip_norm` limits the global norm of
    a step's gradients; 0 for no limit. `loss` takes logits and labels as `training_loss` does.

    The trainer `is_intact` if all is as after the last step, also if the one since then has failed. `ordered_names` are
    those of the parameters that learn, in the order of the optimizer, whose state has their indices.
    """

    is_intact, takes_images = True, True

    def __init__(
        self,
        model: nn.Module,
        engine: NativeEngine,
        recipe: StepOptions,
        strategy: SingleProcess = SINGLE_PROCESS,
        encoder_rate: float = 1.0,
        averaging: float = 0.0,
        clip_norm: float = 0.0,
        loss: Callable[[Tensor, Tensor], Tensor] = training_loss,
    ) -> None:
        self._engine, self._recipe, self.strategy, self._clip_norm = engine, recipe, strategy, clip_norm
        self._batch_loss = loss
        freeze_stages(model, recipe.frozen_stages)
        optimizer = build_optimizer(model, recipe.optimizer, encoder_rate)
        names = {parameter: name for name, parameter in model.named_parameters()}
        self.ordered_names = [names[parameter] for group in optimizer.param_groups for parameter in group["params"]]
        self._model, self._optimizer = engine.prepare_training(model, optimizer)
        self._average = WeightAverage(self._model, averaging) if averaging else None
        self._set_training_mode()
        self._statistics = RunningStatistics(self._model, strategy) if recipe.accumulation > 1 else None
        strategy.attach(self._model)
        self.timings_s = dict.fromkeys(PARTS, 0.0)
        self._part_began_s, self._waited_s = time.perf_counter(), strategy.waited_s

    @property
    def assigned_chips(self) -> list[int]:
        """Numbers of the chips of a step that this trainer computes."""
        size = self._recipe.batch_size
        batches = self.strategy.assigned(self._recipe.accumulation)
        return [chip for batch in batches for chip in range(batch * size, (batch + 1) * size)]

    @property
    def samples_per_step(self) -> int:
        """Chips of a step, those of other processes included."""
        return self._recipe.batch_size * self._recipe.accumulation

    def record_time(self, part: str) -> None:
        """Add the time since the last call to that of a part, one of `PARTS`, and the time waited to communication."""
        now_s, waited_s = time.perf_counter(), self.strategy.waited_s
        self.timings_s[part] += now_s - self._part_began_s - (waited_s - self._waited_s)
        self.timings_s["communication"] += waited_s - self._waited_s
        self._part_began_s, self._waited_s = now_s, waited_s

    def step(self, chips: Any, labels: Any, rate: float) -> float:
        """Train on the chips of one step at learning rate `rate`, above 0, and return the loss of the whole step.

        A NaN or infinite loss, where the training has diverged, changes no weight. Chips, (assigned chips, bands,
        height, width), float32, are those of `assigned_chips`; labels, (assigned chips, height, width), uint8, are as
        from `ChipSampler.batch`. Gradients of batches accumulate, weighted by their labeled pixels.
        """
        self.record_time("waiting for chips")
        set_rate(self._optimizer, rate)
        self._optimizer.zero_grad(set_to_none=True)
        total = self._compute_gradients(chips, labels)
        # A step that has diverged leaves the weights as they are.
        if math.isfinite(total):
            self._clip_gradients()
            self._optimizer.step()
            if self._average:
                self._average.update()
        self.record_time("optimizer")
        return total

    def _compute_gradients(self, chips: Any, labels: Any) -> float:
        """Leave the gradients of a step in the parameters, and return its loss."""
        batches = self._recipe.accumulation
        with self._statistics.step(batches) if self._statistics else nullcontext():
            losses = self._pass_batches(chips, labels)
            self.strategy.finish()
            return sum(self._all_losses(losses))

    def _pass_batches(self, chips: np.ndarray, labels: np.ndarray) -> list[float]:
        """Pass the batches of this rank forward and backward; return their losses."""
        size, fractions, losses = self._recipe.batch_size, self._fractions(labels), []
        for number, _ in enumerate(self.strategy.turns(self._recipe.accumulation)):
            batch = slice(number * size, (number + 1) * size)
            losses.append(self._accumulate(chips[batch], labels[batch], fractions[number]))
        return losses

    def _fractions(self, labels: np.ndarray) -> list[float]:
        """Return the fraction of the labeled pixels of the step that each batch of this rank has."""
        size = self._recipe.batch_size
        own_px = [np.count_nonzero(labels[first : first + size] != IGNORE) for first in range(0, len(labels), size)]
        batches_px = self.strategy.in_order(torch.tensor(own_px, dtype=torch.int64), self._recipe.accumulation)
        return [px / max(1, int(batches_px.sum())) for px in own_px]

    def _accumulate(self, chips: np.ndarray, labels: np.ndarray, fraction: float) -> float:
        """Add the gradients of a batch to those of the step; return its part of the loss of the step."""
        logits = self._engine.forward(self._model, torch.from_numpy(chips))
        loss = self._batch_loss(logits, torch.from_numpy(labels)) * fraction
        if self._statistics:
            self._statistics.record()
        self.record_time("forward")
        loss.backward()
        self.record_time("backward")
        return loss.item()

    def _all_losses(self, computed: list[float]) -> list[float]:
        """Return the losses of all batches of the step in their order, so that their sum has the same bits always."""
        return self.strategy.in_order(torch.tensor(computed, dtype=torch.float64), self._recipe.accumulation).tolist()

    def _clip_gradients(self) -> None:
        if self._clip_norm:
            nn.utils.clip_grad_norm_(self._model.parameters(), self._clip_norm)

    def weights(self) -> dict[str, Tensor]:
        """Return copies of the weights to validate and store, averages if there are any: (...), any dtype."""
        average = self._average.weights() if self._average else {}
        return _copies({**self._model.state_dict(), **average})

    @contextmanager
    def validating(self, bands: tuple[Band, ...]) -> Iterator[Predictor]:
        """Infer with the weights as they are, or with their averages, for a while."""
        self._model.eval()
        with self._average.in_place() if self._average else nullcontext():
            yield Predictor(self._model, self._engine, bands)
        self._set_training_mode()
        self.record_time("validation")

    def state_dict(self) -> dict[str, Tensor]:
        """Return copies of all tensors that a step changes, by name, to resume from: (...), any dtype."""
        tensors = {f"network.{name}": tensor for name, tensor in self._model.state_dict().items()}
        for index, values in self._optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(value) for name, value in values.items()
                        if value is not None}  # fmt: skip
        for index, group in enumerate(self._optimizer.param_groups):
            if "step" in group:  # LAMB counts its steps there
                tensors[f"group.{index}"] = torch.as_tensor(group["step"])
        if self._average:
            tensors |= {f"average.{name}": tensor for name, tensor in self._average.state_dict().items()}
        return _copies(tensors)

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Resume from a state, tensors (...) of any dtype, as `state_dict` returns it.

        Raises
        ------
        KeyError, IndexError, ValueError, RuntimeError
            It is the state of another model or recipe: a tensor is missing, left over, or has another shape or type.
        """
        self.require_state(state)
        self._take_over(state)

    def _take_over(self, state: dict[str, Tensor]) -> None:
        """Resume from a state that has been checked."""
        parameters = self._ordered_parameters
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _under("optimizer.", state).items():
            index, _, part = name.partition(".")
            parameter = parameters[int(index)]
            # In the parameter's own memory layout, which fused optimizers take for granted.
            laid_out = torch.empty_like(parameter).copy_(tensor) if tensor.shape == parameter.shape else tensor
            moments.setdefault(int(index), {})[part] = laid_out
        groups = self._optimizer.state_dict()["param_groups"]
        for index, tensor in _under("group.", state).items():
            groups[int(index)]["step"] = int(tensor)
        self._model.load_state_dict(_under("network.", state))
        self._optimizer.load_state_dict({"state": moments, "param_groups": groups})
        if self._average:
            self._average.load_state_dict(_under("average.", state))

    def require_state(self, state: dict[str, Tensor]) -> None:
        """Check that a state, tensors (...) of any dtype, is one of this model and recipe.

        Raises
        ------
        KeyError, IndexError, ValueError, RuntimeError
            A tensor is missing, left over, or has another shape or type.
        """
        self.require_fitting(_under("network.", state))
        _require_moments(_under("optimizer.", state), self._ordered_parameters, self._recipe.optimizer)
        _require_alike(_under("average.", state), self._average.state_dict() if self._average else {})

    @property
    def _ordered_parameters(self) -> list[nn.Parameter]:
        """The parameters as the optimizer has them, in its order."""
        return [parameter for group in self._optimizer.param_groups for parameter in group["params"]]

    def require_fitting(self, weights: dict[str, Tensor]) -> None:
        """Check that weights, tensors (...) of any dtype, are those of this model.

        Raises
        ------
        ValueError
            One is missing, left over, or has another shape or dtype.
        """
        _require_alike(weights, self._model.state_dict())

    @torch.no_grad()
    def draw_toward(self, weights: dict[str, Tensor], fraction: float) -> None:
        """Move learning parameters and their averages a `fraction` of the way to weights (...), float32 or int64."""
        names = {parameter: name for name, parameter in self._model.named_parameters()}
        for parameter in self._ordered_parameters:
            parameter.lerp_(weights[names[parameter]], fraction)
        if self._average:
            self._average.draw_toward(weights, fraction)

    def _set_training_mode(self) -> None:
        set_training_mode(self._model, self._recipe.frozen_stages, self._recipe.batch_norm)


def _copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return contiguous copies: files take no other memory layout, and would copy again."""
    return {name: tensor.detach().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}


def _require_alike(tensors: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Raise ValueError unless tensors have the names, shapes and dtypes of others."""
    if tensors.keys() != expected.keys() or any(
        (tensor.shape, tensor.dtype) != (expected[name].shape, expected[name].dtype) for name, tensor in tensors.items()
    ):
        raise ValueError("These are the tensors of another model.")


def _require_moments(moments: dict[str, Tensor], parameters: list[Tensor], optimizer: str) -> None:
    """Raise ValueError unless there is every moment of each parameter, in its shape, and such as an optimizer makes."""
    expected = {
        f"{index}.{part}": parameter for index, parameter in enumerate(parameters) for part in MOMENTS[optimizer]
    }
    if moments.keys() != expected.keys():
        raise ValueError("These are the moments of other parameters, or of another optimizer.")
    for name, tensor in moments.items():
        part, shape = name.partition(".")[2], expected[name].shape
        if not tensor.is_floating_point() or tensor.shape != (() if part == "step" else shape):
            raise ValueError("A moment has another shape or type than its parameter.")
        if tensor.numel() and tensor.min() < MIN_MOMENTS.get(part, -math.inf):
            raise ValueError("A moment has an impossible value.")


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
