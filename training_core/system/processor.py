"""The CPU: instruction sets, cores, and the setup of a process (threads, allocator, GDAL cache) before it computes.

Scope: the machine. Independent of models and images. Imports neither torch nor numpy, since settings only count before
those are loaded.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from . import allocator, limits

# Of /proc/cpuinfo, the flags that decide between engines and precisions.
RELEVANT_FLAGS = ("amx_bf16", "amx_int8", "avx512_bf16", "avx512_vnni", "avx512f", "avx2")

# Images are read tile by tile, and each part once; GDAL's default is 5 % of all memory.
GDAL_CACHE_MB = 256


def instruction_sets() -> tuple[str, ...]:
    """Return those of RELEVANT_FLAGS that this processor has; empty where the system does not report them."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ()
    flags = next((set(line.split()) for line in text.splitlines() if line.startswith("flags")), set())
    return tuple(flag for flag in RELEVANT_FLAGS if flag in flags)


def has_bf16_unit() -> bool:
    """Whether this processor has instructions for BF16; without them it is far slower than FP32."""
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
    """Return the number of cores this process may use: those available to it, up to the limit of `limits.threads`."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, limits.threads() or available)


def prepare_process(threads: int = 0) -> None:
    """Set threads, allocator and GDAL's cache; call it before torch, numpy or rasterio is loaded.

    Without this, glibc returns every large activation to the system after use, and page faults at the next step take a
    third of the training time.

    Parameters
    ----------
    threads : int
        Cores to use; 0 means `core_count`.
    """
    count = threads or core_count()
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(count)
    os.environ["GDAL_CACHEMAX"] = str(GDAL_CACHE_MB)
    allocator.keep_freed_memory()
