"""A training step: the loss of some samples and its gradients. What a trainer asks of any step, and that of chips.

Scope: forward and backward passes. Independent of the optimizer, and of how long to train.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..geodata.pixel_codes import IGNORE
from ..jobs import StepOptions
from ..models.engines import NativeEngine
from ..segmentation.inference import Predictor
from .history import PARTS_OF_A_STEP
from .losses import training_loss
from .share import ALL, Share
from .validation import Block, Validation, validate

PARTS = (*PARTS_OF_A_STEP, "validation", "checkpoint")
# What a trainer gathers: the weights to validate and keep, and all tensors that a step changes.
WEIGHTS, STATE = "weights", "state"


class Stopwatch:
    """The seconds that each part of a training, one of `PARTS`, has taken so far.

    The time by which `waited_s` has grown meanwhile counts as communication.
    """

    def __init__(self, waited_s: Callable[[], float] = lambda: 0.0) -> None:
        self.timings_s = dict.fromkeys(PARTS, 0.0)
        self._waited_s = waited_s
        self._began_s, self._waited_before_s = time.perf_counter(), waited_s()

    def record(self, part: str) -> None:
        """Add the time since the last call to that of a part."""
        now_s, waited_s = time.perf_counter(), self._waited_s()
        self.timings_s[part] += now_s - self._began_s - (waited_s - self._waited_before_s)
        self.timings_s["communication"] += waited_s - self._waited_before_s
        self._began_s, self._waited_before_s = now_s, waited_s


class Step:
    """The computation of a step on a model that an engine has prepared for training.

    The parameters of `model` get the gradients. `whole` is the same model, unless `model` is a part of it; its tensors
    may lack memory then.
    """

    def __init__(
        self, model: nn.Module, engine: NativeEngine, recipe: StepOptions, stopwatch: Stopwatch, share: Share = ALL
    ) -> None:
        self.model = self.whole = model
        self.engine, self.recipe, self.stopwatch, self.share = engine, recipe, stopwatch, share

    @property
    def samples(self) -> int:
        """Number of samples in a step: here chips."""
        return self.recipe.batch_size * self.recipe.accumulation

    @property
    def pixels(self) -> float:
        """Number of pixels in the samples of a step."""
        return self.samples * self.recipe.chip_px**2

    def compute(self, samples: Any, labels: Any) -> float:
        """Add the gradients of a step to those of the parameters, and return its loss."""
        raise NotImplementedError

    def gradient_norm(self) -> Tensor:
        """Return the norm of all gradients, 0-d, float32."""
        return torch.linalg.vector_norm(gradient_norms(self.model, self.whole))

    def gathered(self, name: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the WEIGHTS or the STATE of the whole model from those of `model`: tensors (...), any dtype."""
        return tensors

    def validate(self, predictor: Predictor, blocks: Sequence[Block], fewest: int, limit_s: float) -> Validation:
        """Score the model; see `validation.validate`."""
        return validate(predictor, blocks, fewest, limit_s, self.share)


# Makes a step for a model as the engine trains it.
MakeStep = Callable[[nn.Module, NativeEngine, StepOptions, Stopwatch], Step]


class ChipStep(Step):
    """A step on batches of chips, whose gradients accumulate, each weighted by its labeled pixels.

    `loss` takes logits and labels as `training_loss` does.
    """

    def __init__(
        self,
        model: nn.Module,
        engine: NativeEngine,
        recipe: StepOptions,
        stopwatch: Stopwatch,
        share: Share = ALL,
        loss: Callable[[Tensor, Tensor], Tensor] = training_loss,
    ) -> None:
        super().__init__(model, engine, recipe, stopwatch, share)
        self._loss = loss
        self._statistics = RunningStatistics(model, share) if recipe.accumulation > 1 else None

    def compute(self, samples: np.ndarray, labels: np.ndarray) -> float:
        """Add the gradients of a step, and return its loss.

        Chips, (assigned chips, bands, height, width), float32, are those of the batches that are assigned; labels,
        (assigned chips, height, width), uint8, are as from `ChipSampler.batch`.
        """
        size, batches, losses = self.recipe.batch_size, self.recipe.accumulation, []
        fractions = labeled_fractions(labels, self.recipe, self.share)
        with self._statistics.step(batches) if self._statistics else nullcontext():
            for number, _ in enumerate(self.share.turns(batches)):
                batch = slice(number * size, (number + 1) * size)
                losses.append(self._accumulate(samples[batch], labels[batch], fractions[number]))
            # In here, so that statistics change last, and not at all if another process is lost before.
            self.share.finish()
            # All losses are added in the order of the batches, so that the sum always has the same bits.
            total = sum(self.share.in_order(torch.tensor(losses, dtype=torch.float64), batches).tolist())
        return total

    def _accumulate(self, chips: np.ndarray, labels: np.ndarray, fraction: float) -> float:
        """Add the gradients of a batch to those of the step; return its part of the loss of the step."""
        logits = self.engine.forward(self.model, torch.from_numpy(chips))
        loss = self._loss(logits, torch.from_numpy(labels).to(logits.device)) * fraction
        if self._statistics:
            self._statistics.record()
        self.stopwatch.record("forward")
        loss.backward()
        value = loss.item()  # which waits for a device
        self.stopwatch.record("backward")
        return value


def labeled_fractions(labels: np.ndarray, recipe: StepOptions, share: Share) -> list[float]:
    """Return the fraction of the labeled pixels of the whole step in each batch: labels (chips, h, w), uint8."""
    size = recipe.batch_size
    own_px = [np.count_nonzero(labels[first : first + size] != IGNORE) for first in range(0, len(labels), size)]
    batches_px = share.in_order(torch.tensor(own_px, dtype=torch.int64), recipe.accumulation)
    return [px / max(1, int(batches_px.sum())) for px in own_px]


def gradient_norms(model: nn.Module, whole: nn.Module) -> Tensor:
    """Return the norm of the gradient of each parameter of the whole model, (parameters,), float32; 0 without one."""
    own = dict(model.named_parameters())
    norms = torch.zeros(sum(1 for _ in whole.parameters()))
    for number, (name, _) in enumerate(whole.named_parameters()):
        if name in own and own[name].grad is not None:
            norms[number] = torch.linalg.vector_norm(own[name].grad, dtype=torch.float32)
    return norms


class RunningStatistics:
    """Running statistics of the layers of batch normalization that are in training mode, folded in batch by batch.

    During a step, each layer's buffers hold the statistics of the last batch alone (momentum 1). After it, those of all
    batches are folded into the running ones in order: r <- (1 - m) r + m s. PyTorch's own update rounds differently, so
    a step gives the same bits wherever its batches were computed.
    """

    def __init__(self, model: nn.Module, share: Share) -> None:
        layers = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d) and module.training]
        self._share, self._layers = share, layers
        self._momenta = [layer.momentum for layer in layers]
        self._buffers = [buffer for layer in layers for buffer in (layer.running_mean, layer.running_var)]
        self._weights = [momentum for momentum in self._momenta for _ in range(2)]
        self._batches: list[Tensor] = []

    @contextmanager
    def step(self, batches: int) -> Iterator[None]:
        """Fold in the statistics of a step of `batches`; if it fails, they stay as they were."""
        # With momentum 1 a layer's buffers become the statistics of the batch that passes.
        former = [buffer.clone() for buffer in self._buffers]
        counts = [int(layer.num_batches_tracked) for layer in self._layers]
        self._batches = []
        for layer in self._layers:
            layer.momentum = 1.0
        try:
            yield
        finally:
            for buffer, values in zip(self._buffers, former):
                buffer.copy_(values)
            for layer, momentum, count in zip(self._layers, self._momenta, counts):
                layer.momentum = momentum
                layer.num_batches_tracked.fill_(count)
        self._fold_in(batches)
        for layer, count in zip(self._layers, counts):
            layer.num_batches_tracked.fill_(count + batches)

    def record(self) -> None:
        """Record the statistics of the batch that has just passed forward."""
        if self._buffers:
            self._batches.append(torch.cat(self._buffers))

    def _fold_in(self, batches: int) -> None:
        if not self._buffers:
            return
        lengths = [len(buffer) for buffer in self._buffers]
        computed = torch.stack(self._batches) if self._batches else torch.zeros(0, sum(lengths))
        # One batch after the other, as rounding depends on the order.
        for batch in self._share.in_order(computed, batches):
            for buffer, part, momentum in zip(self._buffers, batch.split(lengths), self._weights):
                buffer.mul_(1 - momentum).add_(part, alpha=momentum)
