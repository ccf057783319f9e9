"""Measured needs of a model: bytes and seconds for a pixel, and the width of the halo around tiles.

A halo is exact, from the receptive field, or sufficient for nearly all of the mask, measured on samples. A tile's edge
cuts off context, which matters less the farther away it is. So a sample is cut once, and the pixels that the cut
changes are counted by their distance from it.

Scope: predictors and pieces of images. Independent of files. `work_plan` decides what fits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Optional

import numpy as np
import torch
from torch import nn

from ..errors import JobError
from ..geodata.tiling import STRIDE_PX, round_up
from ..models.architectures import Architecture, build_network
from ..models.engines import BF16, FP16, FP32, INT8
from ..system.tensor_memory import GAPS, Ledger
from .inference import Predictor

# Share of a tile's mask that is to equal that of the undivided image.
AGREEMENT = 0.9999
# Core of the tiles for which the halo is measured; of larger ones, a smaller share lies near an edge.
CORE_PX = 1024
# Samples on which it is measured: their largest and their smallest side, and how many of them.
SAMPLE_PX, MIN_SAMPLE_PX, SAMPLES = 1344, 448, 3
WIDEST_PX = SAMPLE_PX // 2
# Pixels that are computed for each pixel of a sample: cut across rows and across columns, whole and in two parts.
COMPUTED = 4
# Widths of the strips on which a receptive field is measured; a wider one while it reaches the ends.
_STRIPS_PX = (2048, 4096, 8192)
# Pieces of image in memory at once: one that is computed, one that waits, and one that is read. All of them are
# normalized; the one that is read also exists as read, at most 8 bytes a value, and the one that is computed in the
# engine's memory layout.
PIECES, BYTES_AS_READ = 3, 8
# The probability of each class: the model's output, a copy of it, and the mean over symmetries.
COPIES_OF_CLASSES = 3
_SIZES_PX = (64, 128)
# Memory of oneDNN itself, and all of OpenVINO's, is hidden from the ledger of tensors; measured.
HIDDEN_BYTES_PER_PX = {FP32: 100, BF16: 270}
OPENVINO_BYTES_PER_PX = {FP32: 420, BF16: 260, FP16: 260, INT8: 200}
# Upper bound for any engine and precision, measured (benchmarks/README.md), with room for larger models.
MAX_BYTES_PER_PX = 2 * max(OPENVINO_BYTES_PER_PX.values())
# The time for a pixel hardly depends on the size from this one on (benchmarks/README.md).
TIMED_PX = 512


def bytes_per_px(predictor: Predictor) -> int:
    """Return the memory for each input pixel, in bytes, measured on two small sizes."""
    engine: Any = predictor.engine
    if isinstance(predictor.model, nn.Module):  # PyTorch runs it
        peaks = []
        for size_px in _SIZES_PX:
            images = torch.zeros(1, len(predictor.bands), size_px, size_px)
            with torch.inference_mode(), Ledger() as ledger:
                engine.forward(predictor.model, images)
            peaks.append(max(ledger.alive))
        grown = (peaks[1] - peaks[0]) / (_SIZES_PX[1] ** 2 - _SIZES_PX[0] ** 2)
        tensors = GAPS * grown + HIDDEN_BYTES_PER_PX[engine.precision]
    else:
        tensors = OPENVINO_BYTES_PER_PX[engine.precision]
    float_bytes = np.dtype(np.float32).itemsize
    values = len(predictor.bands) * ((PIECES + 1) * float_bytes + BYTES_AS_READ)
    classes = (predictor.channels - 1) * COPIES_OF_CLASSES * float_bytes
    return int(tensors + values + classes)


def seconds_per_px(predictor: Predictor) -> float:
    """Return how long the model takes for a pixel, in seconds, measured on a tile of zeros."""
    values = np.zeros((len(predictor.bands), TIMED_PX, TIMED_PX))
    known, times = np.ones((TIMED_PX, TIMED_PX), dtype=bool), []
    for _ in range(2):  # the first one also prepares weights and memory
        began_s = time.perf_counter()
        predictor.probability(values, known)
        times.append(time.perf_counter() - began_s)
    return min(times) / TIMED_PX**2


@lru_cache
def image_halo_px(architecture: Architecture) -> int:
    """Return the narrowest halo, in pixels, with which tiles give exactly the result of the undivided image.

    It is exact for any weights, and for gradients, too. Raises JobError if there is none: the receptive field is the
    whole image.
    """
    halo_px = exact_halo_px(build_network(architecture).eval(), architecture.in_channels)
    if halo_px is None:
        raise JobError(
            "With this model every pixel depends on the whole image, so no halo (halo) is exact.",
            "Choose auto or a number of pixels.",
        )
    return halo_px


def exact_halo_px(model: nn.Module, bands: int) -> Optional[int]:
    """Return the narrowest exact halo of a model, in pixels, or None if every output depends on the whole image.

    It is a multiple of the stride, for tiles that begin and end at multiples of the stride, and may be narrower than
    the receptive field of some pixels. That is measured, not computed from the layers: an input of NaN makes every
    output that depends on it NaN, with any weights. The model is in evaluation mode, with weights in FP32. Layers act
    alike along rows and columns, and their receptive fields have no holes, so a strip suffices. Strides make it differ
    from one column to the next, so each column between two multiples of the stride is tried.
    """
    halos_px = (_halo_within(model, bands, width) for width in _STRIPS_PX)
    return next((halo_px for halo_px in halos_px if halo_px is not None), None)


def _halo_within(model: nn.Module, bands: int, width: int) -> Optional[int]:
    """Return the exact halo of a model, or None if its receptive field extends beyond a strip of this width."""
    halo_px = 0
    for column in range(width // 2, width // 2 + STRIDE_PX):
        # One column is NaN; the outputs that are NaN after the pass are those that see this column.
        strip = torch.zeros(1, bands, STRIDE_PX, width).contiguous(memory_format=torch.channels_last)
        strip[..., column] = torch.nan
        with torch.inference_mode():
            affected = model(strip).isnan().any(dim=1).any(dim=1)[0].nonzero()
        first, last = int(affected[0]), int(affected[-1])
        if first == 0 or last == width - 1:
            return None
        # The last tile that needs this column to its left begins at or before `last`; to its right, ends after `first`.
        left_halo = last // STRIDE_PX * STRIDE_PX - column
        right_halo = column + 1 - (first // STRIDE_PX + 1) * STRIDE_PX
        halo_px = max(halo_px, round_up(left_halo), round_up(right_halo))
    return halo_px


def middles(
    images: Iterable[tuple[np.ndarray, np.ndarray]], most_px: float = math.inf
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the center of each of the largest images, as samples for `sufficient_halo_px`.

    Images and samples are (bands, height, width) values of any dtype and (height, width) bool where there are data.
    Measuring may compute `most_px` pixels. If time is short, samples become smaller, then fewer, and finally none.
    """
    largest = sorted(images, key=lambda image: -image[1].size)
    for count in range(min(SAMPLES, len(largest)), 0, -1):
        side_px = int(min(SAMPLE_PX, math.sqrt(most_px / COMPUTED / count))) // STRIDE_PX * STRIDE_PX
        if side_px >= MIN_SAMPLE_PX:
            for values, known in largest[:count]:
                starts = (max(0, (size - side_px) // 2) for size in known.shape)
                rows, columns = (slice(start, start + side_px) for start in starts)
                yield values[:, rows, columns], known[rows, columns]
            return


def sufficient_halo_px(predictor: Predictor, samples: Iterable[tuple[np.ndarray, np.ndarray]], threshold: float) -> int:
    """Measure the narrowest halo with which at least AGREEMENT of the mask equals that of the undivided image.

    It is a multiple of the stride in pixels, or WIDEST_PX if no narrower one suffices. Halos wider than half of the
    largest sample are not tried. Samples are typical pieces of images: (bands, height, width) values of any dtype and
    (height, width) bool where there are data. `threshold` is the probability from which a pixel is road.
    """
    changed, counted = np.zeros(WIDEST_PX), np.zeros(WIDEST_PX)
    for values, known in samples:
        for at_distance in _changes(predictor, values, known, threshold):
            depth = at_distance.shape[0]
            changed[:depth] += np.nansum(at_distance, axis=1)
            counted[:depth] += np.isfinite(at_distance).sum(axis=1)
    by_distance = changed / np.maximum(1, counted)
    # Share of a core of CORE_PX that its four edges change, if the halo keeps the cut so far away.
    beyond = 4 / CORE_PX * np.cumsum(by_distance[::-1])[::-1]
    enough = [halo for halo in range(STRIDE_PX, WIDEST_PX, STRIDE_PX) if beyond[halo] <= 1 - AGREEMENT]
    return enough[0] if enough else WIDEST_PX


def _changes(predictor: Predictor, values: np.ndarray, known: np.ndarray, threshold: float) -> Iterator[np.ndarray]:
    """Yield which pixels a cut through the center changes: on either side of it, across rows and across columns.

    Each is an array (distance from the cut, position along it): 1 changed, 0 not, NaN no data.
    """
    for turned, has_data in ((values, known), (values.transpose(0, 2, 1), known.T)):
        middle = has_data.shape[0] // 2 // STRIDE_PX * STRIDE_PX
        if not middle:
            continue
        whole = _mask(predictor, turned, has_data, threshold)
        upper = _mask(predictor, turned[:, :middle], has_data[:middle], threshold)
        lower = _mask(predictor, turned[:, middle:], has_data[middle:], threshold)
        for cut, undivided in ((lower, whole[middle:]), (upper[::-1], whole[:middle][::-1])):
            yield np.where(np.isnan(undivided), np.nan, cut != undivided)[:WIDEST_PX]


def _mask(predictor: Predictor, values: np.ndarray, known: np.ndarray, threshold: float) -> np.ndarray:
    """Return 1 for road, 0 for background, NaN for no data: (height, width) float64."""
    return np.where(known, predictor.probability(values, known) >= threshold, np.nan)
