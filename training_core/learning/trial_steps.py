"""Trial steps: how long a training step takes on this processor, with an engine and a recipe.

Scope: models with random weights and empty chips. Independent of images and of what is concluded from the pace.
"""

from __future__ import annotations

import time

import numpy as np
import torch

from ..jobs import StepOptions
from ..models.architectures import Architecture, build_network
from ..models.engines import Engine
from .trainer import Trainer


class TrialSteps:
    """Training steps on empty chips, with a trainer for each engine that is tried.

    Parameters
    ----------
    chip_px : int
        Side of a chip as it enters the model.
    is_recomputing : bool
        Whether activations are recomputed in the backward pass.
    """

    def __init__(self, architecture: Architecture, recipe: StepOptions, chip_px: int, is_recomputing: bool) -> None:
        self._architecture, self._recipe, self._is_recomputing = architecture, recipe, is_recomputing
        shape = (recipe.batch_size * recipe.accumulation, chip_px, chip_px)
        self._chips = np.zeros((shape[0], architecture.in_channels, *shape[1:]), dtype=np.float32)
        self._labels = np.zeros(shape, dtype=np.uint8)
        self._trainers: dict[str, Trainer] = {}

    def step(self, engine: Engine) -> None:
        """Take a step with an engine; the first one with it prepares weights, memory and kernels."""
        if engine.name not in self._trainers:
            self._trainers[engine.name] = self._new_trainer(engine)
        self._trainers[engine.name].step(self._chips, self._labels, 0.0)

    def seconds(self, engine: Engine) -> float:
        """Return how long a step takes with an engine, once all is prepared."""
        if engine.name not in self._trainers:
            self.step(engine)
        began_s = time.perf_counter()
        self.step(engine)
        return time.perf_counter() - began_s

    def _new_trainer(self, engine: Engine) -> Trainer:
        with torch.random.fork_rng(devices=[]):  # what is tried must not change what is trained
            model = build_network(self._architecture)
        if self._is_recomputing:
            from ..models.recompute import recompute_activations  # loads the library of the U-Net

            recompute_activations(model)
        return Trainer(model, engine, self._recipe)
