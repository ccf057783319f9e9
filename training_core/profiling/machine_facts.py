"""Facts of the machine that decide on its speed: cores, caches, frequency, allocator, container limit; and counters.

Scope: files below /sys and /proc, page faults, and processor time. Unknown facts, as on other systems, are None.
Independent of how fast the machine is, which `limits` measures.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Optional

import psutil

from ..system import machine, processor
from ..system.machine import SYS, core_siblings, cpu_folder, read_text
from ..system.memory import group_folders
from .profile import Counters

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
    governors = {read_text(cpu_folder(cpu, sys_root) / "cpufreq/scaling_governor") or "" for cpu in cpus} - {""}
    maps = read_text(proc_root / "self/maps") or ""
    return {
        "cpus": len(cpus),
        "cores": len(set(core_siblings(cpus, sys_root))) or psutil.cpu_count(logical=False),
        "numa_nodes": len(set(machine.numa_nodes(cpus, sys_root).values())) or None,
        "governor": ", ".join(sorted(governors)) or None,
        "allocator": next((name for name, pattern in _ALLOCATORS.items() if re.search(pattern, maps)), None),
        "keeps_freed_memory": keeps_freed_memory(),
        "container_cores": _quota_cores(proc_root / "self/cgroup", sys_root / "fs/cgroup"),
        "instruction_sets": " ".join(processor.instruction_sets()) or None,
        "instruction_sets_limited_by": processor.limit() or None,
    }


def frequency_mhz(cpus: Collection[int], sys_root: Path = SYS, proc_root: Path = PROC) -> Optional[float]:
    """Return the mean current frequency of some logical CPUs.

    None where nothing counts cycles, as in most virtual machines: there /proc/cpuinfo has a constant.
    """
    texts = [read_text(cpu_folder(cpu, sys_root) / "cpufreq/scaling_cur_freq") or "" for cpu in cpus]
    frequencies_mhz = [int(text) / 1000 for text in texts if text.isdecimal()]
    if not frequencies_mhz:
        blocks = (read_text(proc_root / "cpuinfo") or "").split("\n\n")
        entries = [dict(re.findall(r"^(\w[^\t:]*)\s*: (.*)$", block, re.M)) for block in blocks]
        numbers = {str(cpu) for cpu in cpus}
        frequencies_mhz = [
            float(entry["cpu MHz"])
            for entry in entries
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


def keeps_freed_memory() -> Optional[bool]:
    """Whether a large block that was freed is used again without page faults, as measured; None on Windows."""
    piece = b"x" * (1 << 20)
    faults = []
    for _ in range(3):
        before = page_faults()
        piece * 64
        after = page_faults()
        if before is None or after is None:
            return None
        faults.append(after - before)
    return min(faults[1:]) < 16  # of huge pages it has 32


def page_faults() -> Optional[int]:
    """Return the minor page faults of this process so far; None on Windows."""
    if sys.platform == "win32":
        return None
    else:  # so that the type checker knows for Windows, too
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _quota_cores(membership: Path, root: Path) -> Optional[float]:
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


@dataclass(frozen=True)
class Reading:
    """Totals so far: page faults and seconds of this process, and seconds of all processes and virtual machines."""

    wall_s: float
    page_faults: Optional[int]
    user_s: float
    system_s: float
    busy_s: float


def read_counters() -> Reading:
    """Return the totals of the system so far."""
    process, cores = psutil.Process().cpu_times(), psutil.cpu_times()
    idle_s = cores.idle + getattr(cores, "iowait", 0.0)
    # Time as a guest is part of user time already.
    busy_s = sum(cores) - idle_s - getattr(cores, "guest", 0.0) - getattr(cores, "guest_nice", 0.0)
    return Reading(time.perf_counter(), page_faults(), process.user, process.system, busy_s)


def counters(before: Reading, after: Reading, steps: int, cores: int = os.cpu_count() or 1) -> Counters:
    """Return the counters of the steps between two readings."""
    wall_s, system_s = after.wall_s - before.wall_s, after.system_s - before.system_s
    own_s = after.user_s - before.user_s + system_s
    others_s = max(0.0, after.busy_s - before.busy_s - own_s)
    faults = None
    if before.page_faults is not None and after.page_faults is not None:
        faults = (after.page_faults - before.page_faults) / steps
    return Counters(
        page_faults=faults,
        system_share=system_s / own_s if own_s else None,
        stolen_share=others_s / (wall_s * cores) if wall_s else None,
    )
