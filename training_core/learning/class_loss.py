"""The loss by which a network learns the classes of roads, beside where they are.

Knows logits and labels; knows nothing of networks. Labels are as `ChipSampler` gives them: ROAD + n for a road of
class n.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ..geodata.pixel_codes import IGNORE, ROAD

# Beside the loss of roads: enough to learn classes, too little to be learned at the cost of roads.
CLASS_WEIGHT = 0.2


def without_classes(labels: Tensor) -> Tensor:
    """Return labels in which all roads are ROAD."""
    return torch.where(_has_class(labels), labels.new_tensor(ROAD), labels)


def class_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean binary cross-entropy of the classes where a road of known class lies; 0 where none does.

    Each class that is there weighs the same, however many pixels it has: most roads are of few classes.

    Parameters
    ----------
    logits : Tensor (batch, classes, height, width), floating point
    labels : Tensor (batch, height, width), uint8
    """
    there = _has_class(labels)
    if not there.any():
        return logits.sum() * 0
    number = labels[there].long() - ROAD - 1
    told = logits.permute(0, 2, 3, 1)[there]
    truth = functional.one_hot(number, logits.shape[1]).to(told.dtype)
    loss = functional.binary_cross_entropy_with_logits(told, truth, reduction="none").mean(dim=1)
    counts = torch.bincount(number, minlength=logits.shape[1])
    return (loss / counts[number]).sum() / (counts > 0).sum()


def _has_class(labels: Tensor) -> Tensor:
    return (labels > ROAD) & (labels != IGNORE)
