"""Facts of the machine from Linux: cores, NUMA nodes, caches, frequency, huge pages, container limits; and versions.

Scope: files below /sys and /proc, installed packages. Unknown facts, as on other systems, are None. Independent of how
fast the machine is, which `profiling.limits` measures.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import fmean
from typing import Any, Optional

import psutil

from . import allocator, memory, processor

SYS, PROC = Path("/sys"), Path("/proc")
# Libraries among the memory maps of a process, by the allocator they bring: those that take glibc's place first.
_ALLOCATORS = {
    "jemalloc": r"/libjemalloc[^/]*\.so",
    "tcmalloc": r"/libtcmalloc[^/]*\.so",
    "mimalloc": r"/libmimalloc[^/]*\.so",
    "musl": r"/ld-musl-|/libc\.musl-",
    "glibc": r"/libc(-[\d.]+)?\.so",
}
_SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

PACKAGES = (
    "torch", "intel-extension-for-pytorch", "openvino", "nncf", "segmentation-models-pytorch", "rasterio", "numpy",
)  # fmt: skip


def facts(sys_root: Path = SYS, proc_root: Path = PROC, cpus: Optional[Collection[int]] = None) -> dict[str, Any]:
    """Return facts of the machine and of this process' limits, by name; unknown ones are None.

    `cpus` are the logical CPUs that this process may use; by default the system is asked.
    """
    cpus = processor.usable_cpus() if cpus is None else cpus
    groups = proc_root / "self/cgroup", sys_root / "fs/cgroup"
    left_bytes = memory.control_group_bytes(*groups)
    if left_bytes is not None and left_bytes > psutil.virtual_memory().total:
        left_bytes = None  # version 1 without a limit
    return {
        "cpus": len(cpus),
        "cores": physical_core_count(cpus, sys_root) or psutil.cpu_count(logical=False),
        "threads_a_core": threads_a_core(cpus, sys_root),
        "numa_nodes": len(set(numa_nodes(cpus, sys_root).values())) or None,
        "governor": governor(cpus, sys_root),
        "huge_pages": huge_pages(sys_root),
        "allocator": allocator_name(proc_root),
        "keeps_freed_memory": allocator.keeps_freed_memory(),
        "container_cores": memory.quota_cores(*groups),
        "container_memory_left_bytes": left_bytes,
        "instruction_sets": " ".join(processor.instruction_sets()) or None,
        "instruction_sets_limited_by": processor.limit() or None,
    }


def physical_core_count(cpus: Collection[int], sys_root: Path = SYS) -> Optional[int]:
    """Return how many physical cores some logical CPUs belong to."""
    return len(set(_siblings(cpus, sys_root))) or None


def threads_a_core(cpus: Collection[int], sys_root: Path = SYS) -> Optional[int]:
    """Return how many of some logical CPUs share a core at most (SMT)."""
    return max((len(siblings & set(cpus)) for siblings in _siblings(cpus, sys_root)), default=None)


def numa_nodes(cpus: Collection[int], sys_root: Path = SYS) -> dict[int, int]:
    """Return the NUMA node of each of some logical CPUs; unknown ones are left out."""
    nodes = {
        cpu: int(path.parent.name[len("node") :])
        for path in (sys_root / "devices/system/node").glob("node[0-9]*/cpulist")
        for cpu in _listed(_read(path))
    }
    return {cpu: nodes[cpu] for cpu in cpus if cpu in nodes}


def sockets(cpus: Collection[int], sys_root: Path = SYS) -> dict[int, int]:
    """Return the socket of each of some logical CPUs; unknown ones are left out."""
    texts = {cpu: _read(_folder(cpu, sys_root) / "topology/physical_package_id") or "" for cpu in cpus}
    return {cpu: int(text) for cpu, text in texts.items() if text.isdecimal()}


def first_siblings(cpus: Collection[int], sys_root: Path = SYS) -> dict[int, int]:
    """Return the first logical CPU of the core that each of some belongs to; unknown ones are left out."""
    return {cpu: min(core) for core in _siblings(cpus, sys_root) for cpu in core & set(cpus)}


def governor(cpus: Collection[int], sys_root: Path = SYS) -> Optional[str]:
    """Return the frequency governors of some logical CPUs, such as powersave, with commas."""
    names = {_read(_folder(cpu, sys_root) / "cpufreq/scaling_governor") or "" for cpu in cpus} - {""}
    return ", ".join(sorted(names)) or None


def frequency_mhz(cpus: Collection[int], sys_root: Path = SYS, proc_root: Path = PROC) -> Optional[float]:
    """Return the mean current frequency of some logical CPUs.

    None where nothing counts cycles, as in most virtual machines: there /proc/cpuinfo has a constant.
    """
    texts = [_read(_folder(cpu, sys_root) / "cpufreq/scaling_cur_freq") or "" for cpu in cpus]
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
    for index in (index for cpu in cpus for index in (_folder(cpu, sys_root) / "cache").glob("index[0-9]*")):
        level, size, shared = (_read(index / name) or "" for name in ("level", "size", "shared_cpu_list"))
        parts = re.fullmatch(r"(\d+)([KMG]?)", size)
        if level.isdecimal() and parts:
            caches.setdefault(int(level), {})[shared] = int(parts[1]) * _SIZES.get(parts[2], 1)
    return sum(caches[max(caches)].values()) if caches else 0


def huge_pages(sys_root: Path = SYS) -> Optional[str]:
    """Return when the system takes transparent huge pages: always, madvise or never."""
    chosen = re.search(r"\[(\w+)\]", _read(sys_root / "kernel/mm/transparent_hugepage/enabled") or "")
    return chosen[1] if chosen else None


def allocator_name(proc_root: Path = PROC) -> Optional[str]:
    """Return the memory allocator that is loaded into this process."""
    maps = _read(proc_root / "self/maps") or ""
    return next((name for name, pattern in _ALLOCATORS.items() if re.search(pattern, maps)), None)


def _siblings(cpus: Collection[int], sys_root: Path) -> list[frozenset[int]]:
    """Return for each CPU those of the same core, with itself."""
    cores = (_listed(_read(_folder(cpu, sys_root) / "topology/thread_siblings_list")) for cpu in cpus)
    return [siblings for siblings in cores if siblings]


def _folder(cpu: int, sys_root: Path) -> Path:
    return sys_root / f"devices/system/cpu/cpu{cpu}"


def _cpuinfo(proc_root: Path) -> list[dict[str, str]]:
    """Return the entries of /proc/cpuinfo for each logical CPU, by name."""
    blocks = (_read(proc_root / "cpuinfo") or "").split("\n\n")
    return [dict(re.findall(r"^(\w[^\t:]*)\s*: (.*)$", block, re.M)) for block in blocks]


def _read(path: Path) -> Optional[str]:
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return None


def _listed(text: Optional[str]) -> frozenset[int]:
    """Return the numbers in a list such as `0-3,8`."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", text or "")
    return frozenset(number for first, last in ranges for number in range(int(first), int(last or first) + 1))


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Return the version of RoadSeg, as `roadseg`, and of each of some packages that is installed."""
    installed = {"roadseg": roadseg_version()}
    for package in packages:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def roadseg_version() -> str:
    """Return RoadSeg's version, from the plugin's metadata.txt."""
    metadata = configparser.ConfigParser(interpolation=None)
    metadata.read(Path(__file__).parents[2] / "metadata.txt", encoding="utf-8")
    return metadata["general"]["version"]
