"""Chip choice: which places of the drawn labels the next training step learns from.

Scope: blocks of labels, what is new in them, and where the model disagrees. Independent of the model.

First come chips from what is new, so that a stroke is learned from at once. Of the other chips, half come from where
prediction and drawing disagree most (hard example mining, Shrivastava et al., CVPR 2016), and half from all labels
alike, half of these from roads, as those of a fine-tune.

One chip of each step rehearses what the base model says where nothing is drawn (learning without forgetting, Li and
Hoiem, ECCV 2016): a place without a road would else teach, within seconds, that there are no roads at all
(benchmarks/experiments.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Optional

import numpy as np

from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.rasters import Band
from ..labels.label_edges import near_edges
from ..learning.chips import ROAD_CHIP_SHARE, draw_scaling, scale_into
from ..segmentation.inference import turned
from .drawn_labels import BLOCK_PX, Block, DrawnLabels, paste
from .image_windows import ImageWindows, Window

# A new block is learned from so many times before it is one of many.
FRESH_VISITS = 3
# So many times the opinion of the base model is taught where labels were erased, by so many of the other chips.
BACK_VISITS, BACK_SHARE = 24, 0.5
HARD_SHARE = 0.5
# So many chips of what the base model says are kept; older ones go.
REHEARSED = 64
# A drawn width is never exact; as in a fine-tune.
EDGE_M = 0.5


class ChipChoice:
    """Chooses chips, and draws them with augmentation.

    Parameters
    ----------
    bands : tuple of Band
        How values are normalized.
    chip_px, seed : int
        Side of a chip, a multiple of the model's stride; and of all random choices.
    """

    def __init__(
        self, windows: ImageWindows, labels: DrawnLabels, bands: tuple[Band, ...], chip_px: int, seed: int
    ) -> None:
        self._windows, self._labels, self._bands, self._chip_px = windows, labels, bands, chip_px
        self._rng, self._grid = np.random.default_rng(seed), windows.grid
        self._edge_px = round(EDGE_M / windows.grid.resolution_m)
        self._fresh: dict[Block, int] = {}
        self._change: dict[Block, int] = {}
        self._changes = 0
        self._back: dict[Block, np.ndarray] = {}
        self._back_visits: dict[Block, int] = {}
        self._errors: dict[Block, float] = {}
        self._rehearsed: deque[tuple[int, int, np.ndarray]] = deque(maxlen=REHEARSED)
        self._table: Optional[_Table] = None

    @property
    def has_any(self) -> bool:
        """Whether there is anything to learn from."""
        return bool(len(self._known_table().blocks) or self._back)

    @property
    def has_fresh(self) -> bool:
        """Whether there are blocks that have not been learned from since they changed."""
        return any(visits == FRESH_VISITS for visits in self._fresh.values())

    def renew(self, blocks: Iterable[Block]) -> None:
        """Note blocks whose labels have changed: they come first, before those that changed earlier."""
        self._changes += 1
        for block in blocks:
            self._fresh[block], self._change[block] = FRESH_VISITS, self._changes
            self._errors.pop(block, None)
        self._table = None

    def settle(self) -> None:
        """Note that all labels so far have been learned from: none is new."""
        self._fresh.clear()

    def teach_back(self, block: Block, labels: np.ndarray) -> None:
        """Note what is to be taught where labels were erased, (BLOCK_PX, BLOCK_PX), uint8; real labels come first."""
        self._back[block], self._back_visits[block] = labels, BACK_VISITS
        self._fresh[block], self._change[block] = FRESH_VISITS, self._changes

    def disagree(self, block: Block, error: float) -> None:
        """Note by how much prediction and labels of a block differ.

        Parameters
        ----------
        error : float
            Mean difference of a pixel, from 0 to 1.
        """
        self._errors[block] = error
        self._table = None

    def place_in(self, window: Window) -> tuple[int, int]:
        """Return the first column and row of a chip somewhere in a window of the image."""
        column, row, width, height = window
        firsts = (
            first + int(self._rng.integers(max(1, size - self._chip_px + 1)))
            for first, size in ((column, width), (row, height))
        )
        return self._inside(*firsts)

    def rehearse(self, column: int, row: int, labels: np.ndarray) -> None:
        """Note what the base model says in a chip; labels that are drawn there, now or later, come before it.

        Parameters
        ----------
        column, row : int
            The chip's first pixel in the image.
        labels : ndarray (chip_px, chip_px), uint8
            BACKGROUND, ROAD or IGNORE.
        """
        self._rehearsed.append((column, row, labels))

    def draw(self, count: int) -> tuple[np.ndarray, np.ndarray, set[Block]]:
        """Draw the chips of a step.

        Parameters
        ----------
        count : int
            At least one.

        Returns
        -------
        chips : ndarray (count, bands, side, side), float32
            Normalized; 0 where the image has no data.
        labels : ndarray (count, side, side), uint8
            BACKGROUND, ROAD or IGNORE.
        blocks : set of Block
            Which new ones are in them.
        """
        side, seen = self._chip_px, set()
        chips = np.zeros((count, len(self._bands), side, side), dtype=np.float32)
        labels = np.full((count, side, side), IGNORE, dtype=np.uint8)
        for number, (chip, label) in enumerate(zip(chips, labels)):
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

    def _fresh_block(self) -> Optional[Block]:
        """Return one of the blocks that changed last, which has been learned from least; None without a new one."""
        if not self._fresh:
            return None
        ranks = {block: (self._change[block], visits) for block, visits in self._fresh.items()}
        first = max(ranks.values())
        chosen = [block for block, rank in ranks.items() if rank == first]
        return chosen[int(self._rng.integers(len(chosen)))]

    def _any_block(self) -> Optional[Block]:
        if self._back and self._rng.random() < BACK_SHARE:
            return list(self._back)[int(self._rng.integers(len(self._back)))]
        table = self._known_table()
        if not len(table.blocks):
            return None
        weights = table.hard if self._rng.random() < HARD_SHARE else table.labeled
        if self._rng.random() < ROAD_CHIP_SHARE and table.road[-1] > 0 and weights is table.labeled:
            weights = table.road
        number = int(np.searchsorted(weights, self._rng.random() * weights[-1], side="right"))
        return table.blocks[min(number, len(table.blocks) - 1)]

    def _known_table(self) -> _Table:
        if self._table is None:
            self._table = _Table(self._labels, self._errors)
        return self._table

    def _corner(self, block: Block) -> tuple[int, int]:
        """Return the first column and row of a chip around a pixel of a block, by preference one of road."""
        labels = self._labels.labels.get(block)
        labels = self._back.get(block) if labels is None else labels
        row, column = BLOCK_PX // 2, BLOCK_PX // 2
        if labels is not None:
            places = np.flatnonzero(labels == ROAD)
            if not len(places) or self._rng.random() >= ROAD_CHIP_SHARE:
                places = np.flatnonzero(labels != IGNORE)
            if len(places):
                row, column = divmod(int(places[self._rng.integers(len(places))]), BLOCK_PX)
        shift_px = self._chip_px // 4
        at = (block[1] * BLOCK_PX + column, block[0] * BLOCK_PX + row)
        return self._inside(
            *(place + int(self._rng.integers(-shift_px, shift_px + 1)) - self._chip_px // 2 for place in at)
        )

    def _inside(self, column: int, row: int) -> tuple[int, int]:
        """Return the first column and row of the chip in the image that is nearest to one."""
        last = (self._grid.width - self._chip_px, self._grid.height - self._chip_px)
        return max(0, min(column, last[0])), max(0, min(row, last[1]))

    def _visit(self, column: int, row: int) -> set[Block]:
        """Count a visit of the new blocks whose middle lies in a chip, and return them."""
        half, side = BLOCK_PX // 2, self._chip_px
        rows = range(-(-(row - half) // BLOCK_PX), (row + side - half) // BLOCK_PX + 1)
        columns = range(-(-(column - half) // BLOCK_PX), (column + side - half) // BLOCK_PX + 1)
        around = {(down, across) for down in rows for across in columns}
        found = around & self._fresh.keys()
        for visits in (self._fresh, self._back_visits):
            for block in around & visits.keys():
                visits[block] -= 1
                if not visits[block]:
                    del visits[block]
                    if visits is self._back_visits:
                        del self._back[block]
        return found

    def _fill(
        self, chip: np.ndarray, label: np.ndarray, column: int, row: int, said: Optional[np.ndarray] = None
    ) -> None:
        """Fill a chip (bands, side, side) of zeros and its labels (side, side) of IGNORE, turned and jittered.

        What the base model says, (side, side), uint8, counts where nothing is drawn.
        """
        window = (column, row, self._chip_px, self._chip_px)
        values, known = self._windows.read(*window)
        truth = self._labels.read(*window)
        if said is not None:
            is_free = (truth == IGNORE) & (self._labels.read(*window, held_out=True) == IGNORE)
            truth[is_free] = said[is_free]
        truth[near_edges(truth == ROAD, truth != IGNORE, self._edge_px)] = IGNORE
        self._add_back(truth, column, row)
        truth[~known] = IGNORE
        symmetry = int(self._rng.integers(8))
        turned(label, symmetry)[...] = truth
        scale, offset = draw_scaling(self._bands, self._rng)
        scale_into(turned(chip, symmetry), values, known, scale, offset)

    def _add_back(self, truth: np.ndarray, column: int, row: int) -> None:
        """Add the base model's opinion where labels were erased and nothing else is drawn."""
        if not self._back:
            return
        taught = np.full(truth.shape, IGNORE, dtype=np.uint8)
        for block, labels in self._back.items():
            if -BLOCK_PX < block[0] * BLOCK_PX - row < len(truth) and -BLOCK_PX < block[1] * BLOCK_PX - column < len(
                truth
            ):
                paste(taught, labels, block, column, row)
        free = truth == IGNORE
        truth[free] = taught[free]


class _Table:
    """The blocks that are learned from, with cumulative weights (blocks,), float64, by which they are drawn."""

    def __init__(self, labels: DrawnLabels, errors: dict[Block, float]) -> None:
        self.blocks = [block for block in labels.labels if not labels.is_held_out(block)]
        labeled = np.array([labels.labeled_px[block] for block in self.blocks], dtype=np.float64)
        usual = float(np.mean(list(errors.values()))) if errors else 1.0
        error = np.array([errors.get(block, usual) for block in self.blocks], dtype=np.float64)
        self.labeled, self.hard = np.cumsum(labeled), np.cumsum(labeled * (error + 1e-3))
        self.road = np.cumsum([float(labels.road_px[block]) for block in self.blocks])
