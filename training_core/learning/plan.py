"""What fits into memory and what pays in a training: decided from sizes and measured rates.

Real trainers are measured. For the memory, a few steps on small chips record the bytes of all live tensors after each
operation. The operations are the same for any chip size, so the record at two sizes extrapolates linearly to any other.
The figures behind each rule are in benchmarks/README.md.

Scope: engine, memory, and the options of the recipe that depend on the throughput. The decisions print themselves.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import math
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np
import psutil
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ..errors import ResourceError
from ..geodata.tiling import STRIDE_PX
from ..jobs import FineTune, StepOptions
from ..jobs.recipe import BY_PACE, CAREFUL_RATE, MUCH_LABELED_PX, SMALL_CHIP_PX, USUAL_CHIP_PX
from ..models.architectures import Architecture, build_network, weights_without_memory
from ..models.engines import IPEX, NativeEngine, training_engine
from ..models.recompute import mix_in_recomputing
from ..system import environment
from ..system.memory import available_bytes, give_free_blocks_back
from ..system.tensor_memory import GAPS, Ledger
from .trainer import Trainer

MIN_CHIP_PX = 64
# Batches of chips in memory: the one in use, three that wait, and one that is being drawn.
BATCHES_OF_CHIPS = 5
# Memory of the libraries once they compute: measured with glibc and two threads.
LIBRARY_BYTES = 115_000_000
# Bounds of the memory of a training of a U-Net, twice that of the largest ResNet as measured: for each pixel of a
# batch, and in copies of the weights. If as much is free, nothing is measured, which would take seconds.
MAX_BYTES_PER_PX, MAX_COPIES = 7000, 20
# By the option `recompute`: with and without recomputed activations, in the order in which they are tried.
TRIED_RECOMPUTING = {"auto": (False, True), "no": (False,), "yes": (True,)}
SMALL_CHIPS_PX = (64, 128)
# Copies of the weights that the extension makes outside of any recorded operation.
EXTENSION_COPIES = 3
# Copies of the weights that the exchange of gradients between processes takes.
EXCHANGE_COPIES = 3
# Fraction of the free memory that a training may take; the rest is for the system, and for errors of the estimate.
SHARE_OF_FREE = 0.9

# Fraction of the time budget that is left for training steps; validation takes the rest.
STEPS_FRACTION = 0.9
# With fewer steps than this, from a base model and from random weights, small chips teach more: more steps count for
# more than larger pieces of the image.
ENOUGH_STEPS, ENOUGH_STEPS_FROM_RANDOM = 150, 500
# Number of stages of a base model that stay frozen then: their features are general, and steps take a fifth less.
FROZEN_STAGES = 2


@dataclass(frozen=True)
class Room:
    """The memory of a process that trains: the size that it may reach, and what is used before the first step.

    It exchanges gradients in `exchange_bytes`. Of the `ranks` that train together, `processes` share the machine.
    """

    limit_bytes: int
    used_bytes: int
    weights_bytes: int
    exchange_bytes: int = 0
    processes: int = 1
    ranks: int = 1


@dataclass(frozen=True)
class Footprint:
    """Memory of a training, for chips and batches of any size.

    The best weights so far and the copies for a checkpoint are `kept_bytes`. Live tensors after each operation of a
    step, weights included, are a constant and a slope for each pixel of a batch: (operations,), float64. Prefetched
    chips and labels take `chip_bytes_per_px` for each pixel of a step.
    """

    process_bytes: int
    library_bytes: int
    kept_bytes: int
    fixed_bytes: np.ndarray
    bytes_per_px: np.ndarray
    chip_bytes_per_px: int

    def peak_bytes(self, batch_size: int, chip_px: int, accumulation: int = 1) -> int:
        """Return the peak resident memory of the process while it trains."""
        pixels = batch_size * chip_px**2
        step = (self.fixed_bytes + GAPS * self.bytes_per_px * pixels).max()
        chips = self.chip_bytes_per_px * pixels * accumulation
        return int(self._other_bytes + step + chips)

    def most_px(self, max_bytes: int) -> int:
        """Return how many pixels a batch may have within a number of bytes of the process; 0 if none fits."""
        free = max_bytes - self._other_bytes - self.fixed_bytes
        return max(0, int((free / (GAPS * self.bytes_per_px + self.chip_bytes_per_px)).min()))

    @property
    def _other_bytes(self) -> int:
        return self.process_bytes + self.library_bytes + self.kept_bytes


@dataclass(frozen=True)
class MemoryPlan:
    """How a training fits into memory, with its estimated peak, 0 where memory is plentiful, and that in words.

    `layout` is the division into tiles or stages, if there is one: a document of the package that computes them.
    """

    is_recomputing: bool
    peak_bytes: int
    words: str
    layout: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.words


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


def room_on(engine: NativeEngine, architecture: Architecture) -> Optional[Room]:
    """Return the memory of a device for a training, in addition to what this process has; None on the CPU."""
    if not engine.is_device:
        return None
    used_bytes = psutil.Process().memory_info().rss
    weights_bytes = sum(tensor.nbytes for tensor in weights_without_memory(architecture).values())
    return Room(used_bytes + int(engine.free_bytes()), used_bytes, weights_bytes)


def fit_into_memory(
    architecture: Architecture,
    engine: NativeEngine,
    recipe: StepOptions,
    chip_px: int,
    room: Optional[Room] = None,
) -> MemoryPlan:
    """Decide whether to recompute activations, so that a training on chips fits into memory.

    `recipe.recompute` may force the choice. Nothing is measured where a bound suffices, which holds for networks that
    can recompute.

    Raises JobError if activations of this network cannot be recomputed, but are to be. Raises ResourceError if there is
    too little memory; the remedy names settings that fit.
    """
    room = room or room_for(architecture)
    if recipe.recompute == "yes":
        architecture.require_unet("Recomputed activations (recompute)")
    each = f" for each of {room.processes} processes" if room.processes > 1 else ""
    bound_bytes, limit_bytes = _bound_bytes(recipe, chip_px, architecture.in_channels, room), room.limit_bytes
    if architecture.is_unet and bound_bytes <= limit_bytes:
        need = f"{bound_bytes / 1e9:.1f} GB of memory{each}"
        words = f"Training needs less than {need}, and {limit_bytes / 1e9:.1f} GB are available."
        return MemoryPlan(recipe.recompute == "yes", 0, words)
    limit_bytes -= room.exchange_bytes
    for is_recomputing in TRIED_RECOMPUTING[recipe.recompute] if architecture.is_unet else (False,):
        footprint = measure_footprint(architecture, engine, recipe, is_recomputing)
        peak_bytes = footprint.peak_bytes(recipe.batch_size, chip_px, recipe.accumulation)
        need = f"{peak_bytes / 1e9:.1f} GB of memory{each}{', recomputing activations' * is_recomputing}"
        if peak_bytes <= limit_bytes:
            words = f"Training needs about {need}, and {limit_bytes / 1e9:.1f} GB are available."
            return MemoryPlan(is_recomputing, peak_bytes + room.exchange_bytes, words)
    raise ResourceError(
        f"Training with chips of {chip_px} px and batch size {recipe.batch_size} needs about {need}, but "
        f"only {limit_bytes / 1e9:.1f} GB are available.",
        _what_would_fit(footprint, recipe, chip_px, limit_bytes)
        + (" Or lower the number of processes (processes)." if room.processes > 1 else ""),
    )


def _bound_bytes(recipe: StepOptions, chip_px: int, bands: int, room: Room) -> int:
    pixels = recipe.batch_size * chip_px**2
    chips = BATCHES_OF_CHIPS * (4 * bands + 1) * pixels * recipe.accumulation
    return room.used_bytes + LIBRARY_BYTES + MAX_COPIES * room.weights_bytes + MAX_BYTES_PER_PX * pixels + chips


def _what_would_fit(footprint: Footprint, recipe: StepOptions, chip_px: int, limit_bytes: int) -> str:
    batch_size, chips = recipe.batch_size, recipe.batch_size * recipe.accumulation
    accumulations = {size: math.ceil(chips / size) for size in range(1, batch_size)}
    ways = [
        f"chip size (chip_px) {size_px}"
        for size_px in range(MIN_CHIP_PX, chip_px, STRIDE_PX)
        if footprint.peak_bytes(batch_size, size_px, recipe.accumulation) <= limit_bytes
    ][-1:]
    ways += [
        f"batch size (batch_size) {size} with accumulation (accumulation) {accumulation}"
        for size, accumulation in accumulations.items()
        if footprint.peak_bytes(size, chip_px, accumulation) <= limit_bytes
    ][-1:]
    if recipe.recompute == "no":
        ways.append("recompute (recompute) auto, which needs less")
    return (
        f"Choose {', or '.join(ways)}."
        if ways
        else ("Close other programs, allow more memory in RoadSeg's settings, or use a machine with more.")
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
    """See `measure_footprint`. All but `process_bytes` is the same in every process."""
    with torch.random.fork_rng(devices=[]), Ledger() as ledger:
        model = build_network(architecture)
        if is_recomputing:  # without `recompute_activations`, which would slow this process down from here on
            mix_in_recomputing(model)
        trainer = Trainer(model, engine, recipe)
        # The first step makes the optimizer's state.
        take_step(trainer, recipe.accumulation, architecture.in_channels, SMALL_CHIPS_PX[0])
        alive = []
        for size_px in SMALL_CHIPS_PX:
            began = len(ledger.alive)
            take_step(trainer, recipe.accumulation, architecture.in_channels, size_px)
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


def take_step(trainer: Trainer, chips: int, bands: int, size_px: int) -> None:
    """Take a step on empty chips of a size, in pixels, with the trainer; no weight changes."""
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


@dataclass(frozen=True)
class Fit:
    """Options of the recipe that the throughput chose, with those of the job, and why; "" if the job left none."""

    options: dict[str, int]
    reason: str = ""


def encoder_rate(job: FineTune, knows_roads: bool, labeled_px: int) -> float:
    """Return the factor on the encoder's learning rate: the job's, or the usual one if the job leaves it open.

    That depends on whether the whole network already knows the same bands and classes, and how much is labeled.
    """
    is_careful = knows_roads and labeled_px < MUCH_LABELED_PX
    return job.encoder_rate or (CAREFUL_RATE if is_careful else 1.0)


def has_choice(job: FineTune) -> bool:
    """Whether a job leaves options open, so that a step must be timed; with a number of steps, it is reproducible."""
    return not job.steps and bool(not job.chip_px or (job.frozen_stages == BY_PACE and job.base_model))


def fit_recipe(job: FineTune, step_s: Optional[float]) -> Fit:
    """Choose the options of a recipe that the job leaves open, by the steps that its time budget holds.

    A step with usual chips and no frozen stages takes `step_s`; the usual recipe is taken where it is not timed.
    """
    if step_s is None:
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
    return {
        "frozen_stages": frozen_stages if job.frozen_stages == BY_PACE else job.frozen_stages,
        "chip_px": job.chip_px or chip_px,
    }


@dataclass(frozen=True)
class Plan:
    """How a fine-tune computes on this processor and in its memory."""

    engine: NativeEngine
    fit: Fit
    memory: MemoryPlan


def plan_from_document(document: dict[str, Any]) -> Plan:
    """Return the plan of which `dataclasses.asdict` made a document."""
    return Plan(training_engine(**document["engine"]), Fit(**document["fit"]), MemoryPlan(**document["memory"]))
