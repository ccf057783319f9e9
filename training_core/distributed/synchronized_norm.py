"""Synchronized batch normalization: statistics of a batch that is cut over ranks. PyTorch's own refuses CPUs.

Forward, the ranks add up the sums and sums of squares of each channel; backward, the sums of both terms by which the
gradient of the input depends on the statistics (Ioffe and Szegedy, 2015). Sums are FP64.

Scope: one layer. Independent of how a batch is cut.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from .group import Group


def synchronize_norms(model: nn.Module, group: Group) -> None:
    """Make the layers of batch normalization of a model normalize by the statistics of all ranks, in training mode."""
    for module in list(model.modules()):
        if isinstance(module, nn.BatchNorm2d):
            module.__class__ = SynchronizedBatchNorm2d
            module.group = group


class SynchronizedBatchNorm2d(nn.BatchNorm2d):
    """Batch normalization over the parts of a batch on all ranks; `synchronize_norms` makes one of a plain one."""

    group: Group

    def forward(self, features: Tensor) -> Tensor:
        """Return the normalized features.

        Parameters
        ----------
        features : Tensor (batch, channels, height, width), float32, float64 or bfloat16

        Returns
        -------
        Tensor (batch, channels, height, width), same dtype
        """
        if not self.training:
            return super().forward(features)
        with torch.no_grad():
            mean, variance, count = _joint_statistics(features, self.group)
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
            for buffer, found in ((self.running_mean, mean), (self.running_var, variance * (count / (count - 1)))):
                buffer.mul_(1 - self.momentum).add_(found.to(buffer.dtype), alpha=self.momentum)
        dtype = self.weight.dtype
        return _Normalized.apply(
            features, self.weight, self.bias, mean.to(dtype), variance.to(dtype), count, self.eps, self.group
        )


def _joint_statistics(features: Tensor, group: Group) -> tuple[Tensor, Tensor, float]:
    """Return mean and biased variance of each channel, (channels,), float64, and the number of values of a channel."""
    mean, variance = torch.ops.aten.batch_norm_update_stats(features, None, None, 0.0)
    mean, variance = mean.double(), variance.double()
    count = features.numel() / features.shape[1]
    sums = group.sum(torch.cat([mean * count, (variance + mean**2) * count, mean.new_tensor([count])]))
    total = float(sums[-1])
    first, second = (sums[:-1] / total).chunk(2)
    return first, (second - first**2).clamp_(min=0), total


class _Normalized(torch.autograd.Function):
    """Normalization by joint statistics, whose backward pass knows that they depend on the features of all ranks."""

    @staticmethod
    def forward(
        context: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        mean: Tensor,
        variance: Tensor,
        count: float,
        eps: float,
        group: Group,
    ) -> Tensor:
        context.save_for_backward(features, weight, mean, variance)
        context.count, context.eps, context.group = count, eps, group
        return functional.batch_norm(features, mean, variance, weight, bias, False, 0.0, eps)

    @staticmethod
    @once_differentiable
    def backward(context: Any, outer: Tensor) -> tuple[Optional[Tensor], ...]:
        features, weight, mean, variance = context.saved_tensors
        # As if the statistics were constant: then the ways over mean and variance are subtracted.
        gradient, of_weight, of_bias = torch.ops.aten.native_batch_norm_backward(
            outer, features, weight, mean, variance, None, None, False, context.eps, [True, True, True]
        )
        inverse = (variance.double() + context.eps).rsqrt()
        joint = context.group.sum(torch.cat([of_weight, of_bias]).double()) / context.count
        by_variance, by_mean = joint.chunk(2)
        slope = weight.double() * inverse**2 * by_variance
        offset = weight.double() * inverse * by_mean - slope * mean.double()
        shape = (1, -1, 1, 1)
        slope, offset = (each.to(mean.dtype).view(shape) for each in (slope, offset))
        gradient = gradient - torch.addcmul(offset, features.to(mean.dtype), slope)
        return gradient.to(features.dtype), of_weight, of_bias, None, None, None, None, None
