"""How far a network looks: what of its input an output pixel depends on.

Knows networks; knows nothing of tiles. It is found by trial, not from tables: a value that is no number makes every
output that depends on it no number, whatever the weights are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn

from ..geodata.tiling import STRIDE_PX, round_up

# The strip of image that a network is tried on; doubled while what depends on its middle reaches its ends.
_NARROWEST_PX, _WIDEST_PX = 2048, 8192


@dataclass(frozen=True)
class ReceptiveField:
    """What of the input an output pixel depends on, at most.

    Parameters
    ----------
    before_px, after_px : int
        Pixels to the left and above, and to the right and below.
    halo_px : int
        The narrowest halo, a multiple of the stride, that holds all of it for tiles that begin and end at multiples of
        the stride. It may be narrower than what is seen from some pixel within.
    """

    before_px: int
    after_px: int
    halo_px: int


def measure_receptive_field(network: nn.Module, bands: int) -> Optional[ReceptiveField]:
    """Return how far a network looks, or None where every output depends on the whole image.

    Layers of a network do the same along rows as along columns, and see all between the farthest that they see: so a
    strip tells it. Since strides make it differ from one column to the next, each column between two multiples of the
    stride is tried.

    Parameters
    ----------
    network : Module
        In evaluation mode, with weights in FP32.
    bands : int
        That enter the network.
    """
    width = _NARROWEST_PX
    while width <= _WIDEST_PX:
        reach = _reach_within(network, bands, width)
        if reach is not None:
            return reach
        width *= 2
    return None


def _reach_within(network: nn.Module, bands: int, width: int) -> Optional[ReceptiveField]:
    """Return how far a network looks, or None where that is farther than a strip of this width shows."""
    before_px = after_px = halo_px = 0
    for column in range(width // 2, width // 2 + STRIDE_PX):
        strip = torch.zeros(1, bands, STRIDE_PX, width).contiguous(memory_format=torch.channels_last)
        strip[..., column] = torch.nan
        with torch.inference_mode():
            affected = network(strip).isnan().any(dim=1).any(dim=1)[0].nonzero()
        first, last = int(affected[0]), int(affected[-1])
        if first == 0 or last == width - 1:
            return None
        before_px, after_px = max(before_px, last - column), max(after_px, column - first)
        # The last tile that needs this column to its left begins at or before `last`; to its right, ends after `first`.
        left_halo = last // STRIDE_PX * STRIDE_PX - column
        right_halo = column + 1 - (first // STRIDE_PX + 1) * STRIDE_PX
        halo_px = max(halo_px, round_up(left_halo), round_up(right_halo))
    return ReceptiveField(before_px, after_px, halo_px)
