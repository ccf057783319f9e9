"""Networks of the library made to compute alike in tiles and in processes: no layer depends on an image's size or luck.

The library upsamples with the corners aligned (align_corners): where a pixel is sampled then depends on the size of the
image, so that tiles would be shifted against each other by up to a pixel and a half. And dropout would make the loss
depend on the number of processes.

Scope: layers; names and shapes of their parameters stay. Independent of the decoder of the U-Net, see `decoder`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..jobs.architectures import DEEPLAB, FPN, SEGFORMER


def make_tileable(model: nn.Module, architecture: str) -> None:
    """Replace the layers of a network that depend on the image's size or on chance.

    Parameters
    ----------
    model : Module
        As the library builds it.
    architecture : str
        One of ARCHITECTURES.
    """
    for parent in list(model.modules()):
        for name, part in parent.named_children():
            if isinstance(part, nn.UpsamplingBilinear2d):
                setattr(parent, name, nn.Upsample(scale_factor=part.scale_factor, mode="bilinear"))
            elif isinstance(part, (nn.Dropout, nn.Dropout2d)) or type(part).__name__ == "DropPath":
                setattr(parent, name, nn.Identity())
    if architecture == FPN:
        _replace_classes(model.decoder, "upsample", _upsampling_block)
    elif architecture == DEEPLAB:
        model.decoder.aspp[0].convs[-1].__class__ = ImagePooling
    elif architecture == SEGFORMER:
        model.decoder = SegformerDecoder(model.decoder)
    _replace_classes(model.encoder, "sr_ratio", _fused_attention)


def _replace_classes(model: nn.Module, attribute: str, replaced: Callable[[type[nn.Module]], type[nn.Module]]) -> None:
    """Replace the class of each part that has an attribute."""
    for part in model.modules():
        if hasattr(part, attribute):
            part.__class__ = replaced(type(part))


@cache
def _upsampling_block(library_class: type[nn.Module]) -> type[nn.Module]:
    """Return the library's class of a convolution with group normalization, upsampling without aligned corners."""

    class UpsamplingBlock(library_class):  # type: ignore[misc, valid-type]
        def forward(self, features: Tensor) -> Tensor:
            features = self.block(features)
            return functional.interpolate(features, scale_factor=2.0, mode="bilinear") if self.upsample else features

    return UpsamplingBlock


@cache
def _fused_attention(library_class: type[nn.Module]) -> type[nn.Module]:
    """Return the library's class of attention, without a matrix of all pairs of pixels in memory."""

    class FusedAttention(library_class):  # type: ignore[misc, valid-type]
        def forward(self, tokens: Tensor, height: int, width: int) -> Tensor:
            batch, count, channels = tokens.shape
            seen = tokens
            if self.sr_ratio > 1:
                image = tokens.transpose(1, 2).reshape(batch, channels, height, width)
                seen = self.norm(self.sr(image).flatten(2).transpose(1, 2))
            parts = (self.q(tokens), *self.kv(seen).chunk(2, dim=-1))
            queries, keys, values = (part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in parts)
            mixed = functional.scaled_dot_product_attention(queries, keys, values, scale=self.scale)
            return self.proj(mixed.transpose(1, 2).reshape(batch, count, channels))

    return FusedAttention


class ImagePooling(nn.Sequential):
    """The mean over the whole image, at each pixel of it.

    One image alone has no deviation of its mean: batch normalization then uses its running statistics.
    """

    def forward(self, features: Tensor) -> Tensor:
        """Return (batch, out, height, width) for features (batch, in, height, width), float32 or bfloat16."""
        pooled = features
        for part in self:
            if type(part) is nn.BatchNorm2d and part.training and len(features) == 1:
                pooled = functional.batch_norm(
                    pooled, part.running_mean, part.running_var, part.weight, part.bias, eps=part.eps
                )
            else:
                pooled = part(pooled)
        return pooled.expand(-1, -1, *features.shape[2:])


class SegformerDecoder(nn.Module):
    """Brings the features of all stages to a quarter of the image's size, and fuses them.

    Linear layers over channels are computed as convolutions of one pixel, which needs no copies.

    Parameters
    ----------
    decoder : Module
        The library's; its layers become this one's.
    """

    def __init__(self, decoder: nn.Module) -> None:
        super().__init__()
        self.mlp_stage, self.fuse_stage = decoder.mlp_stage, decoder.fuse_stage

    def forward(self, features: list[Tensor]) -> Tensor:
        """Return the fused features.

        Parameters
        ----------
        features : list of Tensor (batch, channels, height, width), float32 or bfloat16
            From the image itself, each at half the size of the one before.

        Returns
        -------
        Tensor (batch, out, height / 4, width / 4), same dtype
        """
        resized = []
        for level, part in zip(range(len(features) - 1, 0, -1), self.mlp_stage):
            weight = part.linear.weight[:, :, None, None]
            mixed = functional.conv2d(features[level], weight, part.linear.bias)
            factor = 2.0 ** (level - 2)
            if factor != 1:
                mixed = functional.interpolate(mixed, scale_factor=factor, mode="bilinear")
            resized.append(mixed)
        return self.fuse_stage(torch.cat(resized, dim=1))
