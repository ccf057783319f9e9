"""Gradients of weights that many pixels do not blur.

They are sums over all pixels, which PyTorch's and oneDNN's kernels add up in FP32: over the four million of an image of
2048 px, up to 0.8 % of such a sum is rounded away for biases and frozen batch normalization, and 0.03 % for filters.
Within `PreciseSums`, blocks of rows are summed as before, and these sums in FP64.

Scope: backward passes of convolutions and batch normalization. Independent of models and of what a loss is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten
# A block of values is small enough to stay in the cache from one operation to the next. A block of pixels is large
# enough for a convolution to take no longer than the whole at once.
_BLOCK_VALUES, _BLOCK_PX = 1 << 18, 1 << 16


class PreciseSums(TorchDispatchMode):
    """A context for backward passes, in which gradients of weights are summed precisely.

    It covers convolutions in two dimensions and FP32, and batch normalization with frozen statistics, except in layers
    of the Intel extension.
    """

    def __torch_dispatch__(
        self, operation: Any, types: Any, arguments: Sequence[Any] = (), options: Optional[dict[str, Any]] = None
    ) -> Any:
        """Call an operation, or the precise one in its place."""
        return _PRECISE.get(operation, operation)(*arguments, **(options or {}))


def _convolution_backward(
    outer: Tensor, features: Tensor, weight: Tensor, bias_sizes: Optional[list[int]], stride: list[int],
    padding: list[int], dilation: list[int], transposed: bool, output_padding: list[int], groups: int,
    output_mask: list[bool],
) -> tuple[Optional[Tensor], ...]:  # fmt: skip
    """See aten::convolution_backward."""
    settings = stride, padding, dilation, transposed, output_padding, groups
    if features.dtype == torch.bfloat16 or dilation[0] != 1:  # products in BF16 round far more away
        return _aten.convolution_backward(outer, features, weight, bias_sizes, *settings, output_mask)
    # The gradient of features sums only over filters, so PyTorch's own is precise enough.
    of_features, _, _ = _aten.convolution_backward(
        outer, features, weight, bias_sizes, *settings, [output_mask[0], False, False]
    )
    of_weight = _gradient_of_filters(outer, features, weight, *settings) if output_mask[1] else None
    of_bias = None
    if output_mask[2]:
        of_bias = sum(outer[rows].sum((0, 2, 3)).double() for rows in _blocks(outer)).to(outer.dtype)
    return of_features, of_weight, of_bias


def _gradient_of_filters(
    outer: Tensor, features: Tensor, weight: Tensor, stride: list[int], padding: list[int], dilation: list[int],
    transposed: bool, output_padding: list[int], groups: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of the filters, added up over blocks of rows.

    Blocks are of the side that a filter meets pixel by pixel: the output of a convolution, or the input of a transposed
    one. The other side is cut to the rows that these pixels spread to.
    """
    single, spread = (features, outer) if transposed else (outer, features)
    total = torch.zeros_like(weight, dtype=torch.float64)
    step = max(1, _BLOCK_PX // (single.shape[0] * single.shape[3]))
    for top in range(0, single.shape[2], step):
        # These rows, and the rows of the other side that filters at them reach; outside of it there are zeros.
        part = single[:, :, top : top + step]
        first = top * stride[0] - padding[0]
        last = first + (part.shape[2] - 1) * stride[0] + weight.shape[2]
        around = spread[:, :, max(0, first) : last]
        if first < 0 or last > spread.shape[2]:
            around = functional.pad(around, (0, 0, max(0, -first), max(0, last - spread.shape[2])))
        # Rows are padded already, so only columns are padded here.
        pair = (around, part) if transposed else (part, around)
        total += _aten.convolution_backward(
            *pair, weight, None, stride, [0, padding[1]], dilation, transposed, output_padding, groups,
            [False, True, False],
        )[1]  # fmt: skip
    return total.to(weight.dtype)


def _batch_norm_backward(
    outer: Tensor, features: Tensor, weight: Tensor, mean: Tensor, variance: Tensor, batch_mean: Optional[Tensor],
    batch_inverse: Optional[Tensor], is_live: bool, eps: float, output_mask: list[bool],
) -> tuple[Tensor, ...]:  # fmt: skip
    """See aten::native_batch_norm_backward."""
    if is_live:
        return _aten.native_batch_norm_backward(
            outer, features, weight, mean, variance, batch_mean, batch_inverse, is_live, eps, output_mask
        )
    # With frozen statistics the output is weight * (features - mean) * inverse + bias: linear in all three.
    inverse = (variance + eps).rsqrt()
    slope, center = (weight * inverse).view(-1, 1, 1), mean.view(-1, 1, 1)
    of_features = torch.empty_like(features)
    of_weight, of_bias = torch.zeros(2, len(mean), dtype=torch.float64)
    for rows in _blocks(features):
        part = outer[rows].to(mean.dtype)
        # Sums of a block in FP32, added up in FP64; the gradient of the features is exact as it is.
        of_bias += part.sum((0, 2, 3))
        of_weight += ((features[rows] - center) * part).sum((0, 2, 3))
        of_features[rows] = part * slope
    return of_features, (of_weight * inverse).to(weight.dtype), of_bias.to(weight.dtype)


def _blocks(features: Tensor) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of features in blocks."""
    height = features.shape[2]
    step = max(1, _BLOCK_VALUES * height // max(1, features.numel()))
    for top in range(0, height, step):
        yield (..., slice(top, top + step), slice(None))


_PRECISE = {
    _aten.convolution_backward.default: _convolution_backward,
    _aten.native_batch_norm_backward.default: _batch_norm_backward,
}
