"""The loss timed beside those of torchvision and segmentation_models_pytorch: a self-check of our own kernel.

Scope: the time of focal losses with their gradients. Independent of their values, which `tests/core/learning` compares.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from ..learning.losses import focal_loss
from .profile import LossTime
from .rates import best_times_s

ROAD_SHARE = 0.1
Loss = Callable[[Tensor], Tensor]


def time_losses(logits_shape: tuple[int, ...], limit_s: float) -> tuple[LossTime, ...]:
    """Time focal losses (gamma 2, alpha 0.5) forward and backward on the same logits and labels, in turns.

    Parameters
    ----------
    logits_shape : tuple of int
        Of a training step: (batch, 1, height, width).
    limit_s : float
        Time for all; each is timed a few times in any case.

    Returns
    -------
    tuple of LossTime
        The best time of each; RoadSeg's first. A library that cannot be imported is left out.
    """
    random = torch.Generator().manual_seed(0)
    logits = (3 * torch.randn(logits_shape, generator=random)).requires_grad_()
    labels = (torch.rand(logits_shape, generator=random) < ROAD_SHARE).to(torch.uint8)
    losses: dict[str, Loss] = {"RoadSeg": lambda logits: focal_loss(logits, labels)}
    for name, make_loss in {"torchvision": _torchvision, "segmentation_models_pytorch": _segmentation_models}.items():
        try:
            losses[name] = make_loss(labels.float())  # as they compute with it, so that none converts it
        except (ImportError, OSError, RuntimeError):  # RuntimeError: torchvision for another version of PyTorch
            continue
    steps = [partial(_step, loss, logits) for loss in losses.values()]
    times_s = best_times_s(steps, limit_s, least=len(steps))
    return tuple(LossTime(name, time_s, time_s / times_s[0]) for name, time_s in zip(losses, times_s))


def _step(loss: Loss, logits: Tensor) -> None:
    torch.autograd.grad(loss(logits), logits)


def _torchvision(truth: Tensor) -> Loss:
    from torchvision.ops import sigmoid_focal_loss

    return lambda logits: sigmoid_focal_loss(logits, truth, alpha=0.5, gamma=2, reduction="mean")


def _segmentation_models(truth: Tensor) -> Loss:
    from segmentation_models_pytorch.losses import BINARY_MODE, FocalLoss

    focal = FocalLoss(BINARY_MODE, alpha=0.5, gamma=2.0)
    return lambda logits: focal(logits, truth)
