"""Soft clDice: a topology-aware loss on center-lines (soft skeletons).

Scope: logits and labels. Independent of the model. IGNORE is to the skeleton what lies beyond the image's border.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from ..geodata.pixel_codes import IGNORE, ROAD
from .joint_sums import EVERYWHERE, Joint, Window, joint_sums, only_part

ITERATIONS = 10  # each takes a pixel off either side of a road: of one up to 20 px wide, only the center-line is left
# How far the pixels are on which a pixel of the skeleton depends: erosions, and the dilation after the last of them.
REACH_PX = ITERATIONS + 1

# Neighborhoods, as (row, column) steps from a pixel.
_CROSS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
_COLUMN = ((0, 0), (-1, 0), (1, 0))
_ROW = ((0, 0), (0, -1), (0, 1))


def centerline_loss(
    logits: Tensor,
    labels: Tensor,
    iterations: int = ITERATIONS,
    joint: Joint = only_part,
    counted: Window = EVERYWHERE,
) -> Tensor:
    """Return one minus the soft clDice over the labeled pixels of the batch (Shit et al., CVPR 2021).

    That is the harmonic mean of how much of the predicted center-lines is road, and how much of the true ones is
    predicted; 0 where no pixel is labeled.

    Parameters
    ----------
    logits : Tensor (batch, 1, height, width), float32 or float64
    labels : Tensor (batch, 1, height, width), uint8
        BACKGROUND, ROAD or IGNORE.
    iterations : int
        Half the width of the widest road that is thinned to a line, in pixels.
    joint : Joint
        Adds up over the parts of a divided batch.
    counted : Window
        Which pixels belong to this part. Those around them are context: where an image is divided, REACH_PX of it.

    Returns
    -------
    Tensor, 0-d, dtype of the logits
        From 0 to 1.
    """
    own = torch.stack([_lengths(*image, iterations, counted) for image in zip(logits, labels)]).sum(0)
    predicted, predicted_on_road, true, true_found = joint_sums(own, joint) + 1
    precision, sensitivity = predicted_on_road / predicted, true_found / true
    return 1 - 2 * precision * sensitivity / (precision + sensitivity)


def _lengths(logits: Tensor, labels: Tensor, iterations: int, counted: Window) -> Tensor:
    """Return pixel sums of one image, (4,): predicted center-lines, of these on road, true ones, of these predicted."""
    known = (labels != IGNORE).to(logits.dtype)
    road = (labels == ROAD).to(logits.dtype)
    probability = torch.sigmoid(logits) * known
    # Computed again on the way back, so that no more of it is ever kept than of a single image.
    predicted = checkpoint(soft_skeleton, probability, known, iterations, use_reentrant=False, preserve_rng_state=False)
    true = soft_skeleton(road, known, iterations)
    predicted, true, road, probability = (each[(..., *counted)] for each in (predicted, true, road, probability))
    return torch.stack([predicted.sum(), (predicted * road).sum(), true.sum(), (true * probability).sum()])


def soft_skeleton(values: Tensor, known: Tensor, iterations: int = ITERATIONS) -> Tensor:
    """Return the soft skeleton: what opening removes from the image and from its successive erosions.

    Parameters
    ----------
    values : Tensor (..., height, width), float32 or float64
        From 0 to 1; 0 where not known.
    known : Tensor (..., height, width), dtype of the values
        1, or 0 for pixels that neither erode their neighbors nor belong to the skeleton.
    iterations : int
        Number of erosions.

    Returns
    -------
    Tensor (..., height, width), dtype of the values
        From 0 to 1.

    Notes
    -----
    For each loss d the paper adds relu(d - s d) to the skeleton s. Both lie between 0 and 1, so 1 - s is the product of
    all 1 - d.
    """
    unknown = 1 - known
    rest = torch.ones_like(values)
    for _ in range(iterations):
        eroded = -_Dilation.apply(-(values + unknown), _CROSS) * known
        opened = _Dilation.apply(_Dilation.apply(eroded, _COLUMN), _ROW)
        rest = rest * (1 - functional.relu(values - opened))
        values = eroded
    return 1 - rest


class _Dilation(torch.autograd.Function):
    """Dilation: the maximum over each pixel's neighborhood, given as (row, column) steps and clipped at the border.

    PyTorch's max pooling keeps 64-bit indices, and its maximum divides the gradient among equals; both take many times
    as long as this. Of equals, the first takes the whole gradient.
    """

    @staticmethod
    def forward(context: Any, values: Tensor, steps: tuple[tuple[int, int], ...]) -> Tensor:
        highest = values.clone()
        for here, there in _pairs(values.shape, steps):
            torch.maximum(highest[here], values[there], out=highest[here])
        context.save_for_backward(values, highest)
        context.steps = steps
        return highest

    @staticmethod
    @once_differentiable
    def backward(context: Any, outer: Tensor) -> tuple[Tensor, None]:
        values, highest = context.saved_tensors
        gradient = torch.zeros_like(values)
        left = outer.clone()
        for here, there in _pairs(values.shape, context.steps):
            share = torch.eq(values[there], highest[here], out=torch.empty_like(values[there])).mul_(left[here])
            gradient[there] += share
            left[here] -= share
        return gradient, None


def _pairs(shape: torch.Size, steps: tuple[tuple[int, int], ...]) -> Iterator[tuple[tuple, tuple]]:
    """Yield for each step the pixels from which it stays in the image, and those to which it leads."""
    height, width = shape[-2:]
    for rows, columns in steps:
        top, bottom = max(-rows, 0), height - max(rows, 0)
        left, right = max(-columns, 0), width - max(columns, 0)
        here = (..., slice(top, bottom), slice(left, right))
        yield here, (..., slice(top + rows, bottom + rows), slice(left + columns, right + columns))
