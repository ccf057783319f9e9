"""Facts of the machine that decide on its speed: cores, caches, frequency, allocator, container limit.

Scope: files below /sys and /proc, and page faults. Unknown facts, as on other systems, are None. Independent of how
fast the machine is, which `limits` measures.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from pathlib import Path
from statistics import fmean
from typing import Any, Optional

import psutil

from ..system import machine, processor
from ..system.machine import SYS, core_siblings, cpu_folder, read_text
from ..system.memory import MEMBERSHIP, MOUNTS, group_folders

if sys.platform != "win32":
    import resource

PROC = Path("/proc")
# Libraries among the memory maps of a process, by the allocator they bring: those that take glibc's place first.
_ALLOCATORS = {
    "jemalloc": r"/libjemalloc[^/]*\.so",
    "tcmalloc": r"/libtcmalloc[^/]*\.so",
    "mimalloc": r"/libmimalloc[^/]*\.so",
    "musl": r"/ld-musl-|/libc\.musl-",
    "glibc": r"/libc(-[\d.]+)?\.so",
}
_SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def facts(sys_root: Path = SYS, proc_root: Path = PROC, cpus: Optional[Collection[int]] = None) -> dict[str, Any]:
    """Return facts of the machine and of this process' limits, by name; unknown ones are None.

    `cpus` are the logical CPUs that this process may use; by default the system is asked.
    """
    cpus = processor.usable_cpus() if cpus is None else cpus
    groups = proc_root / "self/cgroup", sys_root / "fs/cgroup"
    return {
        "cpus": len(cpus),
        "cores": physical_core_count(cpus, sys_root) or psutil.cpu_count(logical=False),
        "numa_nodes": len(set(machine.numa_nodes(cpus, sys_root).values())) or None,
        "governor": governor(cpus, sys_root),
        "allocator": allocator_name(proc_root),
        "keeps_freed_memory": keeps_freed_memory(),
        "container_cores": quota_cores(*groups),
        "instruction_sets": " ".join(processor.instruction_sets()) or None,
        "instruction_sets_limited_by": processor.limit() or None,
    }


def physical_core_count(cpus: Collection[int], sys_root: Path = SYS) -> Optional[int]:
    """Return how many physical cores some logical CPUs belong to."""
    return len(set(core_siblings(cpus, sys_root))) or None


def governor(cpus: Collection[int], sys_root: Path = SYS) -> Optional[str]:
    """Return the frequency governors of some logical CPUs, such as powersave, with commas."""
    names = {read_text(cpu_folder(cpu, sys_root) / "cpufreq/scaling_governor") or "" for cpu in cpus} - {""}
    return ", ".join(sorted(names)) or None


def frequency_mhz(cpus: Collection[int], sys_root: Path = SYS, proc_root: Path = PROC) -> Optional[float]:
    """Return the mean current frequency of some logical CPUs.

    None where nothing counts cycles, as in most virtual machines: there /proc/cpuinfo has a constant.
    """
    texts = [read_text(cpu_folder(cpu, sys_root) / "cpufreq/scaling_cur_freq") or "" for cpu in cpus]
    frequencies_mhz = [int(text) / 1000 for text in texts if text.isdecimal()]
    if not frequencies_mhz:
        numbers = {str(cpu) for cpu in cpus}
        frequencies_mhz = [
            float(entry["cpu MHz"])
            for entry in _cpuinfo(proc_root)
            if "aperfmperf" in entry.get("flags", "").split()
            and entry.get("processor", "") in numbers
            and re.fullmatch(r"\d+\.\d+", entry.get("cpu MHz", ""))
        ]
    return fmean(frequencies_mhz) if frequencies_mhz else None


def last_level_cache_bytes(cpus: Collection[int], sys_root: Path = SYS) -> int:
    """Return the size of the last-level caches that some logical CPUs share, in all; 0 where unknown."""
    caches: dict[int, dict[str, int]] = {}
    for index in (index for cpu in cpus for index in (cpu_folder(cpu, sys_root) / "cache").glob("index[0-9]*")):
        level, size, shared = (read_text(index / name) or "" for name in ("level", "size", "shared_cpu_list"))
        parts = re.fullmatch(r"(\d+)([KMG]?)", size)
        if level.isdecimal() and parts:
            caches.setdefault(int(level), {})[shared] = int(parts[1]) * _SIZES.get(parts[2], 1)
    return sum(caches[max(caches)].values()) if caches else 0


def allocator_name(proc_root: Path = PROC) -> Optional[str]:
    """Return the memory allocator that is loaded into this process."""
    maps = read_text(proc_root / "self/maps") or ""
    return next((name for name, pattern in _ALLOCATORS.items() if re.search(pattern, maps)), None)


def keeps_freed_memory() -> Optional[bool]:
    """Whether a large block that was freed is used again without page faults, as measured; None on Windows."""
    if sys.platform == "win32":
        return None
    else:  # so that the type checker knows for Windows, too
        piece = b"x" * (1 << 20)
        faults = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            piece * 64
            faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
        return min(faults[1:]) < 16  # of huge pages it has 32


def quota_cores(membership: Path = MEMBERSHIP, root: Path = MOUNTS) -> Optional[float]:
    """Return how many cores' time this process' control groups leave it; None without a limit."""
    quotas = [_quota(folder) for folder in group_folders("cpu", membership, root)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(folder: Path) -> Optional[float]:
    """Return the cores of one group: its microseconds of processor time in a period, by those of the period."""
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        cores = int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # version 2 says `max` where there is no limit
        return None
    return cores if cores > 0 else None  # and version 1 says -1


def _cpuinfo(proc_root: Path) -> list[dict[str, str]]:
    """Return the entries of /proc/cpuinfo for each logical CPU, by name."""
    blocks = (read_text(proc_root / "cpuinfo") or "").split("\n\n")
    return [dict(re.findall(r"^(\w[^\t:]*)\s*: (.*)$", block, re.M)) for block in blocks]
