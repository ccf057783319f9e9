"""The U-Net's decoder blocks, computed without upsampled and joined copies of their inputs.

A block of segmentation_models_pytorch repeats each pixel twice along rows and columns, joins the encoder's features to
it, and convolves. A convolution of repeated pixels is a transposed convolution of the pixels themselves, whose 4 x 4
filters are sums of the 3 x 3 ones: the same result with 4 instead of 9 products a pixel, and no copies to keep for
the backward pass. Knows one block; its parameters stay those of the original, by name and shape.
"""

from __future__ import annotations

from typing import Optional

import torch
from segmentation_models_pytorch.decoders.unet.decoder import UnetDecoderBlock
from torch import Tensor, nn
from torch.nn import functional

# Row t of the 4-tap filter is the sum of the rows u of the 3-tap one that meet the same repeated pixel.
_TAPS = ((0.0, 0.0, 1.0), (0.0, 1.0, 1.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.0))


class DecoderBlock(nn.Module):
    """Doubles the resolution, takes in the encoder's features, and convolves twice.

    Parameters
    ----------
    block : UnetDecoderBlock
        With nearest upsampling and without attention; its layers become this block's.
    """

    def __init__(self, block: UnetDecoderBlock) -> None:
        super().__init__()
        self.conv1, self.conv2 = block.conv1, block.conv2

    def forward(
        self, features: Tensor, target_height: int, target_width: int, skip_connection: Optional[Tensor] = None
    ) -> Tensor:
        """Return the features at twice their size, which is the target's; see `UnetDecoderBlock.forward`."""
        first, normalize, activate = self.conv1
        if not self.training and not torch.is_autocast_enabled("cpu"):
            # In FP32 the rounding of a transposed convolution varies with the size; so tiles would meet less exactly.
            features = functional.interpolate(features, scale_factor=2, mode="nearest")
            features = features if skip_connection is None else torch.cat([features, skip_connection], dim=1)
            return self.conv2(self.conv1(features))
        upsampled = convolve_repeated(features, first.weight[:, : features.shape[1]])
        if skip_connection is not None:
            joined = functional.conv2d(skip_connection, first.weight[:, features.shape[1] :], padding=1)
            upsampled = upsampled + joined
        return self.conv2(activate(normalize(upsampled)))


def convolve_repeated(features: Tensor, filters: Tensor) -> Tensor:
    """Return the 3 x 3 convolution, padded by 1, of features whose every pixel is repeated to 2 x 2.

    Parameters
    ----------
    features : Tensor (batch, in, height, width)
    filters : Tensor (out, in, 3, 3)

    Returns
    -------
    Tensor (batch, out, 2 height, 2 width)
    """
    taps = torch.tensor(_TAPS, dtype=filters.dtype)
    summed = torch.einsum("tu,oiuv,sv->iots", taps, filters, taps)
    return functional.conv_transpose2d(features, summed, stride=2, padding=1)
