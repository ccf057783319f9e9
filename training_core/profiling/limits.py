"""The machine's limits: compute peaks, memory bandwidth, start of threads, frequency under load; with its facts.

Bytes count as in STREAM (McCalpin, 1995): each array once, without the reading of lines that are about to be written.

Scope: PyTorch's kernels on this processor. Independent of a model.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import torch

from ..events import Reporter
from ..system import memory, processor
from . import machine_facts
from .profile import Limits, Rate

# Fractions of the time; the rest goes to the facts.
_CONVOLUTION_SHARE, _MATRIX_SHARE, _MEMORY_SHARE = 0.4, 0.2, 0.3
_REGION_SHARE = _FREQUENCY_SHARE = 0.03
_MAX_COUNTS = 5
# One timing may be disturbed by another process, and one measurement by something that takes a second.
_MIN_TURNS, _PASSES = 3, 2
_CACHE = "cache"
# Channels and side of 3 x 3 convolutions of a U-Net, one of which comes near the peak on any processor.
_CONVOLUTION_SHAPES = ((128, 64), (256, 64), (64, 128), (512, 32))
# More threads get more images and larger matrices, or each would have too little to do.
_THREADS_PER_IMAGE = 8
_MATRIX_SIZES, _LARGE_MATRIX_SIZES = (512, 1024), (1024, 2048)
_MAX_ARRAYS_BYTES, _MAX_SHARE_OF_MEMORY = 1 << 30, 1 / 4
# STREAM's rule is four times the cache; where that is unknown or small, four times this.
_MIN_CACHE_BYTES = 16 << 20
# Elements that PyTorch gives a thread at least, and additions timed at once: one takes about a microsecond.
_GRAIN, _ADDITIONS = 1 << 15, 100

# An operation that can be timed, after the FLOP or bytes of one call.
Work = tuple[float, Callable[[], object]]
# Takes a number of threads, and returns operations, the fastest of which counts.
Maker = Callable[[int], Sequence[Work]]


def measure_limits(threads: int, limit_s: float, reporter: Reporter) -> Limits:
    """Measure the limits of this machine with `threads` threads at most.

    Everything is timed a few times, so a slow machine takes longer than `limit_s` if this is short.
    """
    reporter.step(0, "Measuring the limits of this computer")
    cpus, counts = processor.usable_cpus(), thread_counts(threads)
    cache_bytes = machine_facts.last_level_cache_bytes(cpus)
    facts = {**machine_facts.facts(), "frequency_idle_mhz": machine_facts.frequency_mhz(cpus)}
    # PyTorch is about to lose its INT8 convolutions, and INT8 products peak as high.
    works = {name: partial(convolutions, dtype) for name, dtype in formats().items()}
    convolution = measure_rates(works, counts, _CONVOLUTION_SHARE * limit_s, reporter.part(0.0, 0.4))
    works = {name: partial(matrix_products, dtype) for name, dtype in {**formats(), "int8": torch.int8}.items()}
    matrix = measure_rates(works, counts, _MATRIX_SHARE * limit_s, reporter.part(0.4, 0.6))
    memory_works = _memory_makers(cache_bytes, threads)
    bandwidth = measure_rates(memory_works, counts, _MEMORY_SHARE * limit_s, reporter.part(0.6, 0.9))
    del memory_works
    memory.give_free_blocks_back()
    cache_per_s = max((rate.per_s for rate in bandwidth.pop(_CACHE, ())), default=0.0)
    reporter.check_cancelled()
    region_s = parallel_region_s(threads, _REGION_SHARE * limit_s)
    reporter.check_cancelled()
    with _using_threads(threads), ThreadPoolExecutor(1) as pool:
        load = pool.submit(best_rate, matrix_products(torch.float32, threads), _FREQUENCY_SHARE * limit_s)
        time.sleep(_FREQUENCY_SHARE * limit_s / 2)
        facts["frequency_load_mhz"] = machine_facts.frequency_mhz(cpus)
        load.result()
    reporter.progress(1)
    return Limits(convolution, matrix, bandwidth, cache_per_s, cache_bytes, region_s, facts)


def thread_counts(threads: int) -> tuple[int, ...]:
    """Return the numbers of threads to measure with: powers of two from 1 on and `threads`, five at most."""
    counts = [1 << power for power in range(threads.bit_length()) if 1 << power < threads] + [threads]
    last = len(counts) - 1
    return tuple(dict.fromkeys(counts[round(place * last / (_MAX_COUNTS - 1))] for place in range(_MAX_COUNTS)))


@contextmanager
def _using_threads(threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def best_s(operation: Callable[[], object], limit_s: float) -> float:
    """Return the best time of an operation in seconds, of a few calls at least, after a first one that does not count.

    No further call begins after `limit_s`.
    """
    deadline_s, best, turn = time.perf_counter() + limit_s, math.inf, 0
    operation()
    while turn < _MIN_TURNS or time.perf_counter() < deadline_s:
        began_s = time.perf_counter()
        operation()
        best, turn = min(best, time.perf_counter() - began_s), turn + 1
    return best


def best_rate(works: Sequence[Work], limit_s: float) -> float:
    """Return the best work per second of some operations, timed in about `limit_s`."""
    return max(amount / best_s(run, limit_s / len(works)) for amount, run in works)


def measure_rates(
    makers: Mapping[str, Maker], counts: Sequence[int], limit_s: float, reporter: Reporter
) -> dict[str, tuple[Rate, ...]]:
    """Measure rates by number of threads, apart from what this PyTorch cannot compute.

    Each measurement gets an equal part of what is left of `limit_s`.
    """
    deadline_s = time.perf_counter() + limit_s
    measurements = [(name, threads) for _ in range(_PASSES) for name in makers for threads in counts]
    best: dict[str, dict[int, float]] = {name: dict.fromkeys(counts, 0.0) for name in makers}
    for done, (name, threads) in enumerate(measurements):
        reporter.step(done / len(measurements))
        part_s = (deadline_s - time.perf_counter()) / (len(measurements) - done)
        if name not in best or (part_s <= 0 and best[name][threads]):
            continue
        try:
            with _using_threads(threads), torch.inference_mode():
                best[name][threads] = max(best_rate(makers[name](threads), part_s), best[name][threads])
        except (RuntimeError, AttributeError):  # no kernel for this processor, or no such operator
            del best[name]
    return {name: tuple(Rate(*rate) for rate in rates.items()) for name, rates in best.items()}


def formats() -> dict[str, torch.dtype]:
    """Return FP32, and BF16 where there is a unit for it: without one, a single call may take seconds."""
    return {"fp32": torch.float32, **({"bf16": torch.bfloat16} if processor.has_bf16_unit() else {})}


def convolutions(dtype: torch.dtype, threads: int) -> list[Work]:
    """Return convolutions of a U-Net for a number of threads, counted in FLOP."""
    works: list[Work] = []
    images = -(-threads // _THREADS_PER_IMAGE)
    for channels, size_px in _CONVOLUTION_SHAPES:
        random = torch.Generator().manual_seed(0)
        x = torch.randn(images, channels, size_px, size_px, generator=random)
        w = torch.randn(channels, channels, 3, 3, generator=random)
        flop = 2.0 * x.numel() * w[0].numel()  # two for each weight at each pixel
        x, w = (array.to(dtype).contiguous(memory_format=torch.channels_last) for array in (x, w))
        works.append((flop, partial(torch.conv2d, x, w, padding=1)))
    return works


def matrix_products(dtype: torch.dtype, threads: int) -> list[Work]:
    """Return matrix products for a number of threads, counted in FLOP."""
    random = torch.Generator().manual_seed(0)
    works: list[Work] = []
    for size in _LARGE_MATRIX_SIZES if threads > _THREADS_PER_IMAGE else _MATRIX_SIZES:
        if dtype == torch.int8:
            a, b = (torch.randint(-127, 128, (size, size), generator=random).to(dtype) for _ in range(2))
            works.append((2.0 * size**3, partial(torch._int_mm, a, b)))
        else:
            a, b = (torch.randn(size, size, generator=random).to(dtype) for _ in range(2))
            works.append((2.0 * size**3, partial(torch.mm, a, b, out=torch.empty_like(a))))
    return works


def _memory_makers(cache_bytes: int, threads: int) -> dict[str, Maker]:
    """Return what measures memory and, where its size is known, half of the cache, as _CACHE.

    Arrays of memory have four times the size of the last-level cache. They are smaller where memory is short or the
    cache very large: there it counts as memory.
    """
    most_bytes = min(_MAX_ARRAYS_BYTES, int(memory.available_bytes() * _MAX_SHARE_OF_MEMORY)) // 3
    with _using_threads(threads):
        works = bandwidth_works(min(4 * max(cache_bytes, _MIN_CACHE_BYTES), most_bytes))
        if cache_bytes:
            works[_CACHE] = bandwidth_works(cache_bytes // 2 // 3)["triad"]  # three arrays
    return {name: partial(_same, work) for name, work in works.items()}


def _same(work: Work, threads: int) -> list[Work]:
    return [work]


def bandwidth_works(size_bytes: int) -> dict[str, Work]:
    """Return a triad and a read of FP32 arrays of this size each; all threads touch their memory."""
    a, b, c = (torch.full((size_bytes // 4,), float(value)) for value in range(3))
    bytes_each = 4.0 * a.numel()
    return {"triad": (3 * bytes_each, partial(torch.add, b, c, alpha=3.0, out=a)), "read": (bytes_each, b.sum)}


def parallel_region_s(threads: int, limit_s: float) -> float:
    """Return the time to start an OpenMP region and wait for its end, in seconds; 0 for one thread.

    It is the difference between an addition with all threads and one with a single thread, for the same number of
    elements per thread: few enough to stay in the fastest cache.
    """
    if threads == 1:
        return 0.0
    times_s = []
    for count in (threads, 1):
        elements = torch.zeros(count * _GRAIN, dtype=torch.uint8)
        with _using_threads(count), torch.inference_mode():
            times_s.append(best_s(partial(_add_often, elements), limit_s / 2))
    return max(0.0, (times_s[0] - times_s[1]) / _ADDITIONS)


def _add_often(elements: torch.Tensor) -> None:
    for _ in range(_ADDITIONS):
        elements.add_(1)
