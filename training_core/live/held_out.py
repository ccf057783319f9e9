"""Held-out blocks: squares whose labels are validated on and never learned from, chosen by their position alone.

Scope: positions of blocks. Independent of labels and images. In a fine-tune, the share of blocks is drawn once, with
all labels there; here labels come one after the other, and a block must be on the same side for the whole session, and
when it is resumed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

# Side of a block in pixels, a multiple of the model's stride: small, so that the first few roads have some.
BLOCK_PX = 64
# One block in so many.
ONE_IN = 6

# Row and column of a block, counted from the corner of the image.
Block = tuple[int, int]


def is_chosen(block: Block) -> bool:
    """Whether a block is held out by its position."""
    row, column = block
    return zlib.crc32(f"{row},{column}".encode()) % ONE_IN == 0


def order_of(blocks: Iterable[Block]) -> list[Block]:
    """Return blocks in an order that looks random, and is the same for the same blocks, whatever comes beside them."""
    return sorted(blocks, key=lambda block: (zlib.crc32(f"{block[1]}/{block[0]}".encode()), block))
