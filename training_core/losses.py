"""Losses with their gradients in closed form: one pass forward, one pass backward, nothing kept but logits and labels.

Knows logits and labels; knows nothing of networks. A label of 255 is ignored.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .labels import IGNORE, ROAD

FOCAL_WEIGHT, DICE_WEIGHT = 0.75, 0.25  # CRESI's mixture


class _SigmoidFocal(torch.autograd.Function):
    """Mean sigmoid focal loss over the labeled pixels (Lin et al., 2017).

    With y in {0, 1}, s = 2y - 1, u = s z, q = sigmoid(-u), p = 1 - q, l = softplus(-u):
    L = a_t q^2 l and dL/dz = -s a_t q^2 (2 p l + q).
    """

    @staticmethod
    def forward(context: Any, logits: Tensor, labels: Tensor, alpha: float) -> Tensor:
        context.save_for_backward(logits, labels)
        context.alpha = alpha
        sign, weight, count = _signs(logits, labels, alpha)
        u = logits * sign
        loss = torch.sigmoid(-u).square_().mul_(functional.softplus(-u)).mul_(weight)
        return loss.sum() / count

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        logits, labels = context.saved_tensors
        sign, weight, count = _signs(logits, labels, context.alpha)
        u = logits * sign
        q = torch.sigmoid(-u)
        slope = functional.softplus(-u).mul_(1 - q).mul_(2).add_(q).mul_(q.square_())
        return slope.mul_(sign).mul_(weight).mul_(-gradient / count), None, None


def _signs(logits: Tensor, labels: Tensor, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return 2y - 1, the class weight (0 where ignored), and the number of labeled pixels (at least 1)."""
    is_road = labels == ROAD
    known = labels != IGNORE
    sign = is_road.to(logits.dtype).mul_(2).sub_(1)
    weight = sign.mul(alpha - 0.5).add_(0.5).mul_(known)
    return sign, weight, known.sum().clamp_(min=1)


class _SoftDice(torch.autograd.Function):
    """Soft Dice loss over the labeled pixels of the batch (Milletari et al., 2016).

    With probabilities p and truths t: N = 2 sum(p t) + 1, M = sum(p) + sum(t) + 1, L = 1 - N / M and
    dL/dp_i = (N - 2 t_i M) / M^2.
    """

    @staticmethod
    def forward(context: Any, logits: Tensor, labels: Tensor) -> Tensor:
        context.save_for_backward(logits, labels)
        known, truth = labels != IGNORE, labels == ROAD
        probability = torch.sigmoid(logits).mul_(known)
        context.numerator = 2 * (probability * truth).sum() + 1
        context.denominator = probability.sum() + truth.sum() + 1
        return 1 - context.numerator / context.denominator

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        logits, labels = context.saved_tensors
        numerator, denominator = context.numerator, context.denominator
        probability = torch.sigmoid(logits)
        slope = probability.mul_(1 - probability).mul_(labels != IGNORE)
        factor = numerator - 2 * denominator * (labels == ROAD)
        return slope.mul_(factor).mul_(gradient / denominator**2), None


def focal_loss(logits: Tensor, labels: Tensor, alpha: float = 0.5) -> Tensor:
    """Return the mean sigmoid focal loss (gamma 2) over the labeled pixels.

    Parameters
    ----------
    logits : Tensor, any shape, floating point
    labels : Tensor of the same shape, uint8
    alpha : float
        Weight of road; background weighs 1 - alpha.
    """
    return _SigmoidFocal.apply(logits, labels, alpha)


def dice_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the soft Dice loss over the labeled pixels; see `focal_loss` for the parameters."""
    return _SoftDice.apply(logits, labels)


def road_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the weighted sum of focal and Dice loss that networks are trained with."""
    return FOCAL_WEIGHT * focal_loss(logits, labels) + DICE_WEIGHT * dice_loss(logits, labels)
