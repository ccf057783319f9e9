"""Running statistics of batch normalization over the batches of a step, in their order, whichever rank computed which.

During a step each layer's buffers hold the statistics of the last batch alone (momentum 1). After it, the statistics of
all batches are folded into the running ones in the order of the batches: r <- (1 - m) r + m s. PyTorch's own update
rounds differently, so one process that accumulates several batches does this, too.

Scope: the buffers of batch normalization. Independent of the rest of the model.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .group import Group


class RunningStatistics:
    """Running statistics of the layers of a model that are in training mode.

    Parameters
    ----------
    model : Module
        Its layers of batch normalization get momentum 1 while a step is under way, from `begin` to `finish`.
    """

    def __init__(self, model: nn.Module, group: Group) -> None:
        layers = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d) and module.training]
        self._group, self._layers = group, layers
        self._momenta = [layer.momentum for layer in layers]
        self._buffers = [buffer for layer in layers for buffer in (layer.running_mean, layer.running_var)]
        self._weights = [momentum for momentum in self._momenta for _ in range(2)]
        self._former: list[Tensor] = []
        self._counts: list[int] = []
        self._batches: list[Tensor] = []

    def begin(self) -> None:
        """Keep the running statistics, and record those of each batch from here on."""
        self._former = [buffer.clone() for buffer in self._buffers]
        self._counts = [int(layer.num_batches_tracked) for layer in self._layers]
        self._batches = []
        for layer in self._layers:
            layer.momentum = 1.0

    def record(self) -> None:
        """Record the statistics of the batch that has just passed forward."""
        if self._buffers:
            self._batches.append(torch.cat(self._buffers))

    def finish(self, batches: int) -> None:
        """Fold the statistics of all batches into the running ones.

        Parameters
        ----------
        batches : int
            In the step, of which rank r has computed r, r + ranks, r + 2 ranks and so on.
        """
        self.restore()
        if not self._buffers:
            return
        rounds = -(-batches // self._group.size)
        own = torch.zeros(rounds, sum(len(buffer) for buffer in self._buffers))
        for row, batch in zip(own, self._batches):
            row.copy_(batch)
        for batch in self._group.gather(own).transpose(0, 1).reshape(-1, own.shape[1])[:batches]:
            parts = batch.split([len(buffer) for buffer in self._buffers])
            for buffer, part, momentum in zip(self._buffers, parts, self._weights):
                buffer.mul_(1 - momentum).add_(part, alpha=momentum)
        for layer, count in zip(self._layers, self._counts):
            layer.num_batches_tracked.fill_(count + batches)

    def restore(self) -> None:
        """Put the running statistics back to what they were at `begin`: the step has failed, or is folded in next."""
        for buffer, former in zip(self._buffers, self._former):
            buffer.copy_(former)
        for layer, momentum, count in zip(self._layers, self._momenta, self._counts):
            layer.momentum = momentum
            layer.num_batches_tracked.fill_(count)
