"""Sizes of tiles: the largest that fits into memory because large tiles waste least on halos, and that of the trial.

Scope: predictors, bytes per pixel, the memory budget. Independent of files.
"""

from __future__ import annotations

import math
from typing import Optional

import numpy as np
import torch

from ..errors import ResourceError
from ..geodata.tiling import STRIDE_PX, tile_grid
from ..models.engines import BF16, ENGINES, FP32, INT8, TRIAL_STEPS, NativeEngine
from ..system import environment
from ..system.memory import available_bytes
from ..system.tensor_memory import GAPS, Ledger
from .inference import Predictor, padded_size
from .work_plan import ImagePlan

# Share of the free memory that a job may take by default.
MAX_FREE_SHARE = 0.25
# What the libraries allocate once they compute.
LIBRARY_BYTES = 120_000_000
# Pieces of image at once: one that is computed, one that waits, and one that is read.
PIECES = 3
# All of them are normalized; the one that is read also exists as read, at most 8 bytes a value, and the one that is
# computed in the engine's memory layout.
BYTES_AS_READ = 8
# The probability of each class: the model's output, a copy of it, and the mean over symmetries.
COPIES_OF_CLASSES = 3
# Beyond the largest, what halos save is lost on the first and the last tile, with which little other work overlaps.
MIN_CORE_PX, MAX_CORE_PX = 256, 2048
_SIZES_PX = (64, 128)
# Memory of oneDNN itself, and all of OpenVINO's, is hidden from the ledger of tensors; measured.
HIDDEN_BYTES_PER_PX = {FP32: 100, BF16: 270}
OPENVINO_BYTES_PER_PX = {FP32: 420, BF16: 260, INT8: 200}
# At most, of any engine and precision; measured (benchmarks/README.md), with room for larger models.
MAX_BYTES_PER_PX = 2 * max(OPENVINO_BYTES_PER_PX.values())
# Of the job's pixels, how many may be computed for the trial of engines, and below which size a trial says nothing of
# the job's tiles.
MAX_TRIAL_SHARE, MIN_TRIAL_PX = 0.05, 256**2


def default_budget_bytes() -> int:
    """Return how many bytes a job may take by default: the limit of the environment, or a share of the free memory."""
    limit_bytes = environment.memory_bytes()
    return int(MAX_FREE_SHARE * available_bytes()) if limit_bytes is None else min(limit_bytes, available_bytes())


def bytes_per_px(predictor: Predictor) -> int:
    """Return the memory for each input pixel, in bytes, measured on two small sizes."""
    engine = predictor.engine
    if isinstance(engine, NativeEngine):
        tensors = GAPS * _tensor_bytes_per_px(predictor, engine) + HIDDEN_BYTES_PER_PX[engine.precision]
    else:
        tensors = OPENVINO_BYTES_PER_PX[engine.precision]
    float_bytes = np.dtype(np.float32).itemsize
    values = len(predictor.bands) * ((PIECES + 1) * float_bytes + BYTES_AS_READ)
    classes = (predictor.channels - 1) * COPIES_OF_CLASSES * float_bytes
    return int(tensors + values + classes)


def _tensor_bytes_per_px(predictor: Predictor, engine: NativeEngine) -> float:
    peaks = []
    for size_px in _SIZES_PX:
        images = torch.zeros(1, len(predictor.bands), size_px, size_px)
        with torch.inference_mode(), Ledger() as ledger:
            engine.forward(predictor.model, images)
        peaks.append(max(ledger.alive))
    return (peaks[1] - peaks[0]) / (_SIZES_PX[1] ** 2 - _SIZES_PX[0] ** 2)


def px(predictor: Predictor, budget_bytes: int) -> int:
    """Return how many pixels, halos included, fit into a budget at once."""
    return max(0, budget_bytes - LIBRARY_BYTES) // bytes_per_px(predictor)


def core_px(predictor: Predictor, halo: int, budget_bytes: int) -> int:
    """Return the side of the largest core in pixels, a multiple of the stride, whose tile with halo fits into a budget.

    Raises
    ------
    ResourceError
        Not even the smallest tile fits.
    """
    side = int(px(predictor, budget_bytes) ** 0.5) - 2 * halo
    if side >= MIN_CORE_PX:
        return min(MAX_CORE_PX, side // STRIDE_PX * STRIDE_PX)
    least_gb = (LIBRARY_BYTES + bytes_per_px(predictor) * (MIN_CORE_PX + 2 * halo) ** 2) / 1e9
    raise ResourceError(
        f"The smallest tiles need {least_gb:.1f} GB of memory, but {budget_bytes / 1e9:.1f} GB may be used.",
        "Give more memory (memory_gb), choose a smaller halo (halo), or close other programs.",
    )


def trial_size(sample: ImagePlan, core_px: int, halo: int, job_px: int, budget_bytes: int) -> Optional[tuple[int, int]]:
    """Return the height and width of the image on which engines are tried: multiples of the stride in pixels.

    They are those of the tile, or in its proportions as large as memory and time allow for a job of `job_px`. None
    where the job is too small for a trial.
    """
    tile = next(tile_grid(sample.grid.width, sample.grid.height, core_px, halo, sample.window), None)
    if tile is None:
        return None
    height, width = padded_size(tile.read_window[:1:-1])
    steps = (TRIAL_STEPS + 1) * len(ENGINES)
    time_px, memory_px = MAX_TRIAL_SHARE * job_px / steps, (budget_bytes - LIBRARY_BYTES) / MAX_BYTES_PER_PX
    most_px = min(time_px, memory_px)
    if most_px >= height * width:
        return height, width
    if most_px < MIN_TRIAL_PX:
        return None
    shrunk = math.sqrt(most_px / (height * width))
    height, width = (max(STRIDE_PX, int(shrunk * side) // STRIDE_PX * STRIDE_PX) for side in (height, width))
    return height, width
