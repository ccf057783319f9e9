"""The machine from Linux: which logical CPUs share a core, a socket or a NUMA node; and versions of packages.

Scope: files below /sys, installed packages. Unknown facts, as on other systems, are left out. Independent of how fast
the machine is, which `profiling` measures.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Optional

SYS = Path("/sys")
PACKAGES = (
    "torch", "intel-extension-for-pytorch", "openvino", "nncf", "segmentation-models-pytorch", "rasterio", "numpy",
)  # fmt: skip


def numa_nodes(cpus: Collection[int], sys_root: Path = SYS) -> dict[int, int]:
    """Return the NUMA node of each of some logical CPUs; unknown ones are left out."""
    nodes = {
        cpu: int(path.parent.name[len("node") :])
        for path in (sys_root / "devices/system/node").glob("node[0-9]*/cpulist")
        for cpu in listed(read_text(path))
    }
    return {cpu: nodes[cpu] for cpu in cpus if cpu in nodes}


def sockets(cpus: Collection[int], sys_root: Path = SYS) -> dict[int, int]:
    """Return the socket of each of some logical CPUs; unknown ones are left out."""
    texts = {cpu: read_text(cpu_folder(cpu, sys_root) / "topology/physical_package_id") or "" for cpu in cpus}
    return {cpu: int(text) for cpu, text in texts.items() if text.isdecimal()}


def first_siblings(cpus: Collection[int], sys_root: Path = SYS) -> dict[int, int]:
    """Return the first logical CPU of the core that each of some belongs to; unknown ones are left out."""
    return {cpu: min(core) for core in core_siblings(cpus, sys_root) for cpu in core & set(cpus)}


def core_siblings(cpus: Collection[int], sys_root: Path) -> list[frozenset[int]]:
    """Return for each CPU those of the same core, with itself."""
    cores = (listed(read_text(cpu_folder(cpu, sys_root) / "topology/thread_siblings_list")) for cpu in cpus)
    return [siblings for siblings in cores if siblings]


def cpu_folder(cpu: int, sys_root: Path) -> Path:
    """Return the folder with the facts of a logical CPU."""
    return sys_root / f"devices/system/cpu/cpu{cpu}"


def read_text(path: Path) -> Optional[str]:
    """Return the text of a small file; None where it cannot be read."""
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return None


def listed(text: Optional[str]) -> frozenset[int]:
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
