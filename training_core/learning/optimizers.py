"""Optimizers, their usual learning rates, and how a rate goes with the batch and with time.

Knows parameters and recipes; knows nothing of networks' shapes or of images.
"""

from __future__ import annotations

import math

from timm.optim import Lamb, Lars, param_groups_weight_decay
from torch import nn
from torch.optim import SGD, AdamW, Optimizer

from ..jobs import RecipeOptions
from ..jobs.recipe import REFERENCE_BATCH

# Peak learning rates for a batch of REFERENCE_BATCH, found by experiment (benchmarks/experiments.md).
USUAL_RATES = {"adamw": 1e-3, "sgd": 0.03, "lamb": 5e-3, "lars": 0.3}
MOMENTUM = 0.9
LOWEST_SHARE = 0.01


def build_optimizer(network: nn.Module, name: str, weight_decay: float) -> Optimizer:
    """Return the optimizer of the network's live parameters; biases and normalization do not decay."""
    groups = param_groups_weight_decay(network, weight_decay)
    if name == "adamw":
        return AdamW(groups, lr=0.0, fused=True)
    if name == "sgd":
        return SGD(groups, lr=0.0, momentum=MOMENTUM, nesterov=True, fused=True)
    if name == "lamb":
        return Lamb(groups, lr=0.0)
    return Lars(groups, lr=0.0, momentum=MOMENTUM)


def peak_rate(recipe: RecipeOptions) -> float:
    """Return the peak learning rate: the stated one in proportion to the whole batch (Goyal et al., 2017)."""
    stated = recipe.learning_rate or USUAL_RATES[recipe.optimizer]
    return stated * recipe.batch_size * recipe.accumulation / REFERENCE_BATCH


def rate_at(done: float, peak: float, warm_up_share: float) -> float:
    """Return the learning rate: a linear warm-up, then a cosine to near zero (Loshchilov and Hutter, 2017).

    Parameters
    ----------
    done : float
        How much of the training is done, from 0 to 1.
    peak : float
    warm_up_share : float
        Share of the training that warms up.
    """
    if done < warm_up_share:
        return peak * max(done / warm_up_share, 0.05)
    left = (1 - min(done, 1.0)) / (1 - warm_up_share)
    return peak * max(0.5 * (1 - math.cos(math.pi * left)), LOWEST_SHARE)
