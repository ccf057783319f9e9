"""Running statistics of batch normalization, folded in the order of a step's batches, whoever has computed them.

During a step each layer's buffers hold the statistics of the last batch alone (momentum 1). After it, the statistics of
all batches are folded into the running ones in the order of the batches: r <- (1 - m) r + m s. PyTorch's own update
rounds differently, so a single process that accumulates several batches does the same as many processes.

Scope: the buffers of batch normalization. Independent of the rest of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from .strategy import SingleProcess


class RunningStatistics:
    """Running statistics of the layers of a model that are in training mode."""

    def __init__(self, model: nn.Module, strategy: SingleProcess) -> None:
        layers = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d) and module.training]
        self._strategy, self._layers = strategy, layers
        self._momenta = [layer.momentum for layer in layers]
        self._buffers = [buffer for layer in layers for buffer in (layer.running_mean, layer.running_var)]
        self._weights = [momentum for momentum in self._momenta for _ in range(2)]
        self._batches: list[Tensor] = []

    @contextmanager
    def step(self, batches: int) -> Iterator[None]:
        """Fold in the statistics of a step of `batches` over all processes; if it fails, they stay as they were."""
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
        for batch in self._strategy.in_order(computed, batches):
            for buffer, part, momentum in zip(self._buffers, batch.split(lengths), self._weights):
                buffer.mul_(1 - momentum).add_(part, alpha=momentum)
