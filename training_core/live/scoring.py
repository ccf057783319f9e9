"""Scoring of the shown model: on held-out blocks, a batch at a time; and where in view it is most uncertain.

Scope: labels, windows, predictions. Independent of training. The first roads hold little out, so their score says
little; it says more with each road. The measure of uncertainty is that of `suggestlabels`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import JobError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.pixel_codes import IGNORE
from ..geodata.road_raster import byte_raster
from ..jobs import SuggestLabels
from ..labels.patch_selection import suggest
from ..labels.uncertainty import measure_blocks, patches_of
from ..learning.validation import BATCH_PX, HALO_PX
from ..segmentation.inference import Predictor, predict_pieces, read_piece
from ..segmentation.pixel_metrics import Confusion
from .drawn_labels import BLOCK_PX, Block, DrawnLabels, order_of
from .image_windows import ImageWindows
from .learner import block_tile

# More blocks take too long, and tell little more.
MAX_BLOCKS = 30
# With fewer pixels, or none of road, a score would be chance.
MIN_PX = 1000

# Number of uncertain places that are shown, and their side.
PLACES, PATCH_M = 2, 60.0
_HALF = 0.5  # no threshold matters here
_OPTIONS = SuggestLabels(count=PLACES)


class Scoring:
    """A validation under way.

    Attributes
    ----------
    confusion : Confusion
        Of the blocks so far.
    """

    def __init__(self, predictor: Predictor, labels: DrawnLabels, windows: ImageWindows) -> None:
        self.confusion = Confusion()
        blocks = order_of(block for block in labels.labels if labels.is_held_out(block))[:MAX_BLOCKS]
        self._batches = self._scored(blocks, predictor, labels, windows)
        self.is_complete = False

    def advance(self) -> None:
        """Score the next batch; afterwards `is_complete` says whether that was the last."""
        self.is_complete = next(self._batches, None) is None

    def finish(self) -> Confusion:
        """Score all that is left, and return the counts."""
        while not self.is_complete:
            self.advance()
        return self.confusion

    def _scored(
        self, blocks: list[Block], predictor: Predictor, labels: DrawnLabels, windows: ImageWindows
    ) -> Iterator[int]:
        """Yield the number of blocks of each batch, once it is scored."""
        size = max(1, BATCH_PX // (BLOCK_PX + 2 * HALO_PX) ** 2)
        for first in range(0, len(blocks), size):
            batch = blocks[first : first + size]
            pieces = (
                read_piece(block_tile(block, HALO_PX), windows.read, predictor.bands, source=block, name=windows.name)
                for block in batch
            )
            for piece, found in predict_pieces(predictor, pieces, BATCH_PX):
                row, column = piece.source
                truth = labels.read(column * BLOCK_PX, row * BLOCK_PX, BLOCK_PX, BLOCK_PX, held_out=True)
                truth[~piece.wanted] = IGNORE
                self.confusion.add(found.probability, truth)
            yield len(batch)


def is_telling(confusion: Confusion) -> bool:
    """Whether counts are enough for a score: there is road, and more than a few pixels."""
    return confusion.count >= MIN_PX and confusion.road_share > 0


def uncertain_places(probability: np.ndarray, labeled: np.ndarray, grid: Grid) -> list[list[float]]:
    """Return the centers of the most uncertain patches without labels, the first one most.

    Parameters
    ----------
    probability : ndarray (height, width), uint8
        See `to_byte`.
    labeled : ndarray (height, width), bool
    grid : Grid
        Of both.

    Returns
    -------
    list of list of float
        At most PLACES of (x, y), in the grid's CRS.
    """
    raster, silent = byte_raster(probability, _HALF), Reporter()
    try:
        blocks = measure_blocks(
            raster, grid.pixel_m, PATCH_M, lambda first, count: labeled[first : first + count], silent
        )
    except JobError:  # pixels are larger than that
        return []
    chosen = suggest(patches_of(blocks), blocks, grid, _OPTIONS, silent)
    return [[place.x, place.y] for place in chosen.geometry.centroid]
