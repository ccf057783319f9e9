"""Scoring of the shown model on held-out blocks, and where in view it is wrong or uncertain.

Scope: labels, windows, predictions. Independent of training. The first roads hold few pixels out, so the first scores
mean little. The measure of uncertainty is the one of `suggestlabels`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import JobError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.pixel_codes import CERTAIN, IGNORE, NO_DATA, ROAD
from ..geodata.road_raster import byte_raster
from ..jobs import SuggestLabels
from ..labels.label_suggestions import measure_blocks, patches_of, suggest
from ..learning.validation import BATCH_PX, HALO_PX
from ..segmentation.inference import Predictor, predict_pieces, read_piece
from ..segmentation.pixel_metrics import Confusion
from .drawn_labels import BLOCK_PX, BlockIndex, DrawnLabels, blocks_in, order_of
from .image_windows import ImageWindows
from .learner import block_tile
from .map_prediction import MapPrediction

# More blocks take too long and hardly change the score.
MAX_BLOCKS = 30
# With fewer pixels, a score is chance.
MIN_PX = 1000
# Number of uncertain places that are shown, and the side of each.
PLACES, PATCH_M = 2, 60.0
_HALF = 0.5  # no threshold matters here
_OPTIONS = SuggestLabels(count=PLACES)


class Scoring:
    """A validation in progress; `confusion` counts the blocks so far."""

    def __init__(self, predictor: Predictor, labels: DrawnLabels, windows: ImageWindows) -> None:
        self._labels, self.confusion, self.is_complete = labels, Confusion(), False
        blocks = order_of(block for block in labels.labels if labels.is_held_out(block))[:MAX_BLOCKS]
        pieces = (
            read_piece(block_tile(block, HALO_PX), windows.read, predictor.bands, source=block, name=windows.name)
            for block in blocks
        )
        self._predicted = predict_pieces(predictor, pieces, BATCH_PX)

    def advance(self) -> None:
        """Score the next block, predicted in batches; `is_complete` is set after the last."""
        found = next(self._predicted, None)
        if found is None:
            self.is_complete = True
            return
        piece, prediction = found
        row, column = piece.source
        truth = self._labels.read(column * BLOCK_PX, row * BLOCK_PX, BLOCK_PX, BLOCK_PX, held_out=True)
        truth[~piece.wanted] = IGNORE
        self.confusion.add(prediction.probability, truth)

    def finish(self) -> Confusion:
        """Score all remaining blocks, and return the counts."""
        while not self.is_complete:
            self.advance()
        return self.confusion


def is_telling(confusion: Confusion) -> bool:
    """Whether counts are enough for a score: there is road, and more than a few pixels."""
    return confusion.count >= MIN_PX and confusion.road_share > 0


def block_errors(view: MapPrediction, labels: DrawnLabels) -> Iterator[tuple[BlockIndex, float]]:
    """Yield the predicted blocks in view that are learned from, with their mean absolute error from 0 to 1."""
    for block in blocks_in(*view.window):
        truth = labels.labels.get(block)
        if truth is None or labels.is_held_out(block):
            continue
        probability = view.part((block[1] * BLOCK_PX, block[0] * BLOCK_PX, BLOCK_PX, BLOCK_PX))
        if probability is None:
            continue
        # Only pixels with both a label and a prediction count.
        counts = (truth != IGNORE) & (probability != NO_DATA)
        if counts.any():
            yield block, float(np.abs(probability[counts] / CERTAIN - (truth[counts] == ROAD)).mean())


def uncertain_places(probability: np.ndarray, labeled: np.ndarray, grid: Grid) -> list[list[float]]:
    """Return the centers (x, y) of the PLACES most uncertain patches without labels, the most uncertain first.

    The probability, (height, width), uint8, and the mask of labels, (height, width), bool, lie on the grid.
    """
    raster, silent = byte_raster(probability, _HALF), Reporter()
    try:
        blocks = measure_blocks(
            raster, grid.pixel_m, PATCH_M, lambda first, count: labeled[first : first + count], silent
        )
    except JobError:  # pixels are larger than a patch
        return []
    chosen = suggest(patches_of(blocks), blocks, grid, _OPTIONS, silent)
    return [[place.x, place.y] for place in chosen.geometry.centroid]
