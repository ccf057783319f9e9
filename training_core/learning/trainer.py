"""Trainer: a model with its optimizer, the average of its weights, and the state to resume from.

Scope: steps one by one. Independent of how a step's gradients are computed (`step`), and of how long to train
(`training_loop`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer

from ..geodata.rasters import Band
from ..jobs import StepOptions
from ..models.architectures import freeze_stages, set_training_mode
from ..models.engines import NativeEngine
from ..segmentation.inference import Predictor
from .step import STATE, WEIGHTS, ChipStep, MakeStep, Stopwatch
from .validation import Block, Validation

MOMENTUM, WEIGHT_DECAY = 0.9, 0.01
# State of each for a parameter, and the lower bound of some of it.
MOMENTS = {
    "adamw": ("step", "exp_avg", "exp_avg_sq"),
    "sgd": ("momentum_buffer",),
    "lamb": ("exp_avg", "exp_avg_sq"),
    "lars": ("momentum_buffer",),
}
MIN_MOMENTS = {"step": 1.0, "exp_avg_sq": 0.0}
# Limit of the norm of all gradients (You et al., 2020), which the trainer keeps.
MAX_NORMS = {"lamb": 1.0}
# Key of a group of parameters with another learning rate.
RATE_FACTOR = "rate_factor"


class Trainer:
    """A model with its optimizer, as an engine trains them; the model belongs to it from here on.

    `encoder_rate` is a factor on the encoder's learning rate. `averaging` is the decay, from 0 to 1, of the average of
    the weights, which is validated and kept instead of the last ones; 0 for none. `clip_norm` limits the global norm of
    a step's gradients; 0 takes the limit that the optimizer has, if any.
    """

    def __init__(
        self,
        model: nn.Module,
        engine: NativeEngine,
        recipe: StepOptions,
        make_step: MakeStep = ChipStep,
        encoder_rate: float = 1.0,
        averaging: float = 0.0,
        clip_norm: float = 0.0,
        stopwatch: Optional[Stopwatch] = None,
    ) -> None:
        self._engine, self._recipe = engine, recipe
        self._clip_norm = clip_norm or MAX_NORMS.get(recipe.optimizer, 0.0)
        freeze_stages(model, recipe.frozen_stages)
        optimizer = build_optimizer(model, recipe.optimizer, encoder_rate)
        names = {parameter: name for name, parameter in model.named_parameters()}
        ordered_names = [names[parameter] for parameter in _parameters_of(optimizer)]
        self.model, self._optimizer = engine.prepare_training(model, optimizer)
        # The parameters that learn, by name, as the engine trains them; the optimizer's state has their indices.
        self._learning = dict(zip(ordered_names, _parameters_of(self._optimizer)))
        self._average = WeightAverage(self.model, averaging) if averaging else None
        self._set_training_mode()
        self.stopwatch = stopwatch or Stopwatch()
        self._computation = make_step(self.model, engine, recipe, self.stopwatch)

    @property
    def samples_per_step(self) -> int:
        """Chips or images of a step."""
        return self._computation.samples

    @property
    def pixels_per_step(self) -> float:
        """Pixels of a step."""
        return self._computation.pixels

    @property
    def is_whole(self) -> bool:
        """Whether the model is a whole one, not a part."""
        return self._computation.whole is self.model

    def step(self, samples: Any, labels: Any, rate: float) -> float:
        """Train on the samples of one step at learning rate `rate`, above 0, and return the loss of the whole step.

        A NaN or infinite loss, where the training has diverged, changes no weight. For samples and labels, see
        `Step.compute`.
        """
        self._computation.share.begin_step(rate)
        self.stopwatch.record("waiting for chips")
        set_rate(self._optimizer, rate)
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._computation.compute(samples, labels)
        # A step that has diverged leaves the weights as they are.
        if math.isfinite(loss):
            self._clip_gradients()
            self._optimizer.step()
            if self._average:
                self._average.update()
        self.stopwatch.record("optimizer")
        return loss

    def _clip_gradients(self) -> None:
        if not self._clip_norm:
            return
        excess = self._computation.gradient_norm() / self._clip_norm
        if excess > 1:
            for parameter in self._learning.values():
                if parameter.grad is not None:
                    parameter.grad.div_(excess)

    def validate(self, blocks: Sequence[Block], fewest: int, limit_s: float) -> Validation:
        """Score the weights as they are, or their averages; see `validation.validate`."""
        with self.validating(blocks[0].image.bands) as predictor:
            self._computation.share.begin_validation(len(blocks), fewest, limit_s)
            return self._computation.validate(predictor, blocks, fewest, limit_s)

    @contextmanager
    def validating(self, bands: tuple[Band, ...]) -> Iterator[Predictor]:
        """Infer with the weights as they are, or with their averages, for a while."""
        self.model.eval()
        with self._average.in_place() if self._average else nullcontext():
            yield Predictor(self.model, self._engine, bands)
        self._set_training_mode()
        self.stopwatch.record("validation")

    def weights(self) -> dict[str, Tensor]:
        """Return copies of the weights to validate and store, averages if there are any: (...), any dtype."""
        average = self._average.weights() if self._average else {}
        return self._computation.gathered(WEIGHTS, _copies({**self.model.state_dict(), **average}))

    def state_dict(self) -> dict[str, Tensor]:
        """Return copies of all tensors that a step changes, by name, to resume from: (...), any dtype."""
        tensors = {f"network.{name}": tensor for name, tensor in self.model.state_dict().items()}
        names = list(self._learning)
        for index, values in self._optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{names[index]}.{part}": torch.as_tensor(value) for part, value in values.items()
                        if value is not None}  # fmt: skip
        for group in self._optimizer.param_groups:
            if "step" in group:  # LAMB counts its steps there
                tensors["steps"] = torch.as_tensor(group["step"])
        if self._average:
            tensors |= {f"average.{name}": tensor for name, tensor in self._average.state_dict().items()}
        return self._computation.gathered(STATE, _copies(tensors))

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Resume from a state, tensors (...) of any dtype, as `state_dict` returns it.

        Raises KeyError, ValueError or RuntimeError if it is the state of another model or recipe: a tensor is missing,
        left over, or has another shape or type.
        """
        self.require_state(state)
        moments: dict[int, dict[str, Tensor]] = {index: {} for index in range(len(self._learning))}
        for index, (name, parameter) in enumerate(self._learning.items()):
            for part in MOMENTS[self._recipe.optimizer]:
                tensor = state[f"optimizer.{name}.{part}"]
                # In the parameter's own memory layout, which fused optimizers take for granted.
                laid_out = torch.empty_like(parameter).copy_(tensor) if tensor.shape == parameter.shape else tensor
                moments[index][part] = laid_out
        groups = self._optimizer.state_dict()["param_groups"]
        if "steps" in state:
            groups = [{**group, "step": int(state["steps"])} for group in groups]
        self.model.load_state_dict({name: state[f"network.{name}"] for name in self.model.state_dict()})
        self._optimizer.load_state_dict({"state": moments, "param_groups": groups})
        if self._average:
            self._average.load_state_dict(under("average.", state))

    def require_state(self, state: dict[str, Tensor]) -> None:
        """Check that a state, tensors (...) of any dtype, is one of the whole model and this recipe.

        Raises ValueError if a tensor is missing, left over, or has another shape or type.
        """
        self.require_fitting(under("network.", state))
        learning = {name: each for name, each in self._computation.whole.named_parameters() if each.requires_grad}
        _require_moments(under("optimizer.", state), learning, self._recipe.optimizer)
        _require_alike(under("average.", state), self._average.state_dict() if self._average else {})

    def require_fitting(self, weights: dict[str, Tensor]) -> None:
        """Check that weights, tensors (...) of any dtype, are those of the whole model.

        Raises ValueError if one is missing, left over, or has another shape or dtype.
        """
        _require_alike(weights, self._computation.whole.state_dict())

    @torch.no_grad()
    def draw_toward(self, weights: dict[str, Tensor], fraction: float) -> None:
        """Move learning parameters and their averages a `fraction` of the way to weights (...), float32 or int64."""
        for name, parameter in self._learning.items():
            parameter.lerp_(weights[name], fraction)
        if self._average:
            self._average.draw_toward(weights, fraction)

    def _set_training_mode(self) -> None:
        set_training_mode(self.model, self._recipe.frozen_stages, self._recipe.batch_norm)


class WeightAverage:
    """An exponential moving average of a model's weights that learn, in FP32 (Polyak and Juditsky, 1992).

    It fluctuates less than the weights, and often scores better. An update keeps `decay`, from 0 to 1, of the average;
    early on less, so that it soon forgets the beginning. `torch.optim.swa_utils.AveragedModel` averages the parameters
    themselves, which the Intel extension rounds to 8 bits in BF16: too coarse for small updates to add up.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._model, self._decay, self._updates = model, decay, 0
        trainable = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
        statistics = {name: buffer for name, buffer in model.named_buffers() if buffer.is_floating_point()}
        self._live = {name: tensor.detach() for name, tensor in {**trainable, **statistics}.items()}
        weights = model.state_dict()
        self._mean = {name: weights[name].clone() for name in self._live}

    @torch.no_grad()
    def update(self) -> None:
        """Update the average with the weights as they are after a step."""
        self._updates += 1
        decay = min(self._decay, self._updates / (self._updates + 9))
        weights = self._model.state_dict()  # where the Intel extension keeps them in FP32
        torch._foreach_lerp_(list(self._mean.values()), [weights[name] for name in self._mean], 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Compute with the average in place of the weights for a while."""
        held = {name: tensor.clone() for name, tensor in self._live.items()}
        self._set_live(self._mean)
        try:
            yield
        finally:
            self._set_live(held)

    def weights(self) -> dict[str, Tensor]:
        """Return the average, not a copy, by name: (...), float32."""
        return self._mean

    def draw_toward(self, weights: dict[str, Tensor], fraction: float) -> None:
        """Move the average a `fraction`, from 0 to 1, of the way toward weights (...), float32 or int64, by name."""
        torch._foreach_lerp_(list(self._mean.values()), [weights[name] for name in self._mean], fraction)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the average by name, (...), float32, and the number of updates, 0-d, int64."""
        return {**self._mean, "updates": torch.tensor(self._updates)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Resume from a state, tensors (...) of float32 and a 0-d int64, as `state_dict` returns it.

        Raises KeyError or RuntimeError if a tensor is missing, or has another shape.
        """
        self._updates = int(state["updates"])
        for name, tensor in self._mean.items():
            tensor.copy_(state[name])

    @torch.no_grad()
    def _set_live(self, weights: dict[str, Tensor]) -> None:
        for name, tensor in self._live.items():
            tensor.copy_(weights[name])


def _parameters_of(optimizer: Optimizer) -> list[nn.Parameter]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return contiguous copies on the CPU: files take no other memory layout, and would copy again."""
    there = {"device": "cpu", "copy": True, "memory_format": torch.contiguous_format}
    return {name: tensor.detach().to(**there) for name, tensor in tensors.items()}


def _require_alike(tensors: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Raise ValueError unless tensors have the names, shapes and dtypes of others."""
    if tensors.keys() != expected.keys() or any(
        (tensor.shape, tensor.dtype) != (expected[name].shape, expected[name].dtype) for name, tensor in tensors.items()
    ):
        raise ValueError("These are the tensors of another model.")


def _require_moments(moments: dict[str, Tensor], parameters: Mapping[str, Tensor], optimizer: str) -> None:
    """Raise ValueError unless there is every moment of each parameter, in its shape, and such as an optimizer makes."""
    expected = {f"{name}.{part}": each for name, each in parameters.items() for part in MOMENTS[optimizer]}
    if moments.keys() != expected.keys():
        raise ValueError("These are the moments of other parameters, or of another optimizer.")
    for name, tensor in moments.items():
        part, shape = name.rpartition(".")[2], expected[name].shape
        if not tensor.is_floating_point() or tensor.shape != (() if part == "step" else shape):
            raise ValueError("A moment has another shape or type than its parameter.")
        if tensor.numel() and tensor.min() < MIN_MOMENTS.get(part, -math.inf):
            raise ValueError("A moment has an impossible value.")


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors, (...) of any dtype, whose names begin with a prefix, without it."""
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def build_optimizer(model: nn.Module, name: str, encoder_rate: float = 1.0) -> Optimizer:
    """Return an adamw, sgd, lamb or lars optimizer, without weight decay for biases and normalization.

    Its learning rate is 0 until `set_rate`; `encoder_rate` is the factor on that of the encoder.
    """
    from timm.optim import Lamb, Lars, param_groups_weight_decay  # comes with the library of the U-Net, loaded late

    groups = param_groups_weight_decay(model, WEIGHT_DECAY)
    if encoder_rate != 1:
        groups = [part for group in groups for part in _split(group, set(model.encoder.parameters()), encoder_rate)]
    if name == "adamw":
        return FusedAdamW(groups, lr=0.0, fused=True)
    if name == "sgd":
        return SGD(groups, lr=0.0, momentum=MOMENTUM, nesterov=True, fused=True)
    if name == "lamb":
        return Lamb(groups, lr=0.0, max_grad_norm=None)
    return Lars(groups, lr=0.0, momentum=MOMENTUM)


def _split(group: dict[str, Any], encoder: set[nn.Parameter], encoder_rate: float) -> list[dict[str, Any]]:
    """Return a group of parameters as that of the encoder and that of the others, in the same order."""
    encoder_parameters = [parameter for parameter in group["params"] if parameter in encoder]
    others = [parameter for parameter in group["params"] if parameter not in encoder]
    parts = [{**group, "params": encoder_parameters, RATE_FACTOR: encoder_rate}, {**group, "params": others}]
    return [part for part in parts if part["params"]]


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate, of which the encoder may have a part."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get(RATE_FACTOR, 1.0)


class FusedAdamW(AdamW):
    """AdamW, fused, whose kernel is handed each gradient in its order in memory.

    PyTorch's kernel for the CPU goes through memory in order, but first makes a contiguous copy of a channels-last
    gradient, which it never reads. That copy takes longer than the step itself.
    """

    def _init_group(self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor], *rest: Any) -> bool:
        is_complex = super()._init_group(group, parameters, gradients, *rest)
        gradients[:] = map(_in_memory_order, gradients)
        return is_complex


def _in_memory_order(tensor: Tensor) -> Tensor:
    """Return a view that is contiguous, where the tensor is channels last, and on the CPU."""
    is_channels_last = tensor.is_cpu and tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    return tensor.permute(0, 2, 3, 1) if is_channels_last else tensor
