"""Optimizers, their default learning rates, scaling with the batch, and the schedule: warm-up and cosine decay.

Scope: parameters and recipes. Independent of the model's shape and of images.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer

from ..jobs import RecipeOptions
from ..jobs.recipe import REFERENCE_BATCH

# Peak learning rates for a batch of REFERENCE_BATCH, found by experiment (benchmarks/README.md).
USUAL_RATES = {"adamw": 1e-3, "sgd": 0.03, "lamb": 5e-3, "lars": 0.3}
# Power of the batch with which rates grow: linear for SGD (Goyal et al., 2017) and LARS (You et al., 2017), the square
# root for Adam (Malladi et al., 2022) and LAMB (You et al., 2020). Compared in benchmarks/README.md.
SCALING_POWERS = {"adamw": 0.5, "sgd": 1.0, "lamb": 0.5, "lars": 1.0}
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
LOWEST_FRACTION = 0.01
# Key of a group of parameters with another learning rate.
RATE_FACTOR = "rate_factor"


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

    PyTorch's kernel goes through memory in order, but first makes a contiguous copy of a channels-last gradient, which
    it never reads. That copy takes longer than the step itself.
    """

    def _init_group(self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor], *rest: Any) -> bool:
        is_complex = super()._init_group(group, parameters, gradients, *rest)
        gradients[:] = map(_in_memory_order, gradients)
        return is_complex


def _in_memory_order(tensor: Tensor) -> Tensor:
    """Return a view that is contiguous, where the tensor is channels last."""
    is_channels_last = tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    return tensor.permute(0, 2, 3, 1) if is_channels_last else tensor


def peak_rate(recipe: RecipeOptions) -> float:
    """Return the peak learning rate, scaled with the effective batch size; see `SCALING_POWERS`."""
    stated = recipe.learning_rate or USUAL_RATES[recipe.optimizer]
    growth = recipe.batch_size * recipe.accumulation / REFERENCE_BATCH
    return stated * growth ** SCALING_POWERS[recipe.optimizer]


def rate_at(done: float, peak: float, warm_up_fraction: float) -> float:
    """Return the learning rate: a linear warm-up, then a cosine to near zero (Loshchilov and Hutter, 2017).

    The fractions `done` and `warm_up_fraction`, below 1, are of the training. The rate reaches `peak` at the end of the
    warm-up. It is at least a twentieth of it before, and a hundredth after.
    """
    if done < warm_up_fraction:
        return peak * max(done / warm_up_fraction, 0.05)
    left = (1 - min(done, 1.0)) / (1 - warm_up_fraction)
    return peak * max(0.5 * (1 - math.cos(math.pi * left)), LOWEST_FRACTION)
