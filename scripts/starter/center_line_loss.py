"""The loss of the starter's training: that of fine-tuning, and the recall of center-lines.

Scope: logits and labels of a batch. Independent of the model and of what is trained on.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.ndimage import binary_dilation
from torch import Tensor

from training_core.extraction.skeletons import thin
from training_core.geodata.pixel_codes import ROAD
from training_core.learning.losses import training_loss


def loss_with_center_lines(logits: Tensor, labels: Tensor, weight: float) -> Tensor:
    """Return `training_loss` plus `weight` times `center_line_loss`, 0-d.

    Logits are (batch, 1, height, width), float32, and labels (batch, height, width), uint8.
    """
    loss = training_loss(logits, labels)
    return loss + weight * center_line_loss(logits, labels) if weight else loss


def center_line_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return 1 less the mean probability of road along the center-lines of labeled roads, 0-d.

    A gap costs as much in a narrow road as in a wide one, in which it is many more pixels. See Kirchhoff et al.,
    "Skeleton Recall Loss for Connectivity Conserving and Resource Efficient Segmentation of Thin Tubular Structures",
    2024. Shapes are those of `loss_with_center_lines`.
    """
    lines = torch.from_numpy(np.stack([center_lines(each == ROAD) for each in labels.cpu().numpy()])[:, None])
    lines = lines.to(logits)
    return 1 - ((logits.sigmoid() * lines).sum() + 1) / (lines.sum() + 1)


def center_lines(road: np.ndarray) -> np.ndarray:
    """Return the center-lines of roads, 3 px wide: arrays (height, width), bool."""
    return binary_dilation(thin(road))
