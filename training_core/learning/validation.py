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
from itertools import islice, product
from typing import cast

import numpy as np
import torch

from ..errors import ModelFileError
from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.tiling import Tile
from ..labels.labeled_images import LabeledImage, window_reader
from ..segmentation.inference import Piece, Prediction, Predictor, padded_size, predict_pieces, read_piece
from ..segmentation.pixel_metrics import Confusion
from ..system.work import ahead
from .share import ALL, Share

# Context around a block: the narrowest with which scores and threshold are about those of a wide halo
# (benchmarks/README.md).
HALO_PX = 64
# Blocks of this size together are computed as one batch, so that small ones keep all cores busy.
BATCH_PX = 1 << 18
# A score on fewer blocks than this would be chance.
MIN_BLOCKS = 4


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
    """
    rng = np.random.default_rng(seed)
    kinds: tuple[list[Block], list[Block]] = ([], [])
    for image in images:
        for tile in _tiles(image):
            has_road = bool((image.validation[tile.destination] == ROAD).any())
            kinds[not has_road].append(Block(image, tile))
    # Blocks of each kind get places from 0 to 1, evenly spread and in random order, and all are sorted by them.
    ranked = []
    for kind, blocks in enumerate(kinds):
        places = (np.arange(len(blocks)) + 0.5) / max(1, len(blocks)) if kind else np.linspace(0, 1, len(blocks))
        ranked += [(place, kind, block) for place, block in zip(rng.permutation(places), blocks)]
    return [block for _, _, block in sorted(ranked, key=lambda entry: entry[:2])]


def _tiles(image: LabeledImage) -> Iterable[Tile]:
    """Yield a tile for each block of an image that has validation labels."""
    height, width = image.validation.shape
    for row, column in product(range(0, height, image.block_px), range(0, width, image.block_px)):
        down, across = min(image.block_px, height - row), min(image.block_px, width - column)
        if (image.validation[row : row + down, column : column + across] != IGNORE).any():
            above, left = min(HALO_PX, row), min(HALO_PX, column)
            right, below = min(HALO_PX, width - column - across), min(HALO_PX, height - row - down)
            yield Tile(column, row, across, down, left, above, right, below)


@dataclass(frozen=True)
class Validation:
    """How a model scores on held-out blocks: `blocks` that were computed, and their `px` with halos.

    `class_hits` of `class_total` road pixels of known class have the right class. `probability` is that of each block
    that this process computed, (height, width), uint8.
    """

    confusion: Confusion
    blocks: int
    px: int
    seconds: float
    class_hits: int = 0
    class_total: int = 0
    probability: Sequence[np.ndarray] = ()


def validate(
    predictor: Predictor,
    blocks: Sequence[Block],
    fewest: int = MIN_BLOCKS,
    limit_s: float = math.inf,
    share: Share = ALL,
) -> Validation:
    """Score a model on held-out blocks in their order, at least on `fewest`, and on no more than fit into `limit_s`.

    Blocks are normalized by their image's bands, and packed the same whatever this process' share of them.

    Raises ModelFileError if the model computes values that are no numbers.
    """
    confusion, numbers = Confusion(), np.zeros(4, dtype=np.int64)
    probability: list[np.ndarray] = []
    began_s, done = time.perf_counter(), 0
    rounds = list(share.deal(_packs(blocks)))
    pieces = ahead(
        (
            read_piece(block.tile, window_reader(block.image), block.image.bands, source=block, name=block.image.name)
            for packs, _ in rounds
            for pack in packs
            for block in pack
        ),
        1,
    )
    with closing(pieces):
        for assigned, packs in rounds:
            failure = None
            try:
                for piece, found in predict_pieces(predictor, islice(pieces, sum(map(len, assigned))), BATCH_PX):
                    numbers += _count(piece, found, confusion)
                    probability.append(found.probability)
            except ModelFileError as error:
                failure = error
            done += sum(map(len, packs))
            is_late = done >= fewest and (time.perf_counter() - began_s) * (done + 1) / done > limit_s
            failures, late = share.sum(torch.tensor([failure is not None, is_late], dtype=torch.int64))
            if failures:
                raise failure or ModelFileError("The model computes values that are not numbers on another rank.")
            if late:
                break  # the next round would exceed the limit
    done, px, hits, total = share.sum(torch.from_numpy(numbers)).tolist()
    counts = share.sum(torch.tensor(confusion.counts())).tolist()
    seconds = time.perf_counter() - began_s
    return Validation(Confusion.from_counts(counts), done, px, seconds, hits, total, probability)


def _packs(blocks: Sequence[Block]) -> list[list[Block]]:
    """Return consecutive blocks of the same size in groups of at most `BATCH_PX`, which are computed together."""
    packs: list[list[Block]] = []
    for block in blocks:
        size = padded_size(block.tile.read_window[:1:-1])
        fits = packs and padded_size(packs[-1][0].tile.read_window[:1:-1]) == size
        if fits and (len(packs[-1]) + 1) * math.prod(size) <= BATCH_PX:
            packs[-1].append(block)
        else:
            packs.append([block])
    return packs


def _count(piece: Piece, found: Prediction, confusion: Confusion) -> np.ndarray:
    """Count a block's pixels in the confusion; return blocks, computed pixels, hits and total of classes, int64."""
    block = cast(Block, piece.source)
    image, part = block.image, piece.tile.destination
    confusion.add(found.probability, image.validation[part])
    hits = total = 0
    if found.classes is not None and image.classes is not None:
        known = (image.validation[part] == ROAD) & (image.classes[part] > 0)
        hits = int((found.classes[known] == image.classes[part][known]).sum())
        total = int(known.sum())
    return np.array([1, block.px, hits, total])


def blocks_within(blocks: Sequence[Block], most_px: float) -> int:
    """Return how many of the first blocks have at most `most_px` pixels with their halos; at least MIN_BLOCKS."""
    within = int(np.searchsorted(np.cumsum([block.px for block in blocks]), most_px, side="right"))
    return min(len(blocks), max(MIN_BLOCKS, within))
