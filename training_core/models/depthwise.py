"""Depthwise convolutions whose gradients oneDNN computes fast.

Scope: training on CPUs. Independent of networks; weights keep their names and shapes.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

# Columns of the filters whose gradient oneDNN has a fast kernel for.
_MOST_COLUMNS = 3


class DepthwiseConv2d(nn.Conv2d):
    """A depthwise convolution without bias, with gradients that oneDNN has fast kernels for.

    As of PyTorch 2.14, those of filters have three columns at most, and those of features in BF16 have no stride.
    Others take 3 to 40 times as long: a seventh of a training step of EfficientNet-Lite0 (benchmarks/README.md).
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the input, (batch, channels, height, width), convolved; both are float32 or bfloat16."""
        if not self.training or not input.is_cpu:
            return super().forward(input)
        return _Depthwise.apply(input, self.weight.to(input.dtype), self.stride, self.padding)


class _Depthwise(torch.autograd.Function):
    """A depthwise convolution of features, (batch, channels, height, width); features and filters have one dtype."""

    @staticmethod
    def forward(
        context: Any, features: Tensor, filters: Tensor, stride: tuple[int, ...], padding: tuple[int, ...]
    ) -> Tensor:
        context.save_for_backward(features, filters)
        context.stride, context.padding = stride, padding
        return functional.conv2d(features, filters, None, stride, padding, groups=len(filters))

    @staticmethod
    @once_differentiable
    def backward(context: Any, outer: Tensor) -> tuple[Optional[Tensor], ...]:
        (features, filters), of_features, of_filters = context.saved_tensors, None, None
        if context.needs_input_grad[0]:
            is_slow = features.dtype == torch.bfloat16 and context.stride[1] > 1
            dtype = torch.float32 if is_slow else features.dtype
            like = torch.empty_like(features, dtype=dtype)  # its values do not count
            settings = context.stride, context.padding, 0
            of_features = _gradient(outer.to(dtype), like, filters.to(dtype), *settings).to(features.dtype)
        if context.needs_input_grad[1]:
            of_filters = _gradient_of_filters(outer, features, filters, context.stride, context.padding)
        return of_features, of_filters, None, None


def _gradient_of_filters(
    outer: Tensor, features: Tensor, filters: Tensor, stride: tuple[int, ...], padding: tuple[int, ...]
) -> Tensor:
    """Return the gradient of the filters, some columns after the other."""
    if filters.shape[3] <= _MOST_COLUMNS:
        return _gradient(outer, features, filters, stride, padding, 1)
    # Padded here, since the kernel takes no padding that is large beside the features.
    padded, parts = functional.pad(features, (padding[1], padding[1], padding[0], padding[0])), []
    last = (outer.shape[3] - 1) * stride[1]  # where the last output begins
    for first, columns in zip(range(0, filters.shape[3], _MOST_COLUMNS), filters.split(_MOST_COLUMNS, dim=3)):
        met = padded[..., first : first + last + columns.shape[3]]
        parts.append(_gradient(outer, met, columns, stride, (0, 0), 1))
    return torch.cat(parts, dim=3)


def _gradient(
    outer: Tensor, features: Tensor, filters: Tensor, stride: tuple[int, ...], padding: tuple[int, ...], wanted: int
) -> Tensor:
    """Return the gradient of the features (0) or of the filters (1) of a depthwise convolution."""
    settings = stride, padding, (1, 1), False, (0, 0), len(filters), (wanted == 0, wanted == 1, False)
    gradient: Tensor = torch.ops.aten.convolution_backward(outer, features, filters, None, *settings)[wanted]
    return gradient


def speed_up_depthwise(model: nn.Module) -> None:
    """Give depthwise convolutions of a model their fast gradients, except those that have them anyway."""
    for part in model.modules():
        is_depthwise = type(part) is nn.Conv2d and part.groups == part.in_channels > 1 and part.bias is None
        if is_depthwise and (part.kernel_size, part.stride) != ((3, 3), (1, 1)):
            part.__class__ = DepthwiseConv2d  # keeps the weights, and draws no random numbers for others
