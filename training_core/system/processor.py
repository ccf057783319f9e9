"""The processor this runs on, and how a process must be set up before it computes.

Knows instruction sets, cores, the C library's allocator; knows nothing of networks. Imports neither torch nor numpy,
since what it sets only counts before those are loaded.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from . import allocator, limits

# Of /proc/cpuinfo, the flags that decide between engines and precisions.
RELEVANT_FLAGS = ("amx_bf16", "amx_int8", "avx512_bf16", "avx512_vnni", "avx512f", "avx2")

# Images are read tile by tile, and each part once; GDAL would keep a twentieth of all memory for them.
GDAL_CACHE_MB = 256


def instruction_sets() -> tuple[str, ...]:
    """Return those of RELEVANT_FLAGS that this processor has; empty where the system does not tell."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ()
    flags = next((set(line.split()) for line in text.splitlines() if line.startswith("flags")), set())
    return tuple(flag for flag in RELEVANT_FLAGS if flag in flags)


def has_bf16_unit() -> bool:
    """Whether this processor computes in BF16 faster than in FP32; without such a unit it is far slower."""
    return any(flag in instruction_sets() for flag in ("amx_bf16", "avx512_bf16"))


def name() -> str:
    """Return the processor's name with its number of usable cores and its instruction sets."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{model}, {core_count()} cores, {' '.join(instruction_sets()) or 'instruction sets unknown'}"


def core_count() -> int:
    """Return the number of cores this process may use: those that are there, or as many of them as it is told to."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(there, limits.threads() or there)


def prepare_process(threads: int = 0) -> None:
    """Set threads, allocator and GDAL's cache; call it before torch, numpy or rasterio is loaded.

    Without this, glibc gives every large activation back to the system after use, and maps and faults it anew at
    the next step: a third of the training time.

    Parameters
    ----------
    threads : int
        Cores to use; 0 means all that may be.
    """
    count = threads or core_count()
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(count)
    os.environ["GDAL_CACHEMAX"] = str(GDAL_CACHE_MB)
    allocator.keep_freed_memory()
