"""The machine's limits: compute peaks, memory bandwidth, start of threads, frequency under load; with its facts.

Bytes count as in STREAM (McCalpin, 1995): each array once, without the reading of lines that are about to be written.

Scope: PyTorch's kernels on this processor. Independent of a model, and of how operations are timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median
from typing import Optional

import torch

from ..events import Reporter
from ..system import allocator, memory, processor
from . import machine_facts
from .profile import Limits, Rate
from .timing import Work, best_rate, best_times_s, measure_rates, thread_counts, using_threads

# Fractions of the time; the rest goes to the facts.
CONVOLUTION_SHARE, MATRIX_SHARE, MEMORY_SHARE = 0.4, 0.2, 0.3
REGION_SHARE = FREQUENCY_SHARE = 0.03
FREQUENCY_READINGS = 5
_CACHE = "cache"
# Channels and side of 3 x 3 convolutions of a U-Net, one of which comes near the peak on any processor.
CONVOLUTION_SHAPES = ((128, 64), (256, 64), (64, 128), (512, 32))
# More threads get more images and larger matrices, or each would have too little to do.
THREADS_PER_IMAGE = 8
MATRIX_SIZES, LARGE_MATRIX_SIZES = (512, 1024), (1024, 2048)
MAX_ARRAYS_BYTES, MAX_SHARE_OF_MEMORY = 1 << 30, 1 / 4
# STREAM's rule is four times the cache; where that is unknown or small, four times this.
MIN_CACHE_BYTES = 16 << 20
# Elements that PyTorch gives a thread at least, and additions timed at once: one takes about a microsecond.
GRAIN, ADDITIONS = 1 << 15, 100
Maker = Callable[[int], list[Work]]


def measure_limits(threads: int, limit_s: float, reporter: Reporter) -> Limits:
    """Measure the limits of this machine with `threads` threads at most.

    Everything is timed a few times, so a slow machine takes longer than `limit_s` if this is short.
    """
    reporter.check_cancelled()
    reporter.progress(0, "Measuring the limits of this computer")
    cpus, counts = processor.usable_cpus(), thread_counts(threads)
    idle_mhz = machine_facts.frequency_mhz(cpus)
    facts = machine_facts.facts()
    convolution = measure_rates(convolution_makers(), counts, CONVOLUTION_SHARE * limit_s, reporter.part(0.0, 0.4))
    matrix = measure_rates(matrix_makers(), counts, MATRIX_SHARE * limit_s, reporter.part(0.4, 0.6))
    cache_bytes = machine_facts.last_level_cache_bytes(cpus)
    bandwidth = _bandwidth(cache_bytes, counts, MEMORY_SHARE * limit_s, reporter.part(0.6, 0.9))
    cache_per_s = max((rate.per_s for rate in bandwidth.pop(_CACHE, ())), default=0.0)
    reporter.check_cancelled()
    region_s = parallel_region_s(threads, REGION_SHARE * limit_s)
    reporter.check_cancelled()
    load_mhz = None if idle_mhz is None else _load_mhz(cpus, threads, FREQUENCY_SHARE * limit_s)
    reporter.progress(1)
    measured = {
        "frequency_idle_mhz": idle_mhz,
        "frequency_load_mhz": load_mhz,
        "scaling": scaling(convolution.get("fp32", ())),
    }
    return Limits(convolution, matrix, bandwidth, cache_per_s, cache_bytes, region_s, {**facts, **measured})


def scaling(rates: Sequence[Rate]) -> Optional[float]:
    """Return the rate with the most threads, divided by that of as many single threads; None if one is unmeasured."""
    by_threads = {rate.threads: rate.per_s for rate in rates}
    if 1 not in by_threads:
        return None
    return by_threads[max(by_threads)] / (max(by_threads) * by_threads[1])


def convolution_makers() -> dict[str, Maker]:
    """Return for each number format a function that makes convolutions for a number of threads, counted in FLOP."""
    return {name: partial(_convolutions, dtype) for name, dtype in _formats().items()}


def matrix_makers() -> dict[str, Maker]:
    """Return for each number format a function that makes matrix products for a number of threads, counted in FLOP."""
    return {name: partial(_matrix_products, dtype) for name, dtype in _formats().items()}


def _formats() -> dict[str, torch.dtype]:
    """Return FP32, INT8, and BF16 where there is a unit for it: without one, a single call may take seconds."""
    bf16 = {"bf16": torch.bfloat16} if processor.has_bf16_unit() else {}
    return {"fp32": torch.float32, **bf16, "int8": torch.int8}


def _convolutions(dtype: torch.dtype, threads: int) -> list[Work]:
    works = []
    images = -(-threads // THREADS_PER_IMAGE)
    for channels, size_px in CONVOLUTION_SHAPES:
        random = torch.Generator().manual_seed(0)
        x = torch.randn(images, channels, size_px, size_px, generator=random)
        w = torch.randn(channels, channels, 3, 3, generator=random)
        flop = 2.0 * x.numel() * w[0].numel()  # two for each weight at each pixel
        run: Callable[[], object]
        if dtype == torch.int8:
            x = torch.quantize_per_tensor(x, 0.05, 64, torch.quint8).contiguous(memory_format=torch.channels_last)
            w = torch.quantize_per_tensor(w, 0.05, 0, torch.qint8)
            packed = torch.ops.quantized.conv2d_prepack(w, None, [1, 1], [1, 1], [1, 1], 1)
            run = partial(torch.ops.quantized.conv2d, x, packed, 5.0, 64)
        else:
            x, w = (array.to(dtype).contiguous(memory_format=torch.channels_last) for array in (x, w))
            run = partial(torch.conv2d, x, w, padding=1)
        works.append(Work(flop, run))
    return works


def _matrix_products(dtype: torch.dtype, threads: int) -> list[Work]:
    random = torch.Generator().manual_seed(0)
    works = []
    for size in LARGE_MATRIX_SIZES if threads > THREADS_PER_IMAGE else MATRIX_SIZES:
        run: Callable[[], object]
        if dtype == torch.int8:
            a, b = (torch.randint(-127, 128, (size, size), generator=random).to(dtype) for _ in range(2))
            run = partial(torch._int_mm, a, b)
        else:
            a, b = (torch.randn(size, size, generator=random).to(dtype) for _ in range(2))
            run = partial(torch.mm, a, b, out=torch.empty_like(a))
        works.append(Work(2.0 * size**3, run))
    return works


def array_bytes(cache_bytes: int, available_bytes: int) -> int:
    """Return the size of each of three arrays to measure memory with: four times the last-level cache.

    It is less where memory is short or the cache very large: there it counts as memory. An unknown cache is 0.
    """
    limit_bytes = min(MAX_ARRAYS_BYTES, int(available_bytes * MAX_SHARE_OF_MEMORY)) // 3
    return min(4 * max(cache_bytes, MIN_CACHE_BYTES), limit_bytes)


def memory_works(size_bytes: int) -> dict[str, Work]:
    """Return a triad, a read and a copy of FP32 arrays of this size each; all threads touch their memory."""
    a, b, c = (torch.full((size_bytes // 4,), float(value)) for value in range(3))
    bytes_each = 4.0 * a.numel()
    return {
        "triad": Work(3 * bytes_each, partial(torch.add, b, c, alpha=3.0, out=a)),
        "read": Work(bytes_each, b.sum),
        "copy": Work(2 * bytes_each, partial(a.copy_, b)),
    }


def _bandwidth(
    cache_bytes: int, counts: Sequence[int], limit_s: float, reporter: Reporter
) -> dict[str, tuple[Rate, ...]]:
    """Return bytes per second of memory and, where its size is known, of a triad in half of the cache as _CACHE."""
    began_s = time.perf_counter()
    with using_threads(max(counts)):
        works = memory_works(array_bytes(cache_bytes, memory.available_bytes()))
        if cache_bytes:
            works[_CACHE] = memory_works(cache_bytes // 2 // 3)["triad"]  # three arrays
    makers = {name: lambda threads, work=work: [work] for name, work in works.items()}
    rates = measure_rates(makers, counts, limit_s - (time.perf_counter() - began_s), reporter)
    del works, makers
    allocator.give_free_blocks_back()
    return rates


def parallel_region_s(threads: int, limit_s: float) -> float:
    """Return the time to start an OpenMP region and wait for its end, in seconds; 0 for one thread.

    It is the difference between an addition with all threads and one with a single thread, for the same number of
    elements per thread: few enough to stay in the fastest cache.
    """
    if threads == 1:
        return 0.0
    times_s = []
    for count in (threads, 1):
        elements = torch.zeros(count * GRAIN, dtype=torch.uint8)
        with using_threads(count), torch.inference_mode():
            times_s += best_times_s([partial(_add_often, elements)], limit_s / 2)
    return max(0.0, (times_s[0] - times_s[1]) / ADDITIONS)


def _add_often(elements: torch.Tensor) -> None:
    for _ in range(ADDITIONS):
        elements.add_(1)


def _load_mhz(cpus: Sequence[int], threads: int, limit_s: float) -> Optional[float]:
    """Return the frequency while all threads multiply matrices."""
    readings: list[Optional[float]] = []
    with using_threads(threads), ThreadPoolExecutor(1) as pool:
        load = pool.submit(best_rate, matrix_makers()["fp32"](threads), limit_s)
        while not (load.done() and readings):
            time.sleep(limit_s / FREQUENCY_READINGS)
            readings.append(machine_facts.frequency_mhz(cpus))
    known_mhz = [reading for reading in readings if reading is not None]
    return median(known_mhz) if known_mhz else None
