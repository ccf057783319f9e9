"""Validation on held-out blocks: which are computed, in what order, and how a model scores on them.

Only the blocks that are scored are computed, each with a narrow halo: held-out blocks lie scattered, and tiles that
cover the image would compute many times as many pixels.

Scope: labeled images and a predictor. Independent of training.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.tiling import Tile
from ..labels.labeled_images import LabeledImage, window_reader
from ..segmentation.inference import Predictor, predict_pieces, read_piece
from ..segmentation.pixel_metrics import Confusion
from ..system.prefetch import ahead

# Context around a block: the narrowest with which scores and threshold are about those of a wide halo
# (benchmarks/README.md).
HALO_PX = 64
# Blocks of this size together are computed as one batch, so that small ones keep all cores busy.
BATCH_PX = 1 << 18
# A score on fewer blocks than this would be chance.
FEWEST_BLOCKS = 4


@dataclass(frozen=True)
class Block:
    """A held-out block of an image, as a tile with a narrow halo."""

    image: LabeledImage
    tile: Tile

    @property
    def px(self) -> int:
        """Pixels that are computed for it."""
        _, _, width, height = self.tile.read_window
        return width * height


def held_out_blocks(images: Iterable[LabeledImage], seed: int) -> list[Block]:
    """Return the held-out blocks in an order of which every beginning is a fair sample.

    Blocks with road and blocks without are shuffled, and spread evenly over the whole order; one with road comes first.

    Parameters
    ----------
    images : iterable of LabeledImage
    seed : int
        The same seed gives the same order.

    Returns
    -------
    list of Block
    """
    rng = np.random.default_rng(seed)
    kinds: tuple[list[Block], list[Block]] = ([], [])
    for image in images:
        for tile in _tiles(image):
            has_road = bool((image.validation[tile.destination] == ROAD).any())
            kinds[not has_road].append(Block(image, tile))
    ranked = []
    for kind, blocks in enumerate(kinds):
        places = (np.arange(len(blocks)) + 0.5) / max(1, len(blocks)) if kind else np.linspace(0, 1, len(blocks))
        ranked += [(place, kind, block) for place, block in zip(rng.permutation(places), blocks)]
    return [block for _, _, block in sorted(ranked, key=lambda entry: entry[:2])]


def _tiles(image: LabeledImage) -> Iterable[Tile]:
    """Yield a tile for each block of an image that has validation labels."""
    height, width = image.validation.shape
    side = image.block_px
    for row in range(0, height, side):
        for column in range(0, width, side):
            down, across = min(side, height - row), min(side, width - column)
            if (image.validation[row : row + down, column : column + across] != IGNORE).any():
                above, left = min(HALO_PX, row), min(HALO_PX, column)
                right, below = min(HALO_PX, width - column - across), min(HALO_PX, height - row - down)
                yield Tile(column, row, across, down, left, above, right, below)


@dataclass(frozen=True)
class Validation:
    """How a model scores on held-out blocks.

    Parameters
    ----------
    confusion : Confusion
    blocks, px : int
        How many blocks were computed, and their pixels with halos.
    seconds : float
        Duration.
    class_hits, class_total : int
        Road pixels whose class is predicted correctly, and all whose class is known.
    """

    confusion: Confusion
    blocks: int
    px: int
    seconds: float
    class_hits: int = 0
    class_total: int = 0


def validate(
    predictor: Predictor, blocks: Sequence[Block], fewest: int = FEWEST_BLOCKS, limit_s: float = math.inf
) -> Validation:
    """Score a model on held-out blocks, as many as a time limit allows.

    Parameters
    ----------
    predictor : Predictor
        Its bands do not matter: blocks are normalized by those of their image.
    blocks : sequence of Block
        Computed in this order.
    fewest : int
        So many blocks are computed in any case.
    limit_s : float
        No further block is begun that would end later, by the time that those before took.

    Returns
    -------
    Validation

    Raises
    ------
    ModelFileError
        The model computes values that are no numbers.
    """
    confusion, began_s = Confusion(), time.perf_counter()
    done = px = hits = total = 0
    pieces = ahead(
        (
            read_piece(each.tile, window_reader(each.image), each.image.bands, source=each, name=each.image.name)
            for each in blocks
        ),
        1,
    )
    with closing(pieces), closing(predict_pieces(predictor, pieces, BATCH_PX)) as predicted:
        for piece, found in predicted:
            image, part = piece.source.image, piece.tile.destination
            confusion.add(found.probability, image.validation[part])
            if found.classes is not None and image.classes is not None:
                known = (image.validation[part] == ROAD) & (image.classes[part] > 0)
                hits += int((found.classes[known] == image.classes[part][known]).sum())
                total += int(known.sum())
            done, px = done + 1, px + piece.source.px
            if done >= fewest and (time.perf_counter() - began_s) * (done + 1) / done > limit_s:
                break  # the next block would exceed the limit
    return Validation(confusion, done, px, time.perf_counter() - began_s, hits, total)


def blocks_within(blocks: Sequence[Block], most_px: float) -> int:
    """Return how many blocks, from the first on, take at most so many pixels with their halos; FEWEST_BLOCKS at least.

    Parameters
    ----------
    blocks : sequence of Block
    most_px : float

    Returns
    -------
    int
    """
    within = int(np.searchsorted(np.cumsum([block.px for block in blocks]), most_px, side="right"))
    return min(len(blocks), max(FEWEST_BLOCKS, within))
