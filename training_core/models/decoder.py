"""Decoder blocks of the U-Net without upsampled and concatenated copies, and networks for inference alone.

A block of segmentation_models_pytorch upsamples to twice the size (nearest), concatenates the encoder's features (skip
connection), and convolves. A convolution of repeated pixels is a transposed convolution of the pixels themselves, whose
4 x 4 filters are sums of the 3 x 3 ones: the same result with 4 instead of 9 products a pixel, and no copies to keep
for the backward pass. For inference, what training computes again at every step is computed once: the constants of
batch normalization, these sums, and the rounding to BF16.

Scope: weights and layers; names and shapes of a block's parameters stay. Independent of the engine.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import fuse_conv_bn_weights

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
        """Return the features, (batch, channels, height, width), at twice their size.

        The skip connection, (batch, skip, 2 height, 2 width), has their dtype, float32 or bfloat16. The library passes
        the size of the result, which is not used.
        """
        first, normalize, activate = self.conv1
        if not self.training and not torch.is_autocast_enabled(features.device.type):
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


class ConstantDecoderBlock(nn.Module):
    """A decoder block whose filters are constant: those for repeated pixels are summed once; see `DecoderBlock`.

    It takes over the layers of a block with batch normalization folded into its convolutions.
    """

    def __init__(self, block: DecoderBlock, skip_channels: int) -> None:
        super().__init__()
        first, _, self.activate = block.conv1
        self.conv2, self.has_skip = block.conv2, skip_channels > 0
        # The convolution of both inputs together is the sum of two: of repeated pixels, and of the encoder's features.
        filters, skip_filters = first.weight.split([first.in_channels - skip_channels, skip_channels], dim=1)
        self.filters = nn.Parameter(repeated_filters(filters).contiguous(memory_format=torch.channels_last), False)
        self.skip_filters = nn.Parameter(skip_filters.contiguous(memory_format=torch.channels_last), False)
        self.bias = first.bias

    def forward(
        self, features: Tensor, target_height: int, target_width: int, skip_connection: Optional[Tensor] = None
    ) -> Tensor:
        """Return the features as `DecoderBlock` does, in the dtype of the filters."""
        upsampled = functional.conv_transpose2d(features, self.filters, self.bias, stride=2, padding=1)
        if self.has_skip:
            upsampled += functional.conv2d(skip_connection, self.skip_filters, padding=1)
        return self.conv2(self.activate(upsampled))


def folded(model: nn.Module, dtype: torch.dtype, is_exact: bool = False) -> nn.Module:
    """Return a copy of a network, in evaluation mode, with constant weights for convolutions in a dtype.

    Under autocast to this dtype its logits are those of the model, but for rounding. If `is_exact`, the logits of a
    pixel do not vary with the size of the image around it. In float32, decoder blocks of a U-Net then upsample as in
    the library, which takes a seventh longer: the rounding of a transposed convolution varies.
    """
    model = copy.deepcopy(model).eval().requires_grad_(False)
    for module in list(model.modules()):
        _fold_within(module)
    for convolution in [each for each in model.modules() if isinstance(each, nn.Conv2d)]:
        convolution.to(dtype)
    blocks = list(getattr(model.decoder, "blocks", ()))
    if blocks and isinstance(blocks[0], DecoderBlock) and not (is_exact and dtype == torch.float32):
        # Channels of the encoder's features for each block, the deepest first; the last block gets none.
        skip_channels = (*model.encoder.out_channels[-2:0:-1], 0)
        model.decoder.blocks = nn.ModuleList(map(ConstantDecoderBlock, blocks, skip_channels))
    return model


def _fold_within(module: nn.Module) -> None:
    """Fold each batch normalization among a module's parts into the convolution before it."""
    parts = list(module.named_children())
    for (_, convolution), (name, normalization) in zip(parts, parts[1:]):
        if isinstance(convolution, nn.Conv2d) and isinstance(normalization, nn.BatchNorm2d):
            convolution.weight, convolution.bias = fuse_conv_bn_weights(
                convolution.weight,
                convolution.bias,
                normalization.running_mean,
                normalization.running_var,
                normalization.eps,
                normalization.weight,
                normalization.bias,
            )
            # Some of timm's layers have the activation in them.
            setattr(module, name, getattr(normalization, "act", nn.Identity()))
