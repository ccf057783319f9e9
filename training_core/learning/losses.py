"""Road loss: focal and soft Dice loss with closed-form gradients, in one pass over blocks of pixels; clDice added.

Scope: logits and labels; pixels of IGNORE do not count. Independent of the model. clDice itself is in `cldice_loss`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from ..geodata.pixel_codes import IGNORE, ROAD
from .cldice_loss import centerline_loss
from .joint_sums import EVERYWHERE, Joint, Window, only_part

FOCAL_WEIGHT, DICE_WEIGHT = 0.75, 0.25  # as in CRESI

# Small enough that the intermediates of a block stay in the cache, large enough to keep several threads busy.
_BLOCK_PX = 1 << 18


@dataclass(frozen=True)
class _Block:
    """A block of pixels with the intermediates that all terms share, each (pixels,) in the dtype of the logits.

    Parameters
    ----------
    place : slice
        Position among all pixels.
    known, road : Tensor
        Masks of 1 or 0.
    sign : Tensor
        -1 for road, else 1.
    margin : Tensor
        sign * logit, positive where the prediction is wrong.
    error : Tensor
        sigmoid(margin), the probability of the wrong class.
    spare : Tensor
        Scratch memory.
    """

    place: slice
    known: Tensor
    road: Tensor
    sign: Tensor
    margin: Tensor
    error: Tensor
    spare: Tensor


def _blocks(logits: Tensor, labels: Tensor) -> Iterator[_Block]:
    """Yield all pixels in blocks, which share the same memory one after the other."""
    buffers = logits.new_empty(6, min(_BLOCK_PX, len(logits)))
    one = logits.new_ones(())
    for start in range(0, len(logits), _BLOCK_PX):
        place = slice(start, min(start + _BLOCK_PX, len(logits)))
        known, road, sign, margin, error, spare = buffers[:, : place.stop - start]
        known.copy_(labels[place])
        torch.eq(known, ROAD, out=road)
        known.ne_(IGNORE)
        torch.sub(one, road, alpha=2, out=sign)
        torch.mul(logits[place], sign, out=margin)
        torch.sigmoid(margin, out=error)
        yield _Block(place, known, road, sign, margin, error, spare)


class _Focal:
    """A weight times the mean sigmoid focal loss over the labeled pixels (Lin et al., 2017), with gamma 2.

    With margin u, error q = sigmoid(u), l = softplus(u) and the weight a of the class: L = a q^2 l and
    dL/du = a q^2 (2 (1 - q) l + q).
    """

    def __init__(self, logits: Tensor, alpha: float, weight: float) -> None:
        self.gradient = logits.new_empty(logits.numel())
        self.sums = [0.0, 0.0]  # loss, labeled pixels
        self._alpha, self._weight = alpha, weight

    def add(self, block: _Block) -> None:
        """Add a block; writes the gradient of its sum."""
        self.sums[1] += block.known.sum().item()
        factor = torch.mul(block.known, 1 - self._alpha, out=block.spare).add_(block.road, alpha=2 * self._alpha - 1)
        factor.mul_(block.error).mul_(block.error)
        slope = self.gradient[block.place]
        loss = functional.softplus(block.margin)
        self.sums[0] += torch.mul(factor, loss, out=slope).sum().item()
        loss.mul_(2)
        loss.addcmul_(torch.sub(loss, 1, out=slope), block.error, value=-1)  # 2 l - q (2 l - 1)
        torch.mul(factor, loss, out=slope).mul_(block.sign)

    def finish(self, loss: float, count: float) -> float:
        """Return the mean, given the joint sums, and scale the gradient to its own."""
        scale = self._weight / max(count, 1.0)
        self.gradient.mul_(scale)
        return loss * scale


class _Dice:
    """A weight times the soft Dice loss over the labeled pixels of the batch (Milletari et al., 2016).

    With probabilities p and truths t: N = 2 sum(p t) + 1, M = sum(p) + sum(t) + 1, L = 1 - N / M and
    dL/dp = (N - 2 t M) / M^2. The error q of a pixel is p on background and 1 - p on road, and dp/dz = q (1 - q).
    """

    def __init__(self, logits: Tensor, weight: float) -> None:
        self.gradient = logits.new_empty(logits.numel())
        self.sums = [0.0, 0.0, 0.0]  # road, errors, errors on road
        self._weight = weight

    def add(self, block: _Block) -> None:
        """Add a block; keeps q (1 - q), negative on road."""
        slope = self.gradient[block.place]
        self.sums[0] += block.road.sum().item()
        self.sums[2] += torch.mul(block.error, block.road, out=slope).sum().item()
        self.sums[1] += torch.mul(block.error, block.known, out=slope).sum().item()
        slope.addcmul_(slope, block.error, value=-1).mul_(block.sign)

    def finish(self, road: float, errors: float, errors_on_road: float) -> float:
        """Return the loss, given the joint sums, and finish its gradient."""
        hits = road - errors_on_road
        false_alarms = errors - errors_on_road
        numerator, denominator = 2 * hits + 1, hits + false_alarms + road + 1
        # Background, which is positive, times N / M^2; road, which is negative, times (2 M - N) / M^2.
        functional.leaky_relu_(self.gradient, (2 * denominator - numerator) / numerator)
        self.gradient.mul_(self._weight * numerator / denominator**2)
        return self._weight * (1 - numerator / denominator)


class _Sum(torch.autograd.Function):
    """Sum of terms; only its gradient is saved for the backward pass."""

    @staticmethod
    def forward(context: Any, logits: Tensor, labels: Tensor, terms: list[_Focal | _Dice], joint: Joint) -> Tensor:
        for block in _blocks(logits.reshape(-1), labels.reshape(-1)):
            for term in terms:
                term.add(block)
        own = torch.tensor([each for term in terms for each in term.sums], dtype=torch.float64)
        sums = iter(joint(own).tolist())
        value = sum(term.finish(*islice(sums, len(term.sums))) for term in terms)
        gradient = terms[0].gradient
        for term in terms[1:]:
            gradient.add_(term.gradient)
        context.save_for_backward(gradient.view(logits.shape))
        return logits.new_tensor(value)

    @staticmethod
    @once_differentiable
    def backward(context: Any, outer: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = context.saved_tensors
        return gradient * outer, None, None, None


def focal_loss(logits: Tensor, labels: Tensor, alpha: float = 0.5, joint: Joint = only_part) -> Tensor:
    """Return the mean sigmoid focal loss (gamma 2) over the labeled pixels; 0 if there are none.

    Parameters
    ----------
    logits : Tensor (...), float32 or float64
    labels : Tensor (...), uint8
        BACKGROUND, ROAD or IGNORE.
    alpha : float
        Weight of road; that of background is 1 - alpha.
    joint : Joint
        Adds up over the parts of a divided batch.

    Returns
    -------
    Tensor, 0-d, dtype of the logits
    """
    return _Sum.apply(logits, labels, [_Focal(logits, alpha, 1.0)], joint)


def dice_loss(logits: Tensor, labels: Tensor, joint: Joint = only_part) -> Tensor:
    """Return the soft Dice loss over the labeled pixels.

    Parameters
    ----------
    logits : Tensor (...), float32 or float64
    labels : Tensor (...), uint8
        BACKGROUND, ROAD or IGNORE.
    joint : Joint
        Adds up over the parts of a divided batch.

    Returns
    -------
    Tensor, 0-d, dtype of the logits
    """
    return _Sum.apply(logits, labels, [_Dice(logits, 1.0)], joint)


def road_loss(
    logits: Tensor,
    labels: Tensor,
    centerline_weight: float = 0.0,
    joint: Joint = only_part,
    counted: Window = EVERYWHERE,
) -> Tensor:
    """Return the road loss: focal and Dice loss, mixed with clDice.

    Parameters
    ----------
    logits : Tensor (batch, 1, height, width), float32 or float64
    labels : Tensor (batch, 1, height, width), uint8
        BACKGROUND, ROAD or IGNORE.
    centerline_weight : float
        Share of `centerline_loss`, from 0 to 1.
    joint : Joint
        Adds up over the parts of a divided batch.
    counted : Window
        Which pixels belong to this part; those around them are but context of the center-lines.

    Returns
    -------
    Tensor, 0-d, dtype of the logits
    """
    terms_logits, terms_labels = logits[(..., *counted)], labels[(..., *counted)]
    terms = [_Focal(terms_logits, 0.5, FOCAL_WEIGHT), _Dice(terms_logits, DICE_WEIGHT)]
    loss = _Sum.apply(terms_logits, terms_labels, terms, joint)
    if centerline_weight == 0:
        return loss
    centerlines = centerline_loss(logits, labels, joint=joint, counted=counted)
    return (1 - centerline_weight) * loss + centerline_weight * centerlines
