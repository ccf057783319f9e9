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
from typing import Optional

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


@dataclass(frozen=True)
class TorchAnswers:
    """PyTorch's answers about the processor, which ignore the limits of the process.

    The sets of x86 are all False on ARM. `onednn_bf16` is whether oneDNN takes BF16 here: on ARM if the processor
    multiplies it, on x86 from AVX512 on, where oneDNN may convert it at a quarter of the speed of FP32. It is False
    where PyTorch was built without oneDNN, as for Macs, whose BF16 convolutions no fast kernel computes.
    """

    avx2: bool = False
    avx512: bool = False
    vnni: bool = False
    avx512_bf16: bool = False
    amx: bool = False
    onednn_bf16: bool = False


@dataclass(frozen=True)
class CpuFeatures:
    """The instruction sets of RELEVANT that this process may use.

    `limit` are the variables that take instruction sets away, as `NAME=value`; may be empty.
    """

    names: tuple[str, ...]
    limit: str = ""


def read_cpuinfo() -> Optional[str]:
    """Return the text of /proc/cpuinfo; None on other systems than Linux."""
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return None


def ask_torch() -> TorchAnswers:
    """Return PyTorch's answers; False for a question that its version lacks."""
    import torch

    def says(question: str) -> bool:
        return bool(getattr(torch.cpu, question, lambda: False)())

    has_onednn = torch.backends.mkldnn.is_available()
    return TorchAnswers(
        avx2=says("_is_avx2_supported"),
        avx512=says("_is_avx512_supported"),
        vnni=says("_is_vnni_supported"),
        avx512_bf16=says("_is_avx512_bf16_supported"),
        amx=says("_is_amx_tile_supported"),
        onednn_bf16=has_onednn and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported()),
    )


def usable(cpuinfo: Optional[str], answers: TorchAnswers, environment: Mapping[str, str] = os.environ) -> CpuFeatures:
    """Return the instruction sets that a process may use by the text of `read_cpuinfo` and its environment."""
    present = _flags(cpuinfo or "") | _from_torch(answers)
    usable_sets, variables = present, []
    for variable, allowed in _limits(environment):
        if not present <= allowed:
            usable_sets &= allowed
            variables.append(f"{variable}={environment[variable]}")
    if not answers.onednn_bf16:
        usable_sets -= WITH_BF16
    return CpuFeatures(tuple(name for name in RELEVANT if name in usable_sets), ", ".join(variables))


def _flags(cpuinfo: str) -> frozenset[str]:
    """Return the relevant flags of the first core."""
    lines = (line for line in cpuinfo.splitlines() if line.startswith(("flags", "Features")))
    return frozenset(next(lines, "").split()) & frozenset(RELEVANT)


def _from_torch(answers: TorchAnswers) -> frozenset[str]:
    by_name = {
        "avx2": answers.avx2,
        "avx512f": answers.avx512,
        "avx512_vnni": answers.vnni,
        "avx512_bf16": answers.avx512_bf16,
        "amx_bf16": answers.amx,  # every processor with AMX has both
        "amx_int8": answers.amx,
        "bf16": answers.onednn_bf16 and not answers.avx2,  # on ARM, oneDNN's answer is that of the processor
    }
    return frozenset(name for name, is_present in by_name.items() if is_present)


def _limits(environment: Mapping[str, str]) -> list[tuple[str, frozenset[str]]]:
    """Return the variables that limit x86, each with the instruction sets that it leaves."""
    onednn = next((name for name in ONEDNN_VARIABLES if environment.get(name)), "")
    limited = [
        (onednn, _ALLOWED.get(environment.get(onednn, "").upper())),
        (ATEN_VARIABLE, _ALLOWED_BY_ATEN.get(environment.get(ATEN_VARIABLE, "").upper())),
    ]
    return [(variable, allowed) for variable, allowed in limited if allowed is not None]


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
    return usable(read_cpuinfo(), ask_torch())


def name() -> str:
    """Return the processor's name with its number of usable cores, its instruction sets and what limits them."""
    lines = (read_cpuinfo() or "").splitlines()
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
