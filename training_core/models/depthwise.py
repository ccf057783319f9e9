"""Depthwise convolutions whose gradients are fast in BF16.

oneDNN, as of PyTorch 2.8, has fast kernels in BF16 for the gradients of 3 x 3 depthwise convolutions of stride 1 alone;
others take 4 to 13 times as long as in FP32, half of a training step of EfficientNet-Lite0 with AMX
(benchmarks/README.md). They have few products, so that FP32 costs little.

Scope: one layer; names and shapes of its parameters stay. Independent of the rest of the model.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class DepthwiseConv2d(nn.Conv2d):
    """A depthwise convolution that computes in FP32 where it is trained in BF16."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the input, (batch, channels, height, width), convolved; both are float32 or bfloat16."""
        if not self.training or input.dtype != torch.bfloat16:
            return super().forward(input)
        with torch.autocast("cpu", enabled=False):
            bias = None if self.bias is None else self.bias.float()
            convolved = functional.conv2d(
                input.float(), self.weight.float(), bias, self.stride, self.padding, self.dilation, self.groups
            )
        return convolved.to(input.dtype)


def speed_up_depthwise(model: nn.Module) -> None:
    """Make the depthwise convolutions of a model those of this module, but for the ones that BF16 has kernels for."""
    for part in model.modules():
        is_depthwise = type(part) is nn.Conv2d and part.groups == part.in_channels > 1
        if is_depthwise and (part.kernel_size, part.stride) != ((3, 3), (1, 1)):
            part.__class__ = DepthwiseConv2d  # keeps the weights, and draws no random numbers for others
