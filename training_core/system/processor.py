"""The CPU: instruction sets, cores, and the setup of a process (threads, allocator, GDAL) before it computes.

Linux lists instruction sets in /proc/cpuinfo; on Windows and macOS PyTorch knows them. Neither heeds the variables that
limit the libraries' instruction sets, so these are read here. Scope: the machine. Independent of models and images.
PyTorch and numpy are loaded only for instruction sets because settings only count before that.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import environment, memory

# Images are read tile by tile, and each part once; GDAL's default is 5 % of all memory.
GDAL_CACHE_MB = 256
# Data and plugins of another program's copies of GDAL and PROJ. The runtime's packages bring their own.
FOREIGN_DATA = ("PROJ_LIB", "PROJ_DATA", "GDAL_DATA", "GDAL_DRIVER_PATH")
# Otherwise GDAL waits without end for a silent server, and gives up at once one that is busy. Users who want other
# limits set these variables.
HTTP_LIMITS = {
    "GDAL_HTTP_CONNECTTIMEOUT": "30",
    "GDAL_HTTP_LOW_SPEED_TIME": "60",
    "GDAL_HTTP_LOW_SPEED_LIMIT": "1",
    "GDAL_HTTP_MAX_RETRY": "4",
    "GDAL_HTTP_RETRY_DELAY": "1",
}
# Instruction sets that decide between engines and precisions, by their names in Linux; the last two are ARM's.
RELEVANT = ("amx_bf16", "amx_int8", "avx512_bf16", "avx512_vnni", "avx_vnni", "avx512f", "avx2", "bf16", "i8mm")
WITH_BF16 = frozenset({"amx_bf16", "avx512_bf16", "bf16"})
WITH_VNNI = frozenset({"amx_int8", "avx512_vnni", "avx_vnni", "i8mm"})
# oneDNN reads the first of these that is set.
ONEDNN_VARIABLES = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")
ATEN_VARIABLE = "ATEN_CPU_CAPABILITY"
_AVX2 = frozenset({"avx2"})
_AVX512 = _AVX2 | {"avx512f"}
_VNNI = _AVX512 | {"avx512_vnni", "avx_vnni"}
_BF16 = _VNNI | {"avx512_bf16"}
# The instruction sets that each limit leaves. AVX2_VNNI_2 converts BF16, but multiplies it as FP32.
_ALLOWED = {
    "SSE41": frozenset(),
    "AVX": frozenset(),
    "AVX2": _AVX2,
    "AVX2_VNNI": _AVX2 | {"avx_vnni"},
    "AVX2_VNNI_2": _AVX2 | {"avx_vnni"},
    "AVX512_CORE": _AVX512,
    "AVX512_CORE_VNNI": _VNNI,
    "AVX512_CORE_BF16": _BF16,
    "AVX512_CORE_FP16": _BF16,
    "AVX10_1_512": _BF16,
}
# PyTorch's own kernels know only these steps, and AVX512 is all of it.
_ALLOWED_BY_ATEN = {"DEFAULT": frozenset(), "AVX2": _AVX2}


# The questions to PyTorch on x86, whose answers ignore the limits of the process. Every processor with AMX has both.
_QUESTIONS = {
    "avx2": "_is_avx2_supported",
    "avx512f": "_is_avx512_supported",
    "avx512_vnni": "_is_vnni_supported",
    "avx512_bf16": "_is_avx512_bf16_supported",
    "amx_bf16": "_is_amx_tile_supported",
    "amx_int8": "_is_amx_tile_supported",
}


@dataclass(frozen=True)
class CpuFeatures:
    """The instruction sets of RELEVANT that this process may use.

    `limit` are the variables that take instruction sets away, as `NAME=value`; may be empty.
    """

    names: tuple[str, ...]
    limit: str = ""


def read_cpuinfo() -> str:
    """Return the text of /proc/cpuinfo; nothing on other systems than Linux."""
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


def ask_torch() -> tuple[frozenset[str], bool]:
    """Return the instruction sets of x86 that PyTorch finds, none on ARM, and whether oneDNN takes BF16 here.

    On ARM, oneDNN takes it if the processor multiplies it; on x86 from AVX512 on, where oneDNN may convert it at a
    quarter of the speed of FP32. It does not where PyTorch was built without oneDNN, as for Macs, whose BF16
    convolutions no fast kernel computes. A version of PyTorch may lack a question.
    """
    import torch

    found = {name for name, question in _QUESTIONS.items() if getattr(torch.cpu, question, lambda: False)()}
    has_onednn = torch.backends.mkldnn.is_available()
    return frozenset(found), has_onednn and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def usable(
    cpuinfo: str, found: frozenset[str], takes_bf16: bool, environment: Mapping[str, str] = os.environ
) -> CpuFeatures:
    """Return the instruction sets that a process may use by `read_cpuinfo`, `ask_torch` and its environment."""
    flags = next((line for line in cpuinfo.splitlines() if line.startswith(("flags", "Features"))), "")  # first core's
    present = found | (frozenset(flags.split()) & frozenset(RELEVANT))
    if takes_bf16 and "avx2" not in found:  # on ARM, oneDNN's answer is that of the processor
        present |= {"bf16"}
    onednn = next((name for name in ONEDNN_VARIABLES if environment.get(name)), "")
    sets, variables = present, []
    for variable, table in ((onednn, _ALLOWED), (ATEN_VARIABLE, _ALLOWED_BY_ATEN)):
        allowed = table.get(environment.get(variable, "").upper())
        if allowed is not None and not present <= allowed:
            sets &= allowed
            variables.append(f"{variable}={environment[variable]}")
    if not takes_bf16:
        sets -= WITH_BF16
    return CpuFeatures(tuple(name for name in RELEVANT if name in sets), ", ".join(variables))


def instruction_sets() -> tuple[str, ...]:
    """Return the instruction sets of `RELEVANT` that this process may use; it loads PyTorch."""
    return _features().names


def has_bf16_unit() -> bool:
    """Whether this process may use instructions for BF16; without them it is far slower than FP32."""
    return not WITH_BF16.isdisjoint(instruction_sets())


def has_amx() -> bool:
    """Whether this process may use instructions that multiply matrices of BF16."""
    return "amx_bf16" in instruction_sets()


def has_vnni() -> bool:
    """Whether this process may use instructions that multiply and add INT8 at once (VNNI, or AMX)."""
    return not WITH_VNNI.isdisjoint(instruction_sets())


def limit() -> str:
    """Return the variables that take instruction sets away from this process, as `NAME=value`, or nothing."""
    return _features().limit


def _features() -> CpuFeatures:
    return usable(read_cpuinfo(), *ask_torch())


def name() -> str:
    """Return the processor's name with its number of usable cores, its instruction sets and what limits them."""
    lines = read_cpuinfo().splitlines()
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
    """Return how many cores this process may use: those available to it, up to the limit of `environment.threads`."""
    available = len(usable_cpus())
    return min(available, environment.threads() or available)


def prepare_process(threads: int = 0) -> None:
    """Set threads (0 means `core_count`), allocator, GDAL's cache, limits and data.

    Call it before torch, numpy or rasterio is loaded. Without it glibc returns every large activation to the system
    after use, and page faults at the next step take a third of the training time.
    """
    count = threads or core_count()
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(count)
    os.environ["GDAL_CACHEMAX"] = str(GDAL_CACHE_MB)
    os.environ["GDAL_PNG_WHOLE_IMAGE_OPTIM"] = "NO"  # with it, a PNG that is cut off reads as noise, without an error
    for variable, value in HTTP_LIMITS.items():
        os.environ.setdefault(variable, value)
    for variable in FOREIGN_DATA:
        os.environ.pop(variable, None)
    memory.keep_freed_memory()
