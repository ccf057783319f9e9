"""The CPU: instruction sets, cores, and the setup of a process (threads, allocator, GDAL) before it computes.

Scope: the machine. Independent of models and images. Loads neither torch nor numpy before it is asked for
instruction sets, since settings only count before those are loaded.
"""

from __future__ import annotations

import os
import platform

from . import allocator, cpu_features, limits

# Images are read tile by tile, and each part once; GDAL's default is 5 % of all memory.
GDAL_CACHE_MB = 256
# Where another program's copies of GDAL and PROJ have their data and plugins. The runtime's packages bring their own.
FOREIGN_DATA = ("PROJ_LIB", "PROJ_DATA", "GDAL_DATA", "GDAL_DRIVER_PATH")
# Otherwise GDAL waits without end for a server that says nothing. Who wants other limits sets these variables.
HTTP_LIMITS = {"GDAL_HTTP_CONNECTTIMEOUT": "30", "GDAL_HTTP_LOW_SPEED_TIME": "60", "GDAL_HTTP_LOW_SPEED_LIMIT": "1"}


def instruction_sets() -> tuple[str, ...]:
    """Return the instruction sets of `cpu_features.RELEVANT` that this process may use; it loads PyTorch."""
    return _features().names


def has_bf16_unit() -> bool:
    """Whether this process may use instructions for BF16; without them it is far slower than FP32."""
    return not cpu_features.WITH_BF16.isdisjoint(instruction_sets())


def has_amx() -> bool:
    """Whether this process may use instructions that multiply matrices of BF16."""
    return "amx_bf16" in instruction_sets()


def has_vnni() -> bool:
    """Whether this process may use instructions that multiply and add INT8 at once (VNNI, or AMX)."""
    return not cpu_features.WITH_VNNI.isdisjoint(instruction_sets())


def limit() -> str:
    """Return the variables that take instruction sets away from this process, as `NAME=value`, or nothing."""
    return _features().limit


def _features() -> cpu_features.CpuFeatures:
    return cpu_features.usable(cpu_features.read_cpuinfo(), cpu_features.ask_torch())


def name() -> str:
    """Return the processor's name with its number of usable cores, its instruction sets and what limits them."""
    lines = (cpu_features.read_cpuinfo() or "").splitlines()
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    model = next(models, "") or platform.processor() or platform.machine()
    limited = f" (limited by {limit()})" if limit() else ""
    return f"{model}, {core_count()} cores, {' '.join(instruction_sets()) or 'instruction sets unknown'}{limited}"


def usable_cpus() -> tuple[int, ...]:
    """Return the numbers of the logical CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def core_count() -> int:
    """Return the number of cores this process may use: those available to it, up to the limit of `limits.threads`."""
    available = len(usable_cpus())
    return min(available, limits.threads() or available)


def limit_waiting() -> None:
    """Have GDAL give up servers that do not answer, or stop sending."""
    for variable, value in HTTP_LIMITS.items():
        os.environ.setdefault(variable, value)


def prepare_process(threads: int = 0) -> None:
    """Set threads, allocator, GDAL's cache, limits and data; call it before torch, numpy or rasterio is loaded.

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
    limit_waiting()
    for variable in FOREIGN_DATA:
        os.environ.pop(variable, None)
    allocator.keep_freed_memory()
