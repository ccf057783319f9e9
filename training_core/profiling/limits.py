"""The machine's limits: compute peaks, memory bandwidth, start of threads, frequency under load; with its facts.

Scope: what is measured, in which order and for how long. Independent of a model.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Optional

from ..events import Reporter
from ..system import allocator, machine, memory, processor
from .compute_peaks import convolution_makers, matrix_makers
from .memory_bandwidth import array_bytes, memory_works, parallel_region_s
from .profile import Limits, Rate
from .rates import best_rate, measure_rates, thread_counts, using_threads

# Shares of the time; what is left goes to the facts.
CONVOLUTION_SHARE, MATRIX_SHARE, MEMORY_SHARE = 0.4, 0.2, 0.3
REGION_SHARE = FREQUENCY_SHARE = 0.03
FREQUENCY_READINGS = 5
_CACHE = "cache"


def measure_limits(threads: int, limit_s: float, reporter: Reporter) -> Limits:
    """Measure the limits of this machine.

    Parameters
    ----------
    threads : int
        Most threads to measure with.
    limit_s : float
        Time for all. A slow machine takes longer where this is short: everything is timed a few times.
    """
    reporter.check_cancelled()
    reporter.progress(0, "Measuring the limits of this computer")
    cpus, counts = processor.usable_cpus(), thread_counts(threads)
    idle_mhz = machine.frequency_mhz(cpus)
    facts = machine.facts()
    convolution = measure_rates(convolution_makers(), counts, CONVOLUTION_SHARE * limit_s, reporter.part(0.0, 0.4))
    matrix = measure_rates(matrix_makers(), counts, MATRIX_SHARE * limit_s, reporter.part(0.4, 0.6))
    cache_bytes = machine.last_level_cache_bytes(cpus)
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
    """Return the rate with the most threads as a share of as many times the rate of one; None without one."""
    by_threads = {rate.threads: rate.per_s for rate in rates}
    if 1 not in by_threads:
        return None
    return by_threads[max(by_threads)] / (max(by_threads) * by_threads[1])


def _bandwidth(
    cache_bytes: int, counts: Sequence[int], limit_s: float, reporter: Reporter
) -> dict[str, tuple[Rate, ...]]:
    """Return the bytes a second of memory and, where its size is known, of a triad in half of the cache as _CACHE."""
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


def _load_mhz(cpus: Sequence[int], threads: int, limit_s: float) -> Optional[float]:
    """Return the frequency while all threads multiply matrices."""
    readings = []
    with using_threads(threads), ThreadPoolExecutor(1) as pool:
        load = pool.submit(best_rate, matrix_makers()["fp32"](threads), limit_s)
        while not (load.done() and readings):
            time.sleep(limit_s / FREQUENCY_READINGS)
            readings.append(machine.frequency_mhz(cpus))
    found_mhz = [reading for reading in readings if reading is not None]
    return median(found_mhz) if found_mhz else None
