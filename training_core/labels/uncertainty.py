"""How unsure a model is on each patch of a scene, and how much road it expects there.

Knows a probability, read by strips, and patches as windows of smaller blocks; knows nothing of which of them to choose.

A model learns most from what it is unsure of (Lewis and Gale, "A sequential algorithm for training text classifiers",
SIGIR 1994). How unsure it is of a pixel is told by the entropy of its probability, as in Settles, "Active learning
literature survey", University of Wisconsin-Madison 2009, where other measures are, too; of road or not, all of them put
pixels in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import entr

from ..errors import JobError, ResourceError
from ..events import Reporter
from ..geodata.road_raster import RoadRaster

# Patches may begin at every quarter of their side.
BLOCKS_A_SIDE = 4
# What a patch must have of data at least.
LEAST_KNOWN_SHARE = 0.75
# Tables of more blocks than this would no longer be small.
MOST_BLOCKS = 4_000_000


@dataclass(frozen=True)
class Blocks:
    """What is summed up over the blocks of a scene.

    Parameters
    ----------
    columns, rows : ndarray (m + 1,) and (n + 1,), int64
        Where blocks begin and end, in pixels.
    known_px, entropy, road : ndarray (n, m), float64
        Pixels with data, the sum of their entropies in bits, and that of their probabilities.
    labeled : ndarray (n, m), bool
        Which blocks have any pixel that is labeled already.
    """

    columns: np.ndarray
    rows: np.ndarray
    known_px: np.ndarray
    entropy: np.ndarray
    road: np.ndarray
    labeled: np.ndarray


@dataclass(frozen=True)
class Patches:
    """The patches of a scene that may be labeled, all of which have data, and none of which is labeled already.

    Parameters
    ----------
    cells : ndarray (n, 2), int64
        Column and row of each one's first block; two overlap where both differ by less than `BLOCKS_A_SIDE`.
    windows : ndarray (n, 4), int64
        Column, row, width and height in pixels.
    uncertainty : ndarray (n,), float64
        Mean entropy of the pixels with data, from 0 to 1 bit.
    road_share : ndarray (n,), float64
        Their mean probability, which is the share of road that the model expects.
    """

    cells: np.ndarray
    windows: np.ndarray
    uncertainty: np.ndarray
    road_share: np.ndarray

    @property
    def worth(self) -> np.ndarray:
        """What labeling each patch would teach, from 0 to 1: (n,), float64.

        It is the uncertainty, up to halved where the patch is expected to be all road or all ground: one with both
        shows the network where the one ends and the other begins.
        """
        return self.uncertainty * (1 + entropy(self.road_share)) / 2


def entropy(probability: np.ndarray) -> np.ndarray:
    """Return the entropy of yes or no in bits: 0 where it is certain, 1 at a probability of one half."""
    certain = np.clip(probability, 0, 1)
    return (entr(certain) + entr(1 - certain)) / math.log(2)


def measure_blocks(
    raster: RoadRaster,
    pixel_m: tuple[float, float],
    patch_m: float,
    labeled: Optional[Callable[[int, int], np.ndarray]],
    reporter: Reporter,
) -> Blocks:
    """Return the sums over blocks, of which `BLOCKS_A_SIDE` make up the side of a patch.

    Blocks of one size cover the image, so a patch is as near to the wanted size as that allows: within an eighth where
    the image is hardly larger than a patch, within a hundredth where it is a dozen patches wide.

    Parameters
    ----------
    raster : RoadRaster
        A probability.
    pixel_m : tuple of float
        Length on the ground of a step of one column and of one row.
    patch_m : float
        Side of a patch on the ground.
    labeled : callable, optional
        Takes a first row and a number of rows; returns which pixels are labeled already, (rows, width), bool.
    reporter : Reporter

    Raises
    ------
    JobError, ResourceError
        Patches are smaller than some pixels, or so small that there are too many.
    """
    columns, rows = (
        _edges(size, patch_m / BLOCKS_A_SIDE / step_m, patch_m)
        for size, step_m in zip((raster.width, raster.height), pixel_m)
    )
    shape = len(rows) - 1, len(columns) - 1
    if shape[0] * shape[1] > MOST_BLOCKS:
        raise ResourceError(
            f"The scene has too many patches of {patch_m:g} m to compare.", "Choose a larger patch size (patch_m)."
        )
    sums = {name: np.zeros(shape) for name in ("known_px", "entropy", "road", "labeled")}
    for first_row, count in raster.strips():
        reporter.check_cancelled()
        probability, known = raster.read(first_row, count)
        probability = np.where(known, probability, np.float32(0))
        strips = {"known_px": known, "entropy": entropy(probability), "road": probability}
        if labeled is not None:
            strips["labeled"] = labeled(first_row, count)
        for name, values in strips.items():
            _add(sums[name], values, columns, rows, first_row)
        reporter.progress((first_row + count) / raster.height, "Looking for what the model is unsure of")
    return Blocks(columns, rows, **{**sums, "labeled": sums["labeled"] > 0})


def _edges(size_px: int, step_px: float, patch_m: float) -> np.ndarray:
    """Return where blocks of about a length begin and end along one side of an image, which they cover."""
    if step_px < 1:
        raise JobError(
            f"Patches of {patch_m:g} m (patch_m) are smaller than {BLOCKS_A_SIDE} pixels.", "Choose a larger size."
        )
    count = min(size_px, max(BLOCKS_A_SIDE, round(size_px / step_px)))
    return np.rint(np.linspace(0, size_px, count + 1)).astype(np.int64)


def _add(sums: np.ndarray, values: np.ndarray, columns: np.ndarray, rows: np.ndarray, first_row: int) -> None:
    """Add a strip's values to the sums over blocks."""
    by_column = np.add.reduceat(values, columns[:-1], axis=1, dtype=np.float64)
    block = np.searchsorted(rows, first_row + np.arange(len(values)), side="right") - 1
    present, begins = np.unique(block, return_index=True)
    sums[present] += np.add.reduceat(by_column, begins, axis=0)


def patches_of(blocks: Blocks) -> Patches:
    """Return the patches that may be labeled, from blocks; an image that is smaller than a patch is one."""
    down, across = (min(BLOCKS_A_SIDE, size) for size in blocks.known_px.shape)

    def total(values: np.ndarray) -> np.ndarray:
        return sliding_window_view(values, (down, across)).sum(axis=(2, 3), dtype=np.float64)

    lefts, tops = blocks.columns[:-across], blocks.rows[:-down]
    widths, heights = blocks.columns[across:] - lefts, blocks.rows[down:] - tops
    known_px = total(blocks.known_px)
    usable = (known_px >= LEAST_KNOWN_SHARE * np.outer(heights, widths)) & (total(blocks.labeled) == 0)
    row, column = np.nonzero(usable)
    return Patches(
        cells=np.column_stack([column, row]),
        windows=np.column_stack([lefts[column], tops[row], widths[column], heights[row]]),
        uncertainty=total(blocks.entropy)[usable] / known_px[usable],
        road_share=total(blocks.road)[usable] / known_px[usable],
    )
