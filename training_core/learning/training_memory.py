"""Memory of a training: predicted from a few steps on small chips, and whether activations must be recomputed.

The real trainer takes the steps, while the bytes of all live tensors are recorded after each operation. The operations
are the same for any chip size, so the record at two sizes extrapolates linearly to any other.

Scope: trainers and recipes. Independent of files.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import psutil
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ..errors import ResourceError
from ..geodata.tiling import STRIDE_PX
from ..jobs import StepOptions
from ..models.architectures import Architecture, build_network, weights_without_memory
from ..models.engines import IPEX, NativeEngine
from ..models.recompute import mix_in_recomputing
from ..system import environment
from ..system.allocator import give_free_blocks_back
from ..system.memory import available_bytes
from ..system.tensor_memory import GAPS, Ledger
from .trainer import Trainer

SMALL_CHIPS_PX = (64, 128)
MIN_CHIP_PX = 64
# Batches of chips in memory: the one in use, three that wait, and one that is being drawn.
BATCHES_OF_CHIPS = 5
# Memory of the libraries once they compute: measured with glibc and two threads.
LIBRARY_BYTES = 115_000_000
# Copies of the weights that the extension makes outside of any recorded operation.
EXTENSION_COPIES = 3
# Bounds of the memory of a training of a U-Net, twice that of the largest ResNet as measured: for each pixel of a
# batch, and in copies of the weights. If as much is free, nothing is measured, which would take seconds.
MAX_BYTES_PER_PX, MAX_COPIES = 7000, 20
# Copies of the weights that the exchange of gradients between processes takes.
EXCHANGE_COPIES = 3
# By the option `recompute`: with and without recomputed activations, in the order in which they are tried.
TRIED_RECOMPUTING = {"auto": (False, True), "no": (False,), "yes": (True,)}
# Fraction of the free memory that a training may take; the rest is for the system, and for errors of the estimate.
SHARE_OF_FREE = 0.9


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


@dataclass(frozen=True)
class MemoryPlan:
    """How a training fits into the available memory, with its estimated peak; 0 where memory is plentiful."""

    is_recomputing: bool
    peak_bytes: int


def plan_memory(
    architecture: Architecture,
    engine: NativeEngine,
    recipe: StepOptions,
    chip_px: int,
    log: Callable[[str], None],
    processes: int = 1,
) -> MemoryPlan:
    """Decide whether to recompute activations, so that trainings of `processes` fit into this machine's memory.

    `recipe.recompute` may force the choice.

    Raises
    ------
    ResourceError
        There is too little memory; the remedy names settings that fit.
    """
    each = f" for each of {processes} processes" if processes > 1 else ""
    limit_bytes, bound_bytes = max_bytes(processes), _bound_bytes(architecture, recipe, chip_px)
    if architecture.is_resnet_unet and bound_bytes <= limit_bytes:
        log(
            f"Training needs less than {bound_bytes / 1e9:.1f} GB of memory{each}, and {limit_bytes / 1e9:.1f} GB are "
            "available."
        )
        return MemoryPlan(recipe.recompute == "yes", 0)
    sent_bytes = exchange_bytes(architecture, processes)
    ways = TRIED_RECOMPUTING[recipe.recompute]
    for is_recomputing in ways if architecture.is_resnet_unet else (False,):
        footprint = measure_footprint(architecture, engine, recipe, is_recomputing)
        limit_bytes = max_bytes(processes) - sent_bytes
        peak_bytes = footprint.peak_bytes(recipe.batch_size, chip_px, recipe.accumulation)
        need = f"{peak_bytes / 1e9:.1f} GB of memory{each}{', recomputing activations' * is_recomputing}"
        if peak_bytes <= limit_bytes:
            log(f"Training needs about {need}, and {limit_bytes / 1e9:.1f} GB are available.")
            return MemoryPlan(is_recomputing, peak_bytes + sent_bytes)
    raise ResourceError(
        f"Training with chips of {chip_px} px and batch size {recipe.batch_size} needs about {need}, but only "
        f"{limit_bytes / 1e9:.1f} GB are available.",
        _what_would_fit(footprint, recipe, chip_px, limit_bytes)
        + (" Or lower the number of processes (processes)." if processes > 1 else ""),
    )


def _bound_bytes(architecture: Architecture, recipe: StepOptions, chip_px: int) -> int:
    """Return an upper bound of the peak memory of the process, without a measurement."""
    pixels = recipe.batch_size * chip_px**2
    chips = BATCHES_OF_CHIPS * (4 * architecture.in_channels + 1) * pixels * recipe.accumulation
    used = psutil.Process().memory_info().rss + LIBRARY_BYTES
    return used + MAX_COPIES * _weights_bytes(architecture) + MAX_BYTES_PER_PX * pixels + chips


def exchange_bytes(architecture: Architecture, ranks: int) -> int:
    """Return the memory of a rank that exchanges gradients with others; 0 without others."""
    return EXCHANGE_COPIES * _weights_bytes(architecture) * (ranks > 1)


def _weights_bytes(architecture: Architecture) -> int:
    return sum(tensor.nbytes for tensor in weights_without_memory(architecture).values())


def max_bytes(processes: int = 1) -> int:
    """Return the largest size that this process may reach if a number of them share the machine."""
    available = psutil.Process().memory_info().rss + int(SHARE_OF_FREE * available_bytes() / processes)
    limit = environment.memory_bytes()
    return available if limit is None else min(available, limit // processes)


def _what_would_fit(footprint: Footprint, recipe: StepOptions, chip_px: int, limit_bytes: int) -> str:
    """Return a remedy: the largest chips for this batch, the largest batch for these chips."""
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
