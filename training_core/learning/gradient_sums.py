"""Sums of many gradients in FP32, for weights whose own precision would round most of them away.

Scope: gradients of one model. Independent of what they are gradients of.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def summed_in_fp32(model: nn.Module) -> Iterator[None]:
    """Add up the gradients of BF16 weights in FP32 for a while, those that are there included; rounded at the end."""
    sums: dict[nn.Parameter, Tensor] = {}

    def take(weights: nn.Parameter) -> None:
        sums[weights] = sums[weights] + weights.grad if weights in sums else weights.grad.float()
        weights.grad = None

    low = [each for each in model.parameters() if each.requires_grad and each.dtype == torch.bfloat16]
    for weights in low:
        if weights.grad is not None:
            take(weights)
    hooks = [weights.register_post_accumulate_grad_hook(take) for weights in low]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for weights, total in sums.items():
            weights.grad = total.to(weights.dtype)
