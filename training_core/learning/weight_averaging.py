"""A running average of a network's weights: it wavers less than the weights themselves, and often scores better.

Knows parameters and buffers; knows nothing of how they change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """An exponential moving average of a network's weights (Polyak and Juditsky, 1992).

    Parameters
    ----------
    network : Module
        The average begins at its weights. Only what learns is averaged.
    decay : float
        How much of the average a step keeps; early on less, so that it soon forgets the beginning.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._decay = decay
        self._updates = 0
        learning = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
        statistics = {name: buffer for name, buffer in network.named_buffers() if buffer.is_floating_point()}
        self._live = {name: tensor.detach() for name, tensor in {**learning, **statistics}.items()}
        self._mean = {name: tensor.clone() for name, tensor in self._live.items()}

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights as they are after a step."""
        self._updates += 1
        decay = min(self._decay, self._updates / (self._updates + 9))
        torch._foreach_lerp_(list(self._mean.values()), list(self._live.values()), 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Put the average in the weights' place for a while."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def state(self) -> dict[str, Tensor]:
        """Return the average, with the number of updates, to go on from later."""
        return {**self._mean, "updates": torch.tensor(self._updates)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a state."""
        self._updates = int(state["updates"])
        for name, tensor in self._mean.items():
            tensor.copy_(state[name])

    @torch.no_grad()
    def _swap(self) -> None:
        for name, tensor in self._live.items():
            held = tensor.clone()
            tensor.copy_(self._mean[name])
            self._mean[name].copy_(held)
