"""Road class loss: class-balanced binary cross-entropy, beside the loss of road or not.

Scope: logits and labels, as `ChipSampler` draws them: ROAD + n for a road of class n. Independent of the model.
"""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor
from torch.nn import functional

from ..geodata.pixel_codes import IGNORE, ROAD
from .joint_sums import Joint, joint_sums, only_part

# Weight beside the road loss: enough to learn classes, too little to cost road accuracy.
CLASS_WEIGHT = 0.2


def without_classes(labels: Tensor) -> Tensor:
    """Return labels, (...), uint8, in which roads of all classes are ROAD, in the same shape and dtype."""
    return torch.where(_has_class(labels), labels.new_tensor(ROAD), labels)


def count_classes(labels: Tensor) -> Tensor:
    """Return the number of pixels of each class in labels (...), uint8: (254,), int64, for as many as there can be."""
    return torch.bincount(labels.flatten(), minlength=IGNORE + 1)[ROAD + 1 : IGNORE]


def class_loss(logits: Tensor, labels: Tensor, joint: Joint = only_part, counts: Optional[Tensor] = None) -> Tensor:
    """Return the class-balanced mean binary cross-entropy over road pixels of known class; 0 if there are none.

    Each class in the batch has the same weight, however many pixels it has: most roads are of few classes.

    Parameters
    ----------
    logits : Tensor (batch, classes, height, width), float32
    labels : Tensor (batch, height, width), uint8
    joint : Joint
        Adds up over the parts of a divided batch.
    counts : Tensor (254,), int64, optional
        As `count_classes` returns them, for all parts; where they are not known, `joint` is called for them first.

    Returns
    -------
    Tensor, 0-d, float32
    """
    if counts is None:
        counts = joint(count_classes(labels).double()).long()
    known = _has_class(labels)
    number = labels[known].long() - ROAD - 1
    predicted = logits.permute(0, 2, 3, 1)[known]
    truth = functional.one_hot(number, logits.shape[1]).to(predicted.dtype)
    loss = functional.binary_cross_entropy_with_logits(predicted, truth, reduction="none").mean(dim=1)
    return joint_sums((loss / counts[number]).sum(), joint) / (counts > 0).sum().clamp(min=1)


def _has_class(labels: Tensor) -> Tensor:
    return (labels > ROAD) & (labels != IGNORE)
