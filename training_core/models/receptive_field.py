"""The receptive field of a model: which input pixels an output pixel depends on.

Scope: models of PyTorch. Independent of tiles. It is measured, not computed from the layers: an input of NaN makes
every output that depends on it NaN, with any weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn

from ..geodata.tiling import STRIDE_PX, round_up

# Width of the strip of zeros on which it is measured; doubled while the receptive field reaches its ends.
_NARROWEST_PX, _WIDEST_PX = 2048, 8192


@dataclass(frozen=True)
class ReceptiveField:
    """How far the receptive field of any output pixel extends, at most: left and above (`before_px`), right and below.

    `halo_px` is the narrowest exact halo, a multiple of the stride, for tiles that begin and end at multiples of the
    stride. It may be narrower than the receptive field of some pixels.
    """

    before_px: int
    after_px: int
    halo_px: int


def measure_receptive_field(model: nn.Module, bands: int) -> Optional[ReceptiveField]:
    """Return the receptive field of a model, or None if every output depends on the whole image.

    The model is in evaluation mode, with weights in FP32. Layers act alike along rows and columns, and their receptive
    fields have no holes, so a strip suffices. Strides make it differ from one column to the next, so each column
    between two multiples of the stride is tried.
    """
    width = _NARROWEST_PX
    while width <= _WIDEST_PX:
        field = _measure_within(model, bands, width)
        if field is not None:
            return field
        width *= 2
    return None


def _measure_within(model: nn.Module, bands: int, width: int) -> Optional[ReceptiveField]:
    """Return the receptive field of a model, or None if it extends beyond a strip of this width."""
    before_px = after_px = halo_px = 0
    for column in range(width // 2, width // 2 + STRIDE_PX):
        # One column is NaN; the outputs that are NaN after the pass are those that see this column.
        strip = torch.zeros(1, bands, STRIDE_PX, width).contiguous(memory_format=torch.channels_last)
        strip[..., column] = torch.nan
        with torch.inference_mode():
            affected = model(strip).isnan().any(dim=1).any(dim=1)[0].nonzero()
        first, last = int(affected[0]), int(affected[-1])
        if first == 0 or last == width - 1:
            return None
        before_px, after_px = max(before_px, last - column), max(after_px, column - first)
        # The last tile that needs this column to its left begins at or before `last`; to its right, ends after `first`.
        left_halo = last // STRIDE_PX * STRIDE_PX - column
        right_halo = column + 1 - (first // STRIDE_PX + 1) * STRIDE_PX
        halo_px = max(halo_px, round_up(left_halo), round_up(right_halo))
    return ReceptiveField(before_px, after_px, halo_px)
