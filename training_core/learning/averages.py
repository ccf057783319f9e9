"""Averages over steps: of the weights, and of the statistics of batch normalization.

The moving average (EMA) of the weights fluctuates less than the weights, and often scores better.
`torch.optim.swa_utils.AveragedModel` averages what `Module.parameters` returns. In BF16 the Intel extension rounds that
to 8 bits: too coarse for small updates to add up.

Running statistics are folded in the order of a step's batches. During a step each layer's
buffers hold the statistics of the last batch alone (momentum 1). After it, those of all batches are folded into the
running ones in order: r <- (1 - m) r + m s. PyTorch's own update rounds differently, so a step gives the
same bits wherever its batches were computed.

Scope: parameters and buffers. Independent of how they change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from .share import Share


class WeightAverage:
    """An exponential moving average of a model's weights that learn, in FP32 (Polyak and Juditsky, 1992).

    An update keeps `decay`, from 0 to 1, of the average; early on less, so that it soon forgets the beginning.
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


class RunningStatistics:
    """Running statistics of the layers of a model that are in training mode."""

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
