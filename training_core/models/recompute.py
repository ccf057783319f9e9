"""Gradient checkpointing: a U-Net that keeps only the activations between its parts, and recomputes the others.

The activations within a part are dropped after the forward pass, and recomputed when the backward pass gets there (Chen
et al., 2016, Training deep nets with sublinear memory cost). Weights, gradients and statistics of batch normalization
are those of the plain U-Net.

Scope: a U-Net of known `parts`. Independent of how much memory there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Optional

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ..system.memory import give_large_blocks_back
from .architectures import encoder_parts
from .decoder import DecoderBlock

# Blocks of the encoder that are recomputed together: one alone keeps more between the parts, a whole stage more within.
BLOCKS_TOGETHER = 2


class Recomputing(nn.Module):
    """Mixed into the class of a U-Net, which then recomputes its activations."""

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits, (batch, channels, height, width), of images (batch, bands, height, width), float32.

        Without gradients nothing is kept or recomputed.
        """
        if not torch.is_grad_enabled():
            return super().forward(images)
        self.check_input_shape(images)
        features, skips = images, []
        # Blocks of the encoder, some together; the input of the first of a level is a skip connection.
        parts = encoder_parts(self)
        begins = [number for number, part in enumerate(parts) if part.keeps_input]
        for first, end in zip([0, *begins], [*begins, len(parts)]):
            skips += [features] if first else []
            for start in range(first, end, BLOCKS_TOGETHER):
                names = [name for part in parts[start : min(end, start + BLOCKS_TOGETHER)] for name in part.names]
                features = recomputed(nn.Sequential(*map(self.get_submodule, names)), features)
        *blocks, last = self.decoder.blocks
        features = self.decoder.center(features)
        for block in blocks:
            skip = skips.pop()
            features = recomputed(block, features, *skip.shape[2:], skip)
        # The last block, which has the most pixels, is recomputed in two halves.
        first_half = DecoderBlock(SimpleNamespace(conv1=last.conv1, conv2=nn.Identity()))
        features = recomputed(first_half, features, *images.shape[2:])
        return recomputed(nn.Sequential(last.conv2, self.segmentation_head), features)


def mix_in_recomputing(model: nn.Module) -> None:
    """Make a model recompute its activations from here on; an engine may prepare it for training."""
    if not isinstance(model, Recomputing):
        model.__class__ = type("RecomputingUnet", (Recomputing, type(model)), {})


def recompute_activations(model: nn.Module) -> nn.Module:
    """Make a model recompute its activations from here on, and return it; names of weights stay.

    Since memory is short then, large free blocks are given back to the system, too, from here on and in all of the
    process: allocation takes longer.
    """
    mix_in_recomputing(model)
    give_large_blocks_back()
    return model


def recomputed(part: nn.Module, *arguments: Optional[Tensor] | int) -> Tensor:
    """Return the output of a part, (batch, channels, height, width), float32 or bfloat16.

    The backward pass keeps nothing but the arguments. If neither they nor the part's weights need gradients, nothing is
    kept or recomputed.
    """
    contexts = lambda: (nullcontext(), _unmoved_statistics(part))  # noqa: E731
    return checkpoint(part, *arguments, use_reentrant=False, preserve_rng_state=False, context_fn=contexts)


@contextmanager
def _unmoved_statistics(part: nn.Module) -> Iterator[None]:
    """Keep running statistics of batch normalization as they are while the same batch passes again."""
    layers = [module for module in part.modules() if isinstance(module, nn.BatchNorm2d)]
    former = [(layer.momentum, layer.num_batches_tracked) for layer in layers]
    for layer in layers:
        layer.momentum, layer.num_batches_tracked = 0.0, None
    try:
        yield
    finally:
        for layer, (momentum, count) in zip(layers, former):
            layer.momentum, layer.num_batches_tracked = momentum, count
