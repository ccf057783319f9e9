"""The trial of engines and devices for a training: steps on empty chips, timed; and the plan that follows.

Scope: engine, device, and options of the recipe that depend on the throughput. Independent of images and files.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch

from ..events import Reporter
from ..jobs import FineTune, StepOptions
from ..models.architectures import Architecture, build_network
from ..models.engine_choice import choose_anywhere, devices_at_hand, settle_threads
from ..models.engines import TRAINING, TRAINING_DEVICES, NativeEngine
from ..models.recompute import recompute_activations
from .plan import MemoryPlan, Plan, fit_into_memory, fit_recipe, has_choice, room_on, take_step
from .trainer import Trainer

# A trial of the engines takes some ten steps; where fewer than these are given, they are better spent on training.
MIN_STEPS_WITH_TRIAL = 200
# Fraction of the time budget that the engines' trial may take. The first step waits for it, and it seldom gains more
# than it takes.
TRIAL_FRACTION = 0.01


def trial_step(
    architecture: Architecture, recipe: StepOptions, chip_px: int, is_recomputing: bool
) -> Callable[[NativeEngine], float]:
    """Return a function that takes a training step on empty chips with an engine, and returns its seconds.

    The first step with each engine prepares weights, memory and kernels. The draws of chance stay as they are.
    """
    chips = recipe.batch_size * recipe.accumulation
    trainers: dict[str, Trainer] = {}

    def step(engine: NativeEngine) -> float:
        if engine.name not in trainers:
            with torch.random.fork_rng(devices=[]):
                model = build_network(architecture)
            if is_recomputing:
                recompute_activations(model)
            trainers[engine.name] = Trainer(model, engine, recipe)
        began_s = time.perf_counter()
        take_step(trainers[engine.name], chips, architecture.in_channels, chip_px)
        return time.perf_counter() - began_s

    return step


def plan_by_trial(
    job: FineTune,
    architecture: Architecture,
    chip_px: int,
    memory: MemoryPlan,
    reporter: Reporter,
    is_alone: bool = True,
) -> Plan:
    """Return the plan of a fine-tune whose memory is planned: engine and recipe by timed trial steps where they pay.

    A process that trains alone tries devices, too, if the training fits into their memory. Raises JobError if the
    engine asked for cannot be used.
    """
    # A step that is computed otherwise, in tiles for example, takes another time than those of a trial.
    is_plain = not memory.layout
    is_tried = is_plain and (not job.steps or job.steps >= MIN_STEPS_WITH_TRIAL)
    limit_s = math.inf if job.steps else TRIAL_FRACTION * job.minutes * 60
    able = TRAINING_DEVICES if is_plain and is_alone else {}
    devices = devices_at_hand(job, job.precision, able, reporter, is_tried)
    memories: dict[str, MemoryPlan] = {}
    steps: dict[str, Callable[[NativeEngine], float]] = {}

    def step(engine: NativeEngine) -> float:
        reporter.check_cancelled()
        if engine.name not in steps:
            room, precise = room_on(engine, architecture), NativeEngine(engine.precision)
            memories[engine.name] = fit_into_memory(architecture, precise, job, chip_px, room) if room else memory
            steps[engine.name] = trial_step(architecture, job, chip_px, memories[engine.name].is_recomputing)
        with engine.guard():
            return steps[engine.name](engine)

    engine = choose_anywhere(job.engine, job.precision, TRAINING, devices, step, reporter, limit_s if is_tried else 0.0)
    if is_plain and is_alone and is_tried and not job.steps and not engine.is_device:
        settle_threads(lambda: step(engine), job.threads, reporter.log)
    step_s = None
    if is_plain and has_choice(job):
        if engine.name not in steps:
            step(engine)
        step_s = step(engine)
    fit = fit_recipe(job, step_s)
    if fit.reason:
        reporter.log(fit.reason)
    return Plan(engine, fit, memories.get(engine.name, memory))
