"""A network for inference alone: batch normalization folded into the convolutions, filters summed and converted once.

Some results that training computes again at every step are the same for every tile: the constants by which batch
normalization scales and shifts, the sums of the decoder's filters for repeated pixels, and the rounding to BF16.

Scope: weights and layers. Independent of the engine that runs them.
"""

from __future__ import annotations

import copy
from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import fuse_conv_bn_weights

from .decoder import DecoderBlock, repeated_filters


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
        """Return features (batch, channels, height, width) at twice their size, in the dtype of the filters.

        The skip connection is (batch, skip, 2 height, 2 width), of the same dtype.
        """
        upsampled = functional.conv_transpose2d(features, self.filters, self.bias, stride=2, padding=1)
        if self.has_skip:
            upsampled += functional.conv2d(skip_connection, self.skip_filters, padding=1)
        return self.conv2(self.activate(upsampled))
