"""The machine: which CPUs share a core, socket or NUMA node, where a job's processes run and how they start; versions.

Processes are reached by pipes: nothing listens for connections. Facts come from files below /sys; unknown ones, as on
other systems than Linux, are left out. Scope: CPUs, processes, packages. Independent of what the processes do, and of
how fast the machine is, which `profiling` measures.
"""

from __future__ import annotations

import configparser
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from operator import itemgetter
from pathlib import Path
from typing import Any, Optional

from ..errors import JobError
from . import processor

SYS = Path("/sys")
PACKAGES = (
    "torch", "intel-extension-for-pytorch", "openvino", "nncf", "segmentation-models-pytorch", "rasterio", "numpy",
)  # fmt: skip
AUTO = "auto"


@dataclass(frozen=True)
class Place:
    """Place of a process: its threads, and its logical CPUs, empty for no limit."""

    cpus: tuple[int, ...]
    threads: int


def count_processes(wanted: str, threads: int, most: int, sys_root: Path = SYS) -> int:
    """Return how many processes to start, at most as many as have something to do.

    Wanted is a number, or auto for one a NUMA node or socket, so that none computes with the memory of another. The
    whole job has `threads`; 0 for as many as there are cores. Raises JobError if there are fewer cores, or threads.
    """
    available = threads or processor.core_count()
    if wanted == AUTO:
        return max(1, min(len(_domains(processor.usable_cpus(), sys_root)), most, available))
    if int(wanted) > available:
        what = "threads are requested (threads)" if threads else "cores may be used"
        raise JobError(
            f"{wanted} processes (processes) are requested, but only {available} {what}.",
            f"Give at most {available} processes, or auto.",
        )
    return int(wanted)


def places(count: int, threads: int, sys_root: Path = SYS) -> list[Place]:
    """Return where each process runs: cores of one NUMA node side by side, none of them shared if there are enough.

    `threads` are those of all processes together; 0 for as many as there are cores.
    """
    each = max(1, (threads or processor.core_count()) // count)
    domains = _domains(processor.usable_cpus(), sys_root)
    cpus = [cpu for domain in domains for cpu in domain]
    if len(cpus) < count:
        return [Place((), each)] * count
    return [
        Place(tuple(cpus[len(cpus) * rank // count : len(cpus) * (rank + 1) // count]), each) for rank in range(count)
    ]


def settle(place: Place) -> None:
    """Limit this process to its cores, from whose NUMA node the system then takes memory; set its threads.

    Call it before torch, numpy or rasterio is loaded.
    """
    if place.cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, place.cpus)
    processor.prepare_process(place.threads)


def start_process(place: Place, work: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """Start a process that settles at a place and calls `work` with a pipe and arguments; return it and its pipe.

    The modules of `work` and of the arguments must not load PyTorch, whose threads are set before.
    """
    context = multiprocessing.get_context("spawn")
    pipes: tuple[Any, Any] = context.Pipe()  # on Windows, of a class that has the same methods
    pipe, end = pipes
    process = context.Process(target=_begin, args=(place, work, end, *arguments), daemon=True)
    process.start()
    end.close()
    return process, pipe


def _begin(place: Place, work: Callable[..., None], pipe: Connection, *arguments: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C goes to all processes; the first one stops the others
    settle(place)
    work(pipe, *arguments)


def listen(pipe: Connection, take: Callable[[bytes], None]) -> None:
    """Take the messages of the process that started this one, in a thread; this process ends when that one does."""

    def receive() -> None:
        try:
            while True:
                take(pipe.recv_bytes())
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=receive, daemon=True).start()


def _domains(cpus: Collection[int], sys_root: Path) -> list[list[int]]:
    """Return logical CPUs by NUMA node and socket, those of a core side by side."""
    nodes = numa_nodes(cpus, sys_root)

    def place(cpu: int) -> tuple[int, int, int, int]:
        topology = cpu_folder(cpu, sys_root) / "topology"
        socket = read_text(topology / "physical_package_id") or ""
        core = listed(read_text(topology / "thread_siblings_list"))
        return nodes.get(cpu, 0), int(socket) if socket.isdecimal() else 0, min(core, default=cpu), cpu

    domains = groupby(sorted(map(place, cpus)), key=itemgetter(0, 1))
    return [[cpu for *_, cpu in domain] for _, domain in domains]


def numa_nodes(cpus: Collection[int], sys_root: Path = SYS) -> dict[int, int]:
    """Return the NUMA node of each of some logical CPUs; unknown ones are left out."""
    nodes = {
        cpu: int(path.parent.name[len("node") :])
        for path in (sys_root / "devices/system/node").glob("node[0-9]*/cpulist")
        for cpu in listed(read_text(path))
    }
    return {cpu: nodes[cpu] for cpu in cpus if cpu in nodes}


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
