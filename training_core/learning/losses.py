"""Training loss: focal and soft Dice loss of road in closed form, and a class-balanced loss of road classes.

The losses depend on other pixels only through sums. If the pixels are a part of an image, such as a tile, each loss
passes its sums to a callable (`Joint`) that returns those of all parts. So a part has the loss of the whole, and
its gradient with respect to the logits of the part.

Scope: logits and labels; pixels of IGNORE do not count. Independent of the model and of where other parts are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Optional

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from ..geodata.pixel_codes import IGNORE, ROAD

# Takes the sums of a part, (sums,), float64, and returns those over all parts. The parts call it together, equally
# often: each loss calls it once, even for a part without labels.
Joint = Callable[[Tensor], Tensor]

FOCAL_WEIGHT, DICE_WEIGHT = 0.75, 0.25  # as in CRESI
# Weight of the class loss: enough to learn classes, too little to cost road accuracy.
CLASS_WEIGHT = 0.2

# Small enough that the intermediates of a block stay in the cache, large enough to keep several threads busy.
_BLOCK_PX = 1 << 18


def only_part(sums: Tensor) -> Tensor:
    """Return the sums, (sums,), float64, as they are: there are no other parts."""
    return sums


@dataclass(frozen=True)
class _Block:
    """A block of pixels with the intermediates that all terms share, each (pixels,) in the dtype of the logits.

    `known` and `road` are masks of 1 or 0, and `sign` is -1 for road, else 1. `margin`, sign * logit, is positive where
    the prediction is wrong; `error`, sigmoid(margin), is the probability of the wrong class.
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
        # Masks in the dtype of the logits, so that all terms only multiply; nothing is allocated per block.
        known.copy_(labels[place])
        torch.eq(known, ROAD, out=road)
        known.ne_(IGNORE)
        # With the sign of the truth, road and background are the same problem: a margin, and the error it makes.
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
        # The weight of the class times q^2, which is 0 where nothing is known.
        factor = torch.mul(block.known, 1 - self._alpha, out=block.spare).add_(block.road, alpha=2 * self._alpha - 1)
        factor.mul_(block.error).mul_(block.error)
        slope = self.gradient[block.place]
        # The loss itself; `slope` only serves as memory for the product.
        loss = functional.softplus(block.margin)
        self.sums[0] += torch.mul(factor, loss, out=slope).sum().item()
        # The gradient, from the softplus in place.
        loss.mul_(2)
        loss.addcmul_(torch.sub(loss, 1, out=slope), block.error, value=-1)  # 2 l - q (2 l - 1)
        torch.mul(factor, loss, out=slope).mul_(block.sign)

    def finish(self, loss: float, count: float) -> float:
        """Return the mean, given the joint sums, and scale the gradient accordingly."""
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
        part_sums = torch.tensor([each for term in terms for each in term.sums], dtype=torch.float64)
        sums = iter(joint(part_sums).tolist())
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

    Logits, float32 or float64, and labels, uint8 (BACKGROUND, ROAD or IGNORE), have the same shape (...). The loss is
    0-d. Road has the weight alpha, background 1 - alpha.
    """
    return _Sum.apply(logits, labels, [_Focal(logits, alpha, 1.0)], joint)


def dice_loss(logits: Tensor, labels: Tensor, joint: Joint = only_part) -> Tensor:
    """Return the soft Dice loss over the labeled pixels, 0-d; arrays (...), float32 and uint8, as in `focal_loss`."""
    return _Sum.apply(logits, labels, [_Dice(logits, 1.0)], joint)


def road_loss(logits: Tensor, labels: Tensor, joint: Joint = only_part) -> Tensor:
    """Return the weighted sum of focal and Dice loss, 0-d; arrays (...), float32 and uint8, as in `focal_loss`."""
    return _Sum.apply(logits, labels, [_Focal(logits, 0.5, FOCAL_WEIGHT), _Dice(logits, DICE_WEIGHT)], joint)


def without_classes(labels: Tensor) -> Tensor:
    """Return labels, (...), uint8, in which roads of all classes are ROAD, in the same shape and dtype."""
    return torch.where(_has_class(labels), labels.new_tensor(ROAD), labels)


def count_classes(labels: Tensor) -> Tensor:
    """Return the number of pixels of each possible class in labels (...), uint8: (254,), int64."""
    return torch.bincount(labels.flatten(), minlength=IGNORE + 1)[ROAD + 1 : IGNORE]


def class_loss(logits: Tensor, labels: Tensor, joint: Joint = only_part, counts: Optional[Tensor] = None) -> Tensor:
    """Return the class-balanced mean binary cross-entropy over road pixels of known class; 0 if there are none.

    Each class in the batch has the same weight, however many pixels it has: most roads are of few classes. Logits are
    (batch, classes, height, width), float32; labels are those of `training_loss`, (batch, height, width), uint8. The
    loss is 0-d. Without the `counts` of `count_classes` over all parts, (254,), int64, `joint` is called for them
    first.
    """
    if counts is None:
        counts = joint(count_classes(labels).cpu().double()).long()
    # Only pixels of a known class are computed at all: few, as most labels are background.
    known = _has_class(labels)
    number = labels[known].long() - ROAD - 1
    predicted = logits.permute(0, 2, 3, 1)[known]
    truth = functional.one_hot(number, logits.shape[1]).to(predicted.dtype)
    loss = functional.binary_cross_entropy_with_logits(predicted, truth, reduction="none").mean(dim=1)
    # Each pixel by the size of its class, so that all classes weigh the same; the mean is over the classes that occur.
    counts = counts.to(loss.device)
    return _JointSum.apply((loss / counts[number]).sum(), joint) / (counts > 0).sum().clamp(min=1)


def _has_class(labels: Tensor) -> Tensor:
    return (labels > ROAD) & (labels != IGNORE)


class _JointSum(torch.autograd.Function):
    """The sum over all parts, whose gradient with respect to that of this part is 1."""

    @staticmethod
    def forward(context: Any, part_sums: Tensor, joint: Joint) -> Tensor:
        return joint(part_sums.cpu().double()).to(part_sums, copy=True)  # on the CPU: not all devices have FP64

    @staticmethod
    def backward(context: Any, outer: Tensor) -> tuple[Tensor, None]:
        return outer, None


def training_loss(
    logits: Tensor, labels: Tensor, joint: Joint = only_part, class_counts: Optional[Tensor] = None
) -> Tensor:
    """Return the loss of a batch, or of the image of which these pixels are a part, 0-d in the dtype of the logits.

    Logits, (batch, channels, height, width), float32 or float64, are of road, then of each class. Labels, (batch,
    height, width), uint8, are BACKGROUND, ROAD or IGNORE, and for road of a known class ROAD + its number. The gradient
    with respect to these logits is that of all parts together. For `class_counts`, (254,), int64, see `class_loss`.
    """
    loss = road_loss(logits[:, :1], without_classes(labels)[:, None], joint)
    if logits.shape[1] > 1:
        loss = loss + CLASS_WEIGHT * class_loss(logits[:, 1:], labels, joint, class_counts)
    return loss
