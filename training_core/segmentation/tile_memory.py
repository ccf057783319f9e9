"""How large tiles may be: large ones waste least on halos, but what they take must fit the memory.

Knows predictors and memory; knows nothing of files.
"""

from __future__ import annotations

import numpy as np
import torch

from ..errors import ResourceError
from ..geodata.tiling import STRIDE_PX
from ..models.engines import BF16, FP32, INT8, OPENVINO
from ..system import limits
from ..system.memory import available_bytes
from ..system.tensor_memory import GAPS, Ledger
from .inference import Predictor

# Of the free memory, what a job may take that is told no number.
SHARE_OF_FREE = 0.25
# What the libraries set aside once they compute.
LIBRARY_BYTES = 120_000_000
# Pieces of image at once: the one that is computed, one that waits, and one that is being read.
PIECES = 3
# Each of them is scaled by then; the one being read is there as read, too, at most 8 bytes a value, and the one that is
# computed as it is laid out for the engine.
BYTES_AS_READ = 8
# The probability of each class, as the network gives it, as a copy of its own, and as the mean over symmetries.
COPIES_OF_CLASSES = 3
# Beyond the largest, what is saved on halos is lost on the first tile and the last, of which little overlaps.
SMALLEST_CORE_PX, LARGEST_CORE_PX = 256, 2048
_SIZES_PX = (64, 128)
# What oneDNN takes for itself, and OpenVINO for all, is seen by no ledger; found by measurement.
HIDDEN_BYTES_PER_PX = {FP32: 100, BF16: 270}
OPENVINO_BYTES_PER_PX = {FP32: 420, BF16: 260, INT8: 200}


def default_budget_bytes() -> int:
    """Return what a job may take that is told no number."""
    told_bytes = limits.memory_bytes()
    return int(SHARE_OF_FREE * available_bytes()) if told_bytes is None else min(told_bytes, available_bytes())


def bytes_per_px(predictor: Predictor) -> int:
    """Return what the computation takes for each pixel that enters the network, from a try on two small sizes."""
    if predictor.engine.name == OPENVINO:
        tensors = OPENVINO_BYTES_PER_PX[predictor.engine.precision]
    else:
        tensors = GAPS * _tensor_bytes_per_px(predictor) + HIDDEN_BYTES_PER_PX[predictor.engine.precision]
    float_bytes = np.dtype(np.float32).itemsize
    values = len(predictor.bands) * ((PIECES + 1) * float_bytes + BYTES_AS_READ)
    classes = (predictor.channels - 1) * COPIES_OF_CLASSES * float_bytes
    return int(tensors + values + classes)


def _tensor_bytes_per_px(predictor: Predictor) -> float:
    peaks = []
    for size_px in _SIZES_PX:
        images = torch.zeros(1, len(predictor.bands), size_px, size_px)
        with torch.inference_mode(), Ledger() as ledger:
            predictor.engine.forward(predictor.model, images)
        peaks.append(max(ledger.alive))
    return (peaks[1] - peaks[0]) / (_SIZES_PX[1] ** 2 - _SIZES_PX[0] ** 2)


def px(predictor: Predictor, budget_bytes: int) -> int:
    """Return how many pixels, with their halos, may be computed at once within a budget."""
    return max(0, budget_bytes - LIBRARY_BYTES) // bytes_per_px(predictor)


def core_px(predictor: Predictor, halo: int, budget_bytes: int) -> int:
    """Return the side of the largest core whose tile fits a budget.

    Raises
    ------
    ResourceError
        Not even the smallest fits.
    """
    side = int(px(predictor, budget_bytes) ** 0.5) - 2 * halo
    if side >= SMALLEST_CORE_PX:
        return min(LARGEST_CORE_PX, side // STRIDE_PX * STRIDE_PX)
    least_gb = (LIBRARY_BYTES + bytes_per_px(predictor) * (SMALLEST_CORE_PX + 2 * halo) ** 2) / 1e9
    raise ResourceError(
        f"The smallest tiles need {least_gb:.1f} GB of memory, but {budget_bytes / 1e9:.1f} GB may be used.",
        "Give more memory (memory_gb), choose a smaller halo (halo), or close other programs.",
    )
