"""Joint sums: a loss of pixels that lie in several parts, on several ranks or in the tiles of an image.

The losses depend on pixels elsewhere only through sums over all of them. So each part passes its own sums to a callable
that returns those of all parts, and has the joint loss, and its gradient with respect to the own logits.

Scope: how sums pass from one part to the others. Independent of the losses, and of where the other parts are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# Takes the sums of a part, (sums,), float64, and returns those over all parts; `Group.sum` is one. The parts call it
# together, equally often. Each loss calls it once, whatever there is in the part.
Joint = Callable[[Tensor], Tensor]

# Rows and columns of an image or a part of it.
Window = tuple[slice, slice]
EVERYWHERE: Window = (slice(None), slice(None))


def only_part(sums: Tensor) -> Tensor:
    """Return the sums, (sums,), float64, as they are: there are no other parts."""
    return sums


def joint_sums(sums: Tensor, joint: Joint) -> Tensor:
    """Return the sums over all parts; the gradient with respect to the own ones is theirs.

    Parameters
    ----------
    sums : Tensor (sums,), float32 or float64
        Of this part.

    Returns
    -------
    Tensor (sums,), dtype of the argument
    """
    return _JointSums.apply(sums, joint)


class _JointSums(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, sums: Tensor, joint: Joint) -> Tensor:
        return joint(sums.double()).to(sums.dtype, copy=True)

    @staticmethod
    def backward(context: Any, outer: Tensor) -> tuple[Tensor, None]:
        return outer, None
