"""Measures of a fine-tune and its start: relaxed F1 on held-out blocks, and the offset of labels from roads.

Labels beside the roads are learned like true ones, and held-out labels then favor the result. So the start's
probability gives their offset. Scope: labels and probability of blocks. Independent of training and of files.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import fft

from ..geodata.pixel_codes import CERTAIN, IGNORE, NO_DATA, ROAD
from ..segmentation.pixel_metrics import RelaxedCounts, relaxed_matches
from .validation import Block

# Roads are compared as lines, since drawn widths differ.
TOLERANCE_M = 3.0
# Offsets that are looked for, and how many times better than in place, than elsewhere and than the least fit (soft F1)
# the labels must fit there.
REACH_M, MIN_OFFSET_M, ELSEWHERE_M, MIN_GAIN, MIN_FIT = 40.0, 3.0, 8.0, 1.15, 0.1
# Less labeled road, some 40 m of a street, also fits beside other roads by chance.
MIN_ROAD_M2 = 250.0
# More blocks, and more pixels of a fine image, take long and hardly change the offset.
MAX_BLOCKS, MAX_REACH_PX = 64, 150


def relaxed_f1(blocks: Sequence[Block], masks: Sequence[np.ndarray], shift: tuple[int, int] = (0, 0)) -> float:
    """Return the relaxed F1 of masks, (height, width) bool, with the labels at an offset of rows and columns."""
    counts, margin, (down, right) = RelaxedCounts(), max(map(abs, shift)), shift
    for block, mask in zip(blocks, masks):
        top, left = margin + down, margin + right
        truth = _labels(block, (margin, margin))[top : top + mask.shape[0], left : left + mask.shape[1]]
        counts += relaxed_matches(mask, truth, TOLERANCE_M, block.image.grid.pixel_m).counts()
    return counts.f1


def _labels(block: Block, margin_px: tuple[int, int]) -> np.ndarray:
    """Return the labels of a block with a margin, IGNORE beyond the image: (height, width) uint8."""
    image = block.image
    axes = [np.arange(at.start - px, at.stop + px) for at, px in zip(block.tile.destination, margin_px)]
    nearest = np.ix_(*(axis.clip(0, size - 1) for axis, size in zip(axes, image.training.shape)))
    is_inside = [(axis >= 0) & (axis < size) for axis, size in zip(axes, image.training.shape)]
    labels = np.minimum(image.training[nearest], image.validation[nearest])
    return np.where(np.logical_and.outer(*is_inside), labels, IGNORE).astype(np.uint8)


def label_shift(blocks: Sequence[Block], probability: Sequence[np.ndarray]) -> tuple[int, int]:
    """Return the offset of labels from roads in probability, (height, width) uint8, in rows and columns; 0 if none."""
    x_m, y_m = blocks[0].image.grid.pixel_m
    reach = min(MAX_REACH_PX, int(REACH_M / y_m)), min(MAX_REACH_PX, int(REACH_M / x_m))
    total = np.zeros((4, 2 * reach[0] + 1, 2 * reach[1] + 1))
    for block, found in zip(blocks[:MAX_BLOCKS], probability):
        labels, known = _labels(block, reach), (found != NO_DATA).astype(np.float32)
        road, labeled = (labels == ROAD).astype(np.float32), (labels != IGNORE).astype(np.float32)
        certainty = known * found / np.float32(CERTAIN)
        size = [fft.next_fast_len(length, real=True) for length in labels.shape]
        drawn, seen = (fft.rfft2(np.stack(each), size) for each in ((road, labeled), (certainty, known)))
        # The correlation of each of both pairs; within reach, nothing wraps around.
        sums = fft.irfft2(drawn * seen[:, None].conj(), size).reshape(4, *size)
        total += sums[:, : total.shape[1], : total.shape[2]]
    hits, predicted, true, counted = total
    if true[reach] * x_m * y_m < MIN_ROAD_M2:
        return 0, 0
    # Soft F1 of each shift, where half of the labels are still seen.
    f1 = np.where(counted > 0.5 * counted[reach], 2 * hits / np.maximum(predicted + true, 1), 0.0)
    rows, columns = np.ogrid[-reach[0] : reach[0] + 1, -reach[1] : reach[1] + 1]
    best = np.unravel_index(f1.argmax(), f1.shape)
    down, right = int(best[0]) - reach[0], int(best[1]) - reach[1]
    elsewhere = f1[np.hypot((rows - down) * y_m, (columns - right) * x_m) > ELSEWHERE_M]
    is_far = np.hypot(down * y_m, right * x_m) >= max(MIN_OFFSET_M, 2 * y_m, 2 * x_m)
    is_better = f1[best] >= MIN_GAIN * max(f1[reach], elsewhere.max(initial=MIN_FIT))
    # Where the fit still grows at the edge of what is looked at, there is no peak.
    is_peak = abs(down) < reach[0] and abs(right) < reach[1]
    return (down, right) if is_far and is_better and is_peak else (0, 0)
