"""Chip choice: selects the places of the drawn labels that the next training step learns from.

Scope: blocks of labels, which of them are new, and where the model disagrees. Independent of the model.

New labels come first, so that a stroke is learned at once. Of the other chips, half come from places where prediction
and drawing disagree most (hard example mining, Shrivastava et al., CVPR 2016). The other half comes from all labels,
and half of these from roads, as in a fine-tune.

One chip of each step rehearses the opinion of the base model where nothing is drawn (learning without forgetting, Li
and Hoiem, ECCV 2016). Otherwise a place without a road teaches, within seconds, that there are no roads at all
(benchmarks/README.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from typing import Any, Optional

import numpy as np

from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.rasters import Band
from ..labels.drawing import near_edges
from ..learning.chips import ROAD_CHIP_FRACTION, draw_scaling, scale_into
from ..segmentation.inference import turned
from .drawn_labels import BLOCK_PX, BlockIndex, DrawnLabels, blocks_in
from .image_windows import ImageWindows, Window, paste

# A new block has priority for this number of visits.
FRESH_VISITS = 3
# Visits in which an erased block is taught the opinion of the base model, and the fraction of other chips for this.
BACK_VISITS, BACK_FRACTION = 24, 0.5
# Fraction of the remaining chips from places where the model is wrong.
HARD_FRACTION = 0.5
# Number of the newest rehearsed chips that are kept.
REHEARSED = 64
# Pixels this near to the edge of a road are ignored: a drawn width is never exact.
EDGE_M = 0.5


class ChipChoice:
    """Chooses chips of `chip_px` (a multiple of the model's stride) a side, and draws them with augmentation."""

    def __init__(
        self, windows: ImageWindows, labels: DrawnLabels, bands: tuple[Band, ...], chip_px: int, seed: int
    ) -> None:
        self._windows, self._labels, self._bands, self._chip_px = windows, labels, bands, chip_px
        self._rng, self._grid = np.random.default_rng(seed), windows.grid
        self._edge_px = round(EDGE_M / windows.grid.resolution_m)
        self._changes = 0
        # By block, with the remaining visits: the number of the change that each new one came with, and the opinions of
        # the base model on erased ones.
        self._fresh: dict[BlockIndex, tuple[int, int]] = {}
        self._back: dict[BlockIndex, tuple[np.ndarray, int]] = {}
        self._errors: dict[BlockIndex, float] = {}
        self._rehearsed: deque[tuple[int, int, np.ndarray]] = deque(maxlen=REHEARSED)
        self._table: Optional[_Table] = None

    @property
    def has_any(self) -> bool:
        """Whether a step has labels to learn from."""
        return bool(self._known_table().blocks or self._back)

    def renew(self, blocks: Iterable[BlockIndex]) -> None:
        """Give priority to blocks whose labels have changed, before blocks that changed earlier."""
        self._changes += 1
        for block in blocks:
            self._fresh[block] = self._changes, FRESH_VISITS
            self._errors.pop(block, None)
        self._table = None

    def settle(self) -> None:
        """Treat all labels so far as learned."""
        self._fresh.clear()

    def teach_back(self, block: BlockIndex, labels: np.ndarray) -> None:
        """Teach labels, (BLOCK_PX, BLOCK_PX), uint8, where labels were erased; drawn labels take precedence."""
        self._back[block] = labels, BACK_VISITS
        self._fresh[block] = self._changes, FRESH_VISITS

    def disagree(self, block: BlockIndex, error: float) -> None:
        """Note the mean error, from 0 to 1, of a block's pixels."""
        self._errors[block] = error
        self._table = None

    def place_in(self, window: Window) -> tuple[int, int]:
        """Return the first column and row of a chip somewhere in a window of the image."""
        first, size = np.array(window[:2]), np.array(window[2:])
        return self._inside(first + self._rng.integers(np.maximum(1, size - self._chip_px + 1)))

    def rehearse(self, column: int, row: int, labels: np.ndarray) -> None:
        """Rehearse labels, (chip_px, chip_px), uint8, of the base model; drawn labels take precedence, now or later."""
        self._rehearsed.append((column, row, labels))

    def draw(self, count: int) -> tuple[np.ndarray, np.ndarray, set[BlockIndex]]:
        """Draw the chips of a step, at least one; the blocks are the new ones in the chips.

        Chips are normalized, (count, bands, side, side), float32, with 0 where the image has no data. Labels, (count,
        side, side), uint8, are BACKGROUND, ROAD or IGNORE.
        """
        side, seen = self._chip_px, set()
        chips = np.zeros((count, len(self._bands), side, side), dtype=np.float32)
        labels = np.full((count, side, side), IGNORE, dtype=np.uint8)
        for number, (chip, label) in enumerate(zip(chips, labels)):
            # The last chip rehearses the base model; the first half is for new labels.
            if self._rehearsed and number == count - 1 > 0:
                self._fill(chip, label, *self._rehearsed[int(self._rng.integers(len(self._rehearsed)))])
                continue
            block = self._fresh_block() if number < max(1, count // 2) else None
            block = block or self._any_block() or self._fresh_block()
            if block is None:
                break
            column, row = self._corner(block)
            seen |= self._visit(column, row)
            self._fill(chip, label, column, row)
        return chips, labels, seen

    def _fresh_block(self) -> Optional[BlockIndex]:
        """Return a random one of the newest blocks with the most visits left; None if no block is new."""
        first = max(self._fresh.values(), default=None)
        return self._one_of([block for block, rank in self._fresh.items() if rank == first])

    def _one_of(self, blocks: Collection[BlockIndex]) -> Optional[BlockIndex]:
        return list(blocks)[int(self._rng.integers(len(blocks)))] if blocks else None

    def _any_block(self) -> Optional[BlockIndex]:
        if self._back and self._rng.random() < BACK_FRACTION:
            return self._one_of(self._back)
        table = self._known_table()
        if not table.blocks:
            return None
        weights = table.hard if self._rng.random() < HARD_FRACTION else table.labeled
        if self._rng.random() < ROAD_CHIP_FRACTION and table.road[-1] > 0 and weights is table.labeled:
            weights = table.road
        # A uniform number in the cumulative weights hits each block in proportion to its weight.
        number = int(np.searchsorted(weights, self._rng.random() * weights[-1], side="right"))
        return table.blocks[min(number, len(table.blocks) - 1)]

    def _known_table(self) -> _Table:
        if self._table is None:
            self._table = _Table(self._labels, self._errors)
        return self._table

    def _corner(self, block: BlockIndex) -> tuple[int, int]:
        """Return the first column and row of a chip around a labeled pixel of a block, preferably of road."""
        labels = self._labels.labels.get(block)
        labels = self._back[block][0] if labels is None and block in self._back else labels
        row, column = BLOCK_PX // 2, BLOCK_PX // 2
        if labels is not None:
            places = np.flatnonzero(labels == ROAD)
            if not len(places) or self._rng.random() >= ROAD_CHIP_FRACTION:
                places = np.flatnonzero(labels != IGNORE)
            if len(places):
                row, column = divmod(int(self._rng.choice(places)), BLOCK_PX)
        # A random shift, so that roads do not always run through the middle of a chip.
        shift_px = self._chip_px // 4
        center = np.array([block[1] * BLOCK_PX + column, block[0] * BLOCK_PX + row])
        return self._inside(center + self._rng.integers(-shift_px, shift_px + 1, 2) - self._chip_px // 2)

    def _inside(self, corner: np.ndarray) -> tuple[int, int]:
        """Return the first column and row of a chip, moved into the image."""
        last = np.array([self._grid.width, self._grid.height]) - self._chip_px
        column, row = np.maximum(0, np.minimum(corner, last)).tolist()
        return column, row

    def _visit(self, column: int, row: int) -> set[BlockIndex]:
        """Count a visit of the new blocks whose middle lies in a chip, and return them."""
        # A block's middle lies in the chip if the block touches the chip without half a block on each side.
        edge = BLOCK_PX // 2 - 1
        around = set(blocks_in(column + edge, row + edge, self._chip_px - 2 * edge, self._chip_px - 2 * edge))
        fresh = around & self._fresh.keys()
        both: tuple[dict[BlockIndex, Any], ...] = (self._fresh, self._back)
        for visits in both:
            for block in around & visits.keys():
                value, left = visits.pop(block)
                if left > 1:
                    visits[block] = value, left - 1
        return fresh

    def _fill(
        self, chip: np.ndarray, label: np.ndarray, column: int, row: int, opinion: Optional[np.ndarray] = None
    ) -> None:
        """Fill a chip (bands, side, side) of zeros and its labels (side, side) of IGNORE, turned and jittered.

        The opinion of the base model, (side, side), uint8, counts where nothing is drawn.
        """
        window = (column, row, self._chip_px, self._chip_px)
        values, known = self._windows.read(*window)
        truth = self._labels.read(*window)
        # Neither learned nor held-out labels are overwritten by the opinion of the base model.
        if opinion is not None:
            is_free = (truth == IGNORE) & (self._labels.read(*window, held_out=True) == IGNORE)
            truth[is_free] = opinion[is_free]
        truth[near_edges(truth == ROAD, truth != IGNORE, self._edge_px)] = IGNORE
        # The opinion of the base model where labels were erased and no new ones are drawn.
        taught = np.full_like(truth, IGNORE)
        for block, (labels, _) in self._back.items():
            paste(taught, labels, block[1] * BLOCK_PX - column, block[0] * BLOCK_PX - row)
        np.copyto(truth, taught, where=truth == IGNORE)
        truth[~known] = IGNORE
        # The same random symmetry for image and labels, written through turned views of the output.
        symmetry = int(self._rng.integers(8))
        turned(label, symmetry)[...] = truth
        scale, offset = draw_scaling(self._bands, self._rng)
        scale_into(turned(chip, symmetry), values, known, scale, offset)


class _Table:
    """The blocks that are learned from, with cumulative weights (blocks,), float64, for random choices."""

    def __init__(self, labels: DrawnLabels, errors: dict[BlockIndex, float]) -> None:
        self.blocks = [block for block in labels.labels if not labels.is_held_out(block)]
        labeled = np.array([labels.labeled_px[block] for block in self.blocks], dtype=np.float64)
        # Blocks without a known error count as average ones.
        mean_error = float(np.mean(list(errors.values()))) if errors else 1.0
        error = np.array([errors.get(block, mean_error) for block in self.blocks], dtype=np.float64)
        self.labeled, self.hard = np.cumsum(labeled), np.cumsum(labeled * (error + 1e-3))
        self.road = np.cumsum([float(labels.road_px[block]) for block in self.blocks])
