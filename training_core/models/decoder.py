"""Decoder blocks of the U-Net, as transposed convolutions without upsampled and concatenated copies of their inputs.

A block of segmentation_models_pytorch upsamples to twice the size (nearest), concatenates the encoder's features (skip
connection), and convolves. A convolution of repeated pixels is a transposed convolution of the pixels themselves, whose
4 x 4 filters are sums of the 3 x 3 ones: the same result with 4 instead of 9 products a pixel, and no copies to keep
for the backward pass.

Scope: one block; names and shapes of its parameters stay. Independent of the rest of the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from segmentation_models_pytorch.decoders.unet.decoder import UnetDecoderBlock


class DecoderBlock(nn.Module):
    """Upsamples by 2, adds the encoder's features, and convolves twice.

    It takes over the layers of a block of the library with nearest upsampling and without attention.
    """

    def __init__(self, block: UnetDecoderBlock) -> None:
        super().__init__()
        self.conv1, self.conv2 = block.conv1, block.conv2

    def forward(
        self, features: Tensor, target_height: int, target_width: int, skip_connection: Optional[Tensor] = None
    ) -> Tensor:
        """Return the features, (batch, channels, height, width), at twice their size; see `UnetDecoderBlock.forward`.

        The skip connection, (batch, skip, 2 height, 2 width), has their dtype, float32 or bfloat16. The library passes
        the size of the result, which is not used.
        """
        first, normalize, activate = self.conv1
        if not self.training and not torch.is_autocast_enabled("cpu"):
            # In FP32 the rounding of a transposed convolution varies with the size, and with it between tiles.
            features = functional.interpolate(features, scale_factor=2, mode="nearest")
            features = features if skip_connection is None else torch.cat([features, skip_connection], dim=1)
            return self.conv2(self.conv1(features))
        # A convolution of concatenated features is the sum of one convolution for each part. Filters are split, not
        # sliced: the gradients of slices are as large as all filters, and mostly zeros to be added up.
        filters, skip_filters = first.weight.split([features.shape[1], first.in_channels - features.shape[1]], dim=1)
        upsampled = functional.conv_transpose2d(features, repeated_filters(filters), stride=2, padding=1)
        if skip_filters.shape[1]:
            upsampled = upsampled + functional.conv2d(skip_connection, skip_filters, padding=1)
        return self.conv2(activate(normalize(upsampled)))


def repeated_filters(filters: Tensor) -> Tensor:
    """Return filters, (in, out, 4, 4), of a transposed convolution that does what others do on repeated pixels.

    The others are (out, in, 3, 3), of the same dtype, float32 or bfloat16.
    """
    by_input = filters.permute(1, 2, 3, 0)  # as a transposed convolution wants them in memory
    summed = _summed_taps(_summed_taps(by_input, 1), 2)  # rows, then columns
    return summed.permute(0, 3, 1, 2)


def _summed_taps(filters: Tensor, axis: int) -> Tensor:
    """Return 4 taps for 3 along an axis, each the sum of those that meet the same repeated pixel."""
    first, middle, last = filters.unbind(axis)
    # Two of three neighbors are always the same repeated pixel. An even output sees its pixel by the last two taps, an
    # odd one by the first two. The tap that remains sees the neighbor.
    return torch.stack([last, middle + last, first + middle, first], axis)
