"""Measurements for the plan of a training: memory by a few steps on small chips, and the time of a step.

The real trainer takes the steps. For the memory, the bytes of all live tensors are recorded after each operation. The
operations are the same for any chip size, so the record at two sizes extrapolates linearly to any other.

Scope: trainers, recipes, free memory. The decisions are in `plan`.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import math
import time
from typing import Optional

import numpy as np
import psutil
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ..events import Reporter
from ..jobs import FineTune, StepOptions
from ..models.architectures import Architecture, build_network, weights_without_memory
from ..models.engines import IPEX, TRAINING, NativeEngine, choose_engine
from ..models.recompute import mix_in_recomputing, recompute_activations
from ..system import environment
from ..system.memory import available_bytes, give_free_blocks_back
from ..system.tensor_memory import Ledger
from .plan import (
    BATCHES_OF_CHIPS,
    LIBRARY_BYTES,
    Footprint,
    MemoryPlan,
    Plan,
    Room,
    fit_recipe,
    has_choice,
    plan_memory,
)
from .trainer import Trainer

SMALL_CHIPS_PX = (64, 128)
# Copies of the weights that the extension makes outside of any recorded operation.
EXTENSION_COPIES = 3
# Copies of the weights that the exchange of gradients between processes takes.
EXCHANGE_COPIES = 3
# Fraction of the free memory that a training may take; the rest is for the system, and for errors of the estimate.
SHARE_OF_FREE = 0.9
# A trial of the engines takes some ten steps; where fewer than these are given, they are better spent on training.
MIN_STEPS_WITH_TRIAL = 200
# Fraction of the time budget that the engines' trial may take. The first step waits for it, and it seldom gains more
# than it takes.
TRIAL_FRACTION = 0.01


def room_for(architecture: Architecture, processes: int = 1, ranks: int = 1) -> Room:
    """Return the memory of a training by `ranks`, of which as many as `processes` share this machine."""
    weights_bytes = sum(tensor.nbytes for tensor in weights_without_memory(architecture).values())
    return Room(
        limit_bytes=max_bytes(processes),
        used_bytes=psutil.Process().memory_info().rss,
        weights_bytes=weights_bytes,
        exchange_bytes=EXCHANGE_COPIES * weights_bytes * (ranks > 1),
        processes=processes,
        ranks=ranks,
    )


def max_bytes(processes: int = 1) -> int:
    """Return the largest size that this process may reach if a number of them share the machine."""
    available = psutil.Process().memory_info().rss + int(SHARE_OF_FREE * available_bytes() / processes)
    limit = environment.memory_bytes()
    return available if limit is None else min(available, limit // processes)


def fit_into_memory(
    architecture: Architecture,
    engine: NativeEngine,
    recipe: StepOptions,
    chip_px: int,
    room: Optional[Room] = None,
) -> MemoryPlan:
    """Return how a training on chips fits into memory; see `plan_memory`.

    Raises JobError if activations of this network cannot be recomputed, but are to be. Raises ResourceError if there is
    too little memory; the remedy names settings that fit.
    """
    if recipe.recompute == "yes":
        architecture.require_unet("Recomputed activations (recompute)")
    measure = functools.partial(measure_footprint, architecture, engine, recipe)
    return plan_memory(
        recipe, chip_px, architecture.in_channels, architecture.is_unet, room or room_for(architecture), measure
    )


def measure_footprint(
    architecture: Architecture, engine: NativeEngine, recipe: StepOptions, is_recomputing: bool
) -> Footprint:
    """Measure three training steps on small chips with random weights; budget, chips and batches do not matter."""
    options = {each.name: getattr(recipe, each.name) for each in dataclasses.fields(StepOptions)}
    options["chip_px"] = StepOptions().chip_px
    # A second batch finds the gradients of the first; further ones are like it.
    options |= {"batch_size": 1, "accumulation": min(recipe.accumulation, 2)}
    step = _measure_step(architecture, engine, StepOptions(**options), is_recomputing)
    return dataclasses.replace(step, process_bytes=psutil.Process().memory_info().rss)


@functools.lru_cache
def _measure_step(
    architecture: Architecture, engine: NativeEngine, recipe: StepOptions, is_recomputing: bool
) -> Footprint:
    """Measure three training steps; see `measure_footprint`. All but `process_bytes` is the same in every process."""
    with torch.random.fork_rng(devices=[]), Ledger() as ledger:
        model = build_network(architecture)
        if is_recomputing:  # without `recompute_activations`, which would slow this process down from here on
            mix_in_recomputing(model)
        trainer = Trainer(model, engine, recipe)
        _step(trainer, recipe.accumulation, architecture.in_channels, SMALL_CHIPS_PX[0])  # makes the optimizer's state
        alive = []
        for size_px in SMALL_CHIPS_PX:
            began = len(ledger.alive)
            _step(trainer, recipe.accumulation, architecture.in_channels, size_px)
            alive.append(np.array(ledger.alive[began:], dtype=float))
    # A line through the bytes at both sizes, for each operation.
    pixels = [size_px**2 for size_px in SMALL_CHIPS_PX]
    slope = (alive[1] - alive[0]) / (pixels[1] - pixels[0])
    weights_bytes = sum(tensor.nbytes for tensor in model.state_dict().values())
    measured = Footprint(
        process_bytes=0,
        library_bytes=LIBRARY_BYTES + (EXTENSION_COPIES * weights_bytes if engine.name == IPEX else 0),
        kept_bytes=_kept_bytes(trainer),
        fixed_bytes=alive[0] - slope * pixels[0],
        bytes_per_px=slope,
        chip_bytes_per_px=BATCHES_OF_CHIPS * (4 * architecture.in_channels + 1),
    )
    del model, trainer
    gc.collect()  # the extension's parameters refer to each other
    give_free_blocks_back()
    return measured


def _step(trainer: Trainer, chips: int, bands: int, size_px: int) -> None:
    images = np.zeros((chips, bands, size_px, size_px), dtype=np.float32)
    labels = np.zeros((chips, size_px, size_px), dtype=np.uint8)
    labels[:, : size_px // 2] = 1
    trainer.step(images, labels, 0.0)


def _kept_bytes(trainer: Trainer) -> int:
    """Return the size of the best weights, and of the copies that a checkpoint makes of them and the state."""
    with FakeTensorMode(allow_non_fake_inputs=True):  # shapes without memory
        best, state = trainer.weights(), trainer.state_dict()
    unpacked = [tensor for tensor in (*best.values(), *state.values()) if not tensor.is_contiguous()]
    return sum(tensor.nbytes for tensor in (*best.values(), *state.values(), *unpacked))


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


def plan_by_trial(
    job: FineTune, architecture: Architecture, chip_px: int, memory: MemoryPlan, reporter: Reporter
) -> Plan:
    """Return the plan of a fine-tune whose memory is planned: engine and recipe by timed trial steps where they pay.

    Raises JobError if the engine asked for cannot be used.
    """
    trial = TrialSteps(architecture, job, chip_px, memory.is_recomputing)

    def step(engine: NativeEngine) -> None:
        reporter.check_cancelled()
        trial.step(engine)

    # A step that is computed otherwise, in tiles for example, takes another time than those of a trial.
    is_plain = not memory.layout
    is_tried = is_plain and (not job.steps or job.steps >= MIN_STEPS_WITH_TRIAL)
    limit_s = math.inf if job.steps else TRIAL_FRACTION * job.minutes * 60
    engine = choose_engine(job.engine, job.precision, TRAINING, step if is_tried else None, reporter.log, limit_s)
    fit = fit_recipe(job, trial.seconds(engine) if is_plain and has_choice(job) else None)
    if fit.reason:
        reporter.log(fit.reason)
    return Plan(engine, fit, memory)
