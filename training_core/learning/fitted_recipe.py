"""The recipe fitted to the base model and to the processor: a step is timed to see how many the budget holds.

Scope: recipes and the duration of a step. The figures behind each rule are in benchmarks/README.md.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch

from ..jobs import FineTune, StepOptions
from ..jobs.recipe import BY_PACE, CAREFUL_RATE, CHIPS, MUCH_LABELED_PX, SMALL_CHIP_PX, USUAL_CHIP_PX
from ..models.architectures import Architecture, build_network
from ..models.engines import NativeEngine
from ..models.recompute import recompute_activations
from .trainer import Trainer

# Fraction of the time budget that is left for training steps; validation takes the rest.
STEPS_FRACTION = 0.9
# With fewer steps than this, from a base model and from random weights, small chips teach more: more steps count for
# more than larger pieces of the image.
ENOUGH_STEPS, ENOUGH_STEPS_FROM_RANDOM = 150, 500
# Number of stages of a base model that stay frozen then: their features are general, and steps take a fifth less.
FROZEN_STAGES = 2


@dataclass(frozen=True)
class Fit:
    """Options of the recipe that the throughput chose, with those of the job, and why; "" if the job left none."""

    options: dict[str, int]
    reason: str = ""


def encoder_rate(job: FineTune, knows_roads: bool, labeled_px: int) -> float:
    """Return the factor on the encoder's learning rate: the job's, or the usual one if the job leaves it open.

    That depends on whether the whole network already knows the same bands and classes, and how much is labeled.
    """
    is_careful = knows_roads and job.pipeline_stages == 1 and labeled_px < MUCH_LABELED_PX
    return job.encoder_rate or (CAREFUL_RATE if is_careful else 1.0)


def has_choice(job: FineTune) -> bool:
    """Whether a job leaves options open, so that a step must be timed."""
    is_open = not job.chip_px or (job.frozen_stages == BY_PACE and job.base_model)
    return bool(is_open and not job.steps and job.sample == CHIPS and job.pipeline_stages == 1)


def fit_recipe(job: FineTune, step_s: float) -> Fit:
    """Choose the options of a recipe that the job leaves open, by the steps that its time budget holds.

    A step with usual chips and no frozen stages takes `step_s`. This does not matter if the job gives a number of steps
    instead: then training is reproducible.
    """
    if not has_choice(job):
        return Fit(_options(job, 0, USUAL_CHIP_PX))
    steps = STEPS_FRACTION * job.minutes * 60 / step_s
    measured = f"A training step takes {step_s:.2f} s, so the time budget holds about {steps:.0f}"
    if steps >= (ENOUGH_STEPS if job.base_model else ENOUGH_STEPS_FROM_RANDOM):
        return Fit(_options(job, 0, USUAL_CHIP_PX), f"{measured}: enough for the usual recipe.")
    options = _options(job, FROZEN_STAGES if job.base_model else 0, SMALL_CHIP_PX)
    frozen = f", and the first {options['frozen_stages']} of the encoder's 5 stages are frozen"
    made = f"chips of {options['chip_px']} px are used{frozen if options['frozen_stages'] else ''}"
    return Fit(options, f"{measured}. To fit in more steps, {made}.")


def _options(job: FineTune, frozen_stages: int, chip_px: int) -> dict[str, int]:
    """Return these options, except for those that the job has settled."""
    return {
        "frozen_stages": frozen_stages if job.frozen_stages == BY_PACE else job.frozen_stages,
        "chip_px": job.chip_px or chip_px,
    }


class TrialSteps:
    """Training steps on empty chips, with a trainer for each engine that is tried."""

    def __init__(self, architecture: Architecture, recipe: StepOptions, chip_px: int, is_recomputing: bool) -> None:
        self._architecture, self._recipe, self._is_recomputing = architecture, recipe, is_recomputing
        shape = (recipe.batch_size * recipe.accumulation, chip_px, chip_px)
        self._chips = np.zeros((shape[0], architecture.in_channels, *shape[1:]), dtype=np.float32)
        self._labels = np.zeros(shape, dtype=np.uint8)
        self._trainers: dict[str, Trainer] = {}

    def step(self, engine: NativeEngine) -> None:
        """Take a step with an engine; the first one prepares weights, memory and kernels."""
        if engine.name not in self._trainers:
            self._trainers[engine.name] = self._new_trainer(engine)
        self._trainers[engine.name].step(self._chips, self._labels, 0.0)

    def seconds(self, engine: NativeEngine) -> float:
        """Return the duration of a step with an engine, after a first one."""
        if engine.name not in self._trainers:
            self.step(engine)
        began_s = time.perf_counter()
        self.step(engine)
        return time.perf_counter() - began_s

    def _new_trainer(self, engine: NativeEngine) -> Trainer:
        with torch.random.fork_rng(devices=[]):  # the trial must not change the training
            model = build_network(self._architecture)
        if self._is_recomputing:
            recompute_activations(model)
        return Trainer(model, engine, self._recipe)
