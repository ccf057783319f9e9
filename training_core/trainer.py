"""A network in training: one step at a time, timed by parts, and measured on the ground kept apart.

Knows networks, engines, losses and optimizers; knows nothing of how long to train or of files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import nn
from torch.optim import AdamW

from .engines import Engine
from .examples import LabeledImage
from .inference import Predictor, predict_tiles
from .labels import IGNORE
from .losses import road_loss
from .metrics import Confusion
from .tiling import USUAL_HALO_PX, Tile, tile_grid

WEIGHT_DECAY = 0.01
VALIDATION_TILE_PX = 512
PARTS = ("waiting for chips", "forward", "backward", "optimizer", "validation")


class Trainer:
    """A network with its optimizer, as an engine trains them.

    Parameters
    ----------
    network : Module
        Belongs to the trainer from here on.
    engine : Engine

    Attributes
    ----------
    timings_s : dict
        Seconds by part of the loop.
    """

    def __init__(self, network: nn.Module, engine: Engine) -> None:
        self._engine = engine
        optimizer = AdamW(network.parameters(), lr=0.0, weight_decay=WEIGHT_DECAY)
        self._network, self._optimizer = engine.prepare_training(network, optimizer)
        self.timings_s = dict.fromkeys(PARTS, 0.0)
        self._lap_began_s = time.perf_counter()

    def lap(self, part: str) -> None:
        """Count the time since the last lap as this part's."""
        now_s = time.perf_counter()
        self.timings_s[part] += now_s - self._lap_began_s
        self._lap_began_s = now_s

    def step(self, chips: np.ndarray, labels: np.ndarray, rate: float) -> float:
        """Learn from a batch and return its loss.

        Parameters
        ----------
        chips : ndarray (batch, bands, height, width), float32
        labels : ndarray (batch, height, width), uint8
        rate : float
            The learning rate of this step.
        """
        self.lap("waiting for chips")
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        logits = self._engine.forward(self._network, torch.from_numpy(chips))
        loss = road_loss(logits, torch.from_numpy(labels)[:, None])
        self.lap("forward")
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.lap("backward")
        self._optimizer.step()
        self.lap("optimizer")
        return loss.item()

    def weights(self) -> dict[str, torch.Tensor]:
        """Return a copy of the network's weights as they are now."""
        return {name: tensor.detach().clone() for name, tensor in self._network.state_dict().items()}

    def validate(self, images: list[LabeledImage]) -> Confusion:
        """Return how the network does on the labels kept apart."""
        self._network.eval()
        confusion = Confusion()
        for image in images:
            predictor = Predictor(self._network, self._engine, image.bands)
            for tile, probability in predict_tiles(predictor, window_reader(image), _validation_tiles(image)):
                confusion.add(probability, image.validation[tile.destination])
        self._network.train()
        self.lap("validation")
        return confusion


def window_reader(image: LabeledImage) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return a function that reads windows of an image in memory as `Image.read` reads those of a file."""

    def read(column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        window = np.s_[row : row + height, column : column + width]
        return image.values[(slice(None), *window)], image.known[window]

    return read


def _validation_tiles(image: LabeledImage) -> Iterator[Tile]:
    height, width = image.validation.shape
    for tile in tile_grid(width, height, VALIDATION_TILE_PX, USUAL_HALO_PX):
        if (image.validation[tile.destination] != IGNORE).any():
            yield tile
