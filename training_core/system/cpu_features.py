"""CPU features: the instruction sets that a process may use, as the system and PyTorch tell them on every system.

Linux lists them in /proc/cpuinfo; for Windows and macOS PyTorch is asked. Neither knows of the variables that limit the
libraries' instruction sets, so these are read here.

Scope: instruction sets. Independent of models. PyTorch is imported only when it is asked, since settings of a process
only count before that.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

# Those that decide between engines and precisions, by the names that Linux gives them; the last two are ARM's.
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
# What each limit leaves. AVX2_VNNI_2 converts BF16, but multiplies it as FP32.
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
    """What PyTorch says of the processor, whatever limits the process has.

    Parameters
    ----------
    avx2, avx512, vnni, avx512_bf16, amx : bool
        Instruction sets of x86; all False on ARM.
    onednn_bf16 : bool
        Whether oneDNN takes BF16 here: on ARM if the processor multiplies it, on x86 from AVX512 on, where oneDNN may
        convert it at a quarter of the speed of FP32. False where PyTorch was built without oneDNN, as for Macs, whose
        BF16 convolutions no fast kernel computes.
    """

    avx2: bool = False
    avx512: bool = False
    vnni: bool = False
    avx512_bf16: bool = False
    amx: bool = False
    onednn_bf16: bool = False


@dataclass(frozen=True)
class CpuFeatures:
    """The instruction sets that this process may use.

    Parameters
    ----------
    names : tuple of str
        Those of RELEVANT.
    limit : str
        The variables that take instruction sets away, as `NAME=value`; empty where none does.
    """

    names: tuple[str, ...]
    limit: str = ""


def read_cpuinfo() -> Optional[str]:
    """Return the text of /proc/cpuinfo; None where the system has none."""
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return None


def ask_torch() -> TorchAnswers:
    """Return what PyTorch says; versions that lack a question answer it with False."""
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
    """Return the instruction sets that a process may use.

    Parameters
    ----------
    cpuinfo : str, optional
        As `read_cpuinfo` returns it.
    environment : mapping of str to str
        The variables of the process.
    """
    there = _flags(cpuinfo or "") | _told(answers)
    left, limits = there, []
    for variable, allowed in _limits(environment):
        if not there <= allowed:
            left &= allowed
            limits.append(f"{variable}={environment[variable]}")
    if not answers.onednn_bf16:
        left -= WITH_BF16
    return CpuFeatures(tuple(name for name in RELEVANT if name in left), ", ".join(limits))


def _flags(cpuinfo: str) -> frozenset[str]:
    """Return the relevant flags of the first core."""
    lines = (line for line in cpuinfo.splitlines() if line.startswith(("flags", "Features")))
    return frozenset(next(lines, "").split()) & frozenset(RELEVANT)


def _told(answers: TorchAnswers) -> frozenset[str]:
    by_name = {
        "avx2": answers.avx2,
        "avx512f": answers.avx512,
        "avx512_vnni": answers.vnni,
        "avx512_bf16": answers.avx512_bf16,
        "amx_bf16": answers.amx,  # every processor with AMX has both
        "amx_int8": answers.amx,
        "bf16": answers.onednn_bf16 and not answers.avx2,  # of oneDNN on ARM, this is what the processor has
    }
    return frozenset(name for name, is_there in by_name.items() if is_there)


def _limits(environment: Mapping[str, str]) -> list[tuple[str, frozenset[str]]]:
    """Return the variables that limit x86, each with what it leaves."""
    onednn = next((name for name in ONEDNN_VARIABLES if environment.get(name)), None)
    found = [(onednn, _ALLOWED.get(environment[onednn].upper()))] if onednn else []
    found.append((ATEN_VARIABLE, _ALLOWED_BY_ATEN.get(environment.get(ATEN_VARIABLE, "").upper())))
    return [(variable, allowed) for variable, allowed in found if allowed is not None]
