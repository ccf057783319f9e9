"""Learner: the model of a live session, which learns from labels and forgets erased ones.

Scope: weights, steps and learning rates. Independent of commands, files and the choice of chips.

The learning rate is constant, since nobody knows when the session ends. The exponential moving average of the weights
replaces its decay. What is shown and kept is interpolated between the base model and that average, as in a fine-tune,
so that less of other ground is forgotten. Batch normalization keeps the base model's statistics, because the chips of
the first minutes come from a few places. The encoder is frozen: steps take half as long, and learned as much
(benchmarks/README.md).

Erased labels are forgotten in two ways. The weights move back toward the base model (L2-SP, Li et al., ICML 2018) by
the fraction that was erased. And the opinion of the base model is taught in the erased places for a while, so that the
model forgets these first.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from ..geodata.pixel_codes import BACKGROUND, CERTAIN, IGNORE, NO_DATA, ROAD
from ..geodata.rasters import Band
from ..geodata.tiling import Tile
from ..jobs import StepOptions
from ..learning.history import History
from ..learning.outcome import FRACTIONS, interpolated
from ..learning.trainer import Trainer
from ..learning.validation import BATCH_PX
from ..models.architectures import build_uninitialized
from ..models.base_model import BaseModel
from ..models.engines import NativeEngine
from ..segmentation.inference import Predictor, predict_pieces, read_piece
from .chip_choice import ChipChoice
from .drawn_labels import BLOCK_PX, BlockIndex
from .image_windows import ImageWindows, Window

CHIP_PX, BATCH = 128, 4
RATE, WARM_UP_STEPS = 3e-4, 10
AVERAGING, CLIP_NORM = 0.9, 1.0
RECIPE = StepOptions(chip_px=CHIP_PX, batch_size=BATCH, frozen_stages=5, batch_norm="frozen")
# Least and largest fraction of the way back to the base model when labels are erased.
MIN_BACK, MAX_BACK = 0.15, 0.6
# Probabilities from which the opinion of the base model is taught, and the number of erased blocks it is taught in.
CERTAIN_ROAD, CERTAIN_BACKGROUND, MAX_BACK_BLOCKS = 0.7, 0.3, 96
_CONTEXT_PX = 32
_TIMED_STEPS = 10
# Means over this number of losses are compared: chips differ, so single losses are noise.
WINDOW_STEPS = 40
# Learning ends after this number of means in a row that are not lower than the lowest by this fraction.
MIN_PROGRESS, MAX_IDLE_WINDOWS = 0.03, 2
# Learning also ends after this number of steps, before the model memorizes single labels.
MAX_DRAWING_STEPS = 600


class Learner:
    """A model that learns step by step; restarts from the base model do not shorten its `history`."""

    def __init__(self, base: BaseModel, engine: NativeEngine, bands: tuple[Band, ...], choice: ChipChoice) -> None:
        self._base, self._engine, self._bands, self._choice = base, engine, bands, choice
        model = self._network(self._base.weights)
        self._base_predictor = Predictor(engine.prepare_inference(model), engine, bands)
        self._trainer = self._new_trainer(model)
        self.history = History()
        self._since_reset = 0
        self._recent_s: deque[float] = deque(maxlen=_TIMED_STEPS)

    @property
    def steps_per_s(self) -> float:
        """Throughput of the last steps; 0 before the first."""
        return len(self._recent_s) / sum(self._recent_s) if self._recent_s else 0.0

    def step(self) -> tuple[float, set[BlockIndex]]:
        """Learn from the next chips; return their loss, not finite if the step failed, and the new blocks in them."""
        began_s = time.perf_counter()
        chips, labels, blocks = self._choice.draw(BATCH)
        rate = RATE * min(1.0, (self._since_reset + 1) / WARM_UP_STEPS)
        loss = self._trainer.step(chips, labels, rate)
        taken_s = time.perf_counter() - began_s
        self._recent_s.append(taken_s)
        self.history.elapsed_s += taken_s
        if math.isfinite(loss):
            self._since_reset += 1
            self.history.add_step(self.history.elapsed_s, loss, rate, len(chips))
        return loss, blocks

    def start_again(self) -> None:
        """Return to the base model."""
        self._trainer = self._new_trainer(self._network(self._base.weights))
        self._since_reset = 0

    def forget(self, erased_px: int, left_px: int) -> None:
        """Move the weights toward the base model by the erased fraction of the labeled pixels."""
        if not left_px:
            self.start_again()
        elif self.history.step and erased_px:
            fraction = erased_px / (erased_px + left_px)
            self._trainer.draw_toward(self._base.weights, min(MAX_BACK, max(MIN_BACK, fraction)))

    def opinions(self, erased: Mapping[BlockIndex, np.ndarray], windows: ImageWindows) -> dict[BlockIndex, np.ndarray]:
        """Return the opinion of the base model on erased pixels, both (BLOCK_PX, BLOCK_PX) for each block.

        The mask of erased pixels is bool; the opinion is uint8, ROAD or BACKGROUND where certain, else IGNORE.
        """
        if not self.history.step:
            return {}
        # Of many erased blocks, an evenly spread selection is enough.
        blocks = list(erased)
        blocks = blocks[:: max(1, -(-len(blocks) // MAX_BACK_BLOCKS))]
        opinions = self._predict_base({block: block_tile(block) for block in blocks}, windows)
        return {block: np.where(erased[block], labels, IGNORE).astype(np.uint8) for block, labels in opinions.items()}

    def rehearse(self, window: Window, windows: ImageWindows) -> None:
        """Let further steps rehearse the opinion of the base model at a random place of a window."""
        column, row = self._choice.place_in(window)
        tile = Tile(column, row, CHIP_PX, CHIP_PX, *(_CONTEXT_PX,) * 4)
        self._choice.rehearse(column, row, self._predict_base({(row, column): tile}, windows)[row, column])

    def _predict_base(self, tiles: dict[BlockIndex, Tile], windows: ImageWindows) -> dict[BlockIndex, np.ndarray]:
        """Return the opinion of the base model on tiles: ROAD or BACKGROUND where certain, else IGNORE."""
        pieces = (
            read_piece(tile, windows.read, self._bands, source=name, name=windows.name) for name, tile in tiles.items()
        )
        opinions: dict[tuple[int, int], np.ndarray] = {}
        for piece, prediction in predict_pieces(self._base_predictor, pieces, BATCH_PX):
            probability = prediction.probability
            # Only certain pixels are taught; NO_DATA is larger than any probability.
            labels = np.full(probability.shape, IGNORE, dtype=np.uint8)
            labels[probability <= CERTAIN_BACKGROUND * CERTAIN] = BACKGROUND
            labels[(probability >= CERTAIN_ROAD * CERTAIN) & (probability != NO_DATA)] = ROAD
            opinions[piece.source] = labels
        return opinions

    def _new_trainer(self, model: nn.Module) -> Trainer:
        return Trainer(model, self._engine, RECIPE, averaging=AVERAGING, clip_norm=CLIP_NORM)

    def _network(self, weights: dict[str, torch.Tensor]) -> nn.Module:
        model = build_uninitialized(self._base.architecture)
        model.load_state_dict(weights)
        return model

    def shown(self) -> Predictor:
        """Return the model with `weights`, which further steps do not change."""
        if not self._since_reset:
            return self._base_predictor
        return Predictor(self._engine.prepare_inference(self._network(self.weights())), self._engine, self._bands)

    def weights(self) -> dict[str, torch.Tensor]:
        """Return the base model's weights interpolated with the averaged ones: (...), float32 or int64, by name."""
        return interpolated(self._base.weights, self._trainer.weights(), FRACTIONS[0])

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Return copies of all tensors that a step changes, (...), any dtype, by name; none before the first step."""
        state = self._trainer.state_dict()
        return state if any(name.startswith("optimizer.") for name in state) else {}

    def resume(self, state: dict[str, torch.Tensor], history: History) -> None:
        """Continue from a state, (...), any dtype, that `state_dict` returned; empty if nothing was learned.

        Raises KeyError, IndexError, ValueError, RuntimeError if the state is of another model.
        """
        if state:
            self._trainer.load_state_dict(state)
            self._since_reset = history.step
        self.history = history


def block_tile(block: BlockIndex, context_px: int = _CONTEXT_PX) -> Tile:
    """Return a block as a tile with context on all sides, which may lie beyond the image."""
    row, column = block
    return Tile(column * BLOCK_PX, row * BLOCK_PX, BLOCK_PX, BLOCK_PX, *(context_px,) * 4)


class Plateau:
    """Detects when the loss no longer falls, from the last change of the labels on."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Start again after a change of the labels."""
        self._lowest, self._sum, self._idle, self._steps = math.inf, 0.0, 0, 0

    def add(self, loss: float) -> None:
        """Add the loss of a step."""
        self._sum, self._steps = self._sum + loss, self._steps + 1
        if self._steps % WINDOW_STEPS == 0:
            mean, self._sum = self._sum / WINDOW_STEPS, 0.0
            self._idle = 0 if mean < self._lowest * (1 - MIN_PROGRESS) else self._idle + 1
            self._lowest = min(self._lowest, mean)

    @property
    def is_reached(self) -> bool:
        """Whether further steps are of no use."""
        return self._idle >= MAX_IDLE_WINDOWS or self._steps >= MAX_DRAWING_STEPS
