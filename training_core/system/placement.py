"""The processes of a job: how many, on which cores, with which memory, and how one is started there.

They are reached by pipes: nothing listens for connections. Scope: logical CPUs, NUMA nodes, processes. Independent of
what the processes do.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from ..errors import JobError
from . import machine, processor

AUTO = "auto"


@dataclass(frozen=True)
class Place:
    """Where a process runs: logical CPUs, empty for no limit, and the NUMA node of its memory, -1 for none."""

    cpus: tuple[int, ...]
    threads: int
    node: int = -1


def count_processes(wanted: str, threads: int, most: int, sys_root: Path = machine.SYS) -> int:
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


def places(count: int, threads: int, sys_root: Path = machine.SYS) -> list[Place]:
    """Return where each process runs: cores of one NUMA node side by side, none of them shared if there are enough.

    `threads` are those of all processes together; 0 for as many as there are cores.
    """
    each = max(1, (threads or processor.core_count()) // count)
    domains = _domains(processor.usable_cpus(), sys_root)
    cpus = [cpu for domain in domains for cpu in domain]
    if len(cpus) < count:
        return [Place((), each)] * count
    nodes = machine.numa_nodes(cpus, sys_root)
    shares = [cpus[len(cpus) * rank // count : len(cpus) * (rank + 1) // count] for rank in range(count)]
    return [Place(tuple(share), each, _common_node(share, nodes)) for share in shares]


def settle(place: Place) -> None:
    """Limit this process to its cores, and have it take memory from its NUMA node, where the system lets it."""
    if place.cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, place.cpus)
    if place.node >= 0:
        try:
            numa = ctypes.CDLL("libnuma.so.1")
        except OSError:  # memory is then taken from the node of the core that first writes to it, which is the same
            return
        if numa.numa_available() >= 0:
            numa.numa_set_preferred(place.node)


def start_process(place: Place, work: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """Start a process that settles at a place and calls `work` with a pipe and arguments; return it and its pipe.

    The modules of `work` and of the arguments must not load PyTorch, whose threads are set before.
    """
    context = multiprocessing.get_context("spawn")
    pipe, end = context.Pipe()
    process = context.Process(target=_begin, args=(place, work, end, *arguments), daemon=True)
    process.start()
    end.close()
    return process, pipe


def _begin(place: Place, work: Callable[..., None], pipe: Connection, *arguments: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C goes to all processes; the first one stops the others
    settle(place)
    processor.prepare_process(place.threads)
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
    nodes = machine.numa_nodes(cpus, sys_root)
    sockets = machine.sockets(cpus, sys_root)
    cores = machine.first_siblings(cpus, sys_root)
    domains: dict[tuple[int, int], list[int]] = {}
    for cpu in sorted(cpus, key=lambda cpu: (cores.get(cpu, cpu), cpu)):
        domains.setdefault((nodes.get(cpu, 0), sockets.get(cpu, 0)), []).append(cpu)
    return [domains[key] for key in sorted(domains)]


def _common_node(cpus: Collection[int], nodes: dict[int, int]) -> int:
    found = {nodes.get(cpu, -1) for cpu in cpus}
    return found.pop() if len(found) == 1 and len(set(nodes.values())) > 1 else -1
