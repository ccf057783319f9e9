"""The training loss: that of road or not, and that of classes.

Scope: logits of all channels, and labels as `ChipSampler` draws them. Independent of the model, and of how a batch is
divided.
"""

from __future__ import annotations

from typing import Optional

from torch import Tensor

from .class_loss import CLASS_WEIGHT, class_loss, without_classes
from .joint_sums import EVERYWHERE, Joint, Window, only_part
from .losses import road_loss


def training_loss(
    logits: Tensor,
    labels: Tensor,
    centerline_weight: float = 0.0,
    joint: Joint = only_part,
    counted: Window = EVERYWHERE,
    class_counts: Optional[Tensor] = None,
) -> Tensor:
    """Return the loss of a batch, or of the batch of which these pixels are a part.

    Parameters
    ----------
    logits : Tensor (batch, channels, height, width), float32 or float64
        Of road, then of each class.
    labels : Tensor (batch, height, width), uint8
        BACKGROUND, ROAD or IGNORE, and for road of a known class ROAD + its number.
    centerline_weight : float
        Share of clDice, from 0 to 1.
    joint : Joint
        Adds up over the parts of a divided batch.
    counted : Window
        Which pixels belong to this part; those around them are but context of the center-lines.
    class_counts : Tensor (254,), int64, optional
        See `class_loss`.

    Returns
    -------
    Tensor, 0-d, dtype of the logits
        The gradient with respect to these logits is that of the undivided batch.
    """
    loss = road_loss(logits[:, :1], without_classes(labels)[:, None], centerline_weight, joint, counted)
    if logits.shape[1] > 1:
        own = (..., *counted)
        loss = loss + CLASS_WEIGHT * class_loss(logits[:, 1:][own], labels[own], joint, class_counts)
    return loss
