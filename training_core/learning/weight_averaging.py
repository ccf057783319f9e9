"""Exponential moving average (EMA) of a model's weights: it fluctuates less than the weights, and often scores better.

Scope: parameters and buffers. Independent of how they change. `torch.optim.swa_utils.AveragedModel` averages what
`Module.parameters` returns, which in BF16 the Intel extension rounds to 8 bits: too coarse for small updates to add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


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

        Raises
        ------
        KeyError, RuntimeError
            A tensor is missing, or has another shape.
        """
        self._updates = int(state["updates"])
        for name, tensor in self._mean.items():
            tensor.copy_(state[name])

    @torch.no_grad()
    def _set_live(self, weights: dict[str, Tensor]) -> None:
        for name, tensor in self._live.items():
            tensor.copy_(weights[name])
