"""Compute peaks: the most operations a second of convolutions and matrix products, by number format.

Scope: PyTorch's kernels on the processor. Independent of how they are timed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from ..system import processor
from .rates import Work

# Channels and side of 3 x 3 convolutions of a U-Net, one of which comes near the peak on any processor.
CONVOLUTION_SHAPES = ((128, 64), (256, 64), (64, 128), (512, 32))
# More threads get more images and larger matrices, or each would have too little to do.
THREADS_AN_IMAGE = 8
MATRIX_SIZES, LARGE_MATRIX_SIZES = (512, 1024), (1024, 2048)
Maker = Callable[[int], list[Work]]


def convolution_makers() -> dict[str, Maker]:
    """Return for each number format a function that makes convolutions for a number of threads, counted in FLOP."""
    floats = {name: partial(_convolutions, dtype) for name, dtype in _float_types().items()}
    return {**floats, "int8": _quantized_convolutions}


def matrix_makers() -> dict[str, Maker]:
    """Return for each number format a function that makes matrix products for a number of threads, counted in FLOP."""
    floats = {name: partial(_matrix_products, dtype) for name, dtype in _float_types().items()}
    return {**floats, "int8": _integer_matrix_products}


def _float_types() -> dict[str, torch.dtype]:
    """Return FP32, and BF16 where there is a unit for it: else one call may take seconds, and nobody would use it."""
    return {"fp32": torch.float32} | ({"bf16": torch.bfloat16} if processor.has_bf16_unit() else {})


def _convolutions(dtype: torch.dtype, threads: int) -> list[Work]:
    works = []
    for features, weights in map(partial(_convolution_arrays, threads), CONVOLUTION_SHAPES):
        x, w = (array.to(dtype).contiguous(memory_format=torch.channels_last) for array in (features, weights))
        works.append(Work(_convolution_flop(features), partial(torch.conv2d, x, w, padding=1)))
    return works


def _quantized_convolutions(threads: int) -> list[Work]:
    works = []
    for features, weights in map(partial(_convolution_arrays, threads), CONVOLUTION_SHAPES):
        x = torch.quantize_per_tensor(features, 0.05, 64, torch.quint8).contiguous(memory_format=torch.channels_last)
        w = torch.quantize_per_tensor(weights, 0.05, 0, torch.qint8)
        packed = torch.ops.quantized.conv2d_prepack(w, None, [1, 1], [1, 1], [1, 1], 1)
        works.append(Work(_convolution_flop(features), partial(torch.ops.quantized.conv2d, x, packed, 5.0, 64)))
    return works


def _convolution_arrays(threads: int, shape: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return features and weights of normal distribution, from a generator of their own."""
    channels, size_px = shape
    random = torch.Generator().manual_seed(0)
    images = -(-threads // THREADS_AN_IMAGE)
    features = torch.randn(images, channels, size_px, size_px, generator=random)
    return features, torch.randn(channels, channels, 3, 3, generator=random)


def _convolution_flop(features: torch.Tensor) -> float:
    """Return the FLOP of a 3 x 3 convolution to as many channels: two for each weight at each pixel."""
    return 2.0 * 9 * features.numel() * features.shape[1]


def _matrix_sizes(threads: int) -> tuple[int, ...]:
    return LARGE_MATRIX_SIZES if threads > THREADS_AN_IMAGE else MATRIX_SIZES


def _matrix_products(dtype: torch.dtype, threads: int) -> list[Work]:
    random = torch.Generator().manual_seed(0)
    works = []
    for size in _matrix_sizes(threads):
        a, b = (torch.randn(size, size, generator=random).to(dtype) for _ in range(2))
        works.append(Work(2.0 * size**3, partial(torch.mm, a, b, out=torch.empty_like(a))))
    return works


def _integer_matrix_products(threads: int) -> list[Work]:
    random = torch.Generator().manual_seed(0)
    works = []
    for size in _matrix_sizes(threads):
        a, b = (torch.randint(-127, 128, (size, size), generator=random).to(torch.int8) for _ in range(2))
        works.append(Work(2.0 * size**3, partial(torch._int_mm, a, b)))
    return works
