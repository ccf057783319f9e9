"""Counters of the system while steps run: page faults, processor time of this process and of others, busy threads.

Scope: the process and its threads. Independent of the computation.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Optional

import numpy as np
import psutil

from ..system.timing import are_known, ran_ns, thread_ids
from .profile import Counters, ThreadLoad

if sys.platform != "win32":
    import resource

# Samples are taken more often than loads are reported: the system counts only at its ticks.
LOAD_INTERVAL_S, _SAMPLE_INTERVAL_S = 0.02, 0.005
# A thread that runs for a smaller fraction of the time is idle.
_IDLE = 0.01


@dataclass(frozen=True)
class Reading:
    """Totals so far: seconds of this process as user and system, and of all processes and virtual machines as busy."""

    wall_s: float
    page_faults: Optional[int]
    waits: Optional[int]
    user_s: float
    system_s: float
    busy_s: float


def read() -> Reading:
    """Return the totals of the system so far."""
    process, cores = psutil.Process().cpu_times(), psutil.cpu_times()
    faults, waits = None, None
    if sys.platform != "win32":
        used = resource.getrusage(resource.RUSAGE_SELF)
        faults, waits = used.ru_minflt, used.ru_nivcsw
    idle_s = cores.idle + getattr(cores, "iowait", 0.0)
    # Time as a guest is part of user time already.
    busy_s = sum(cores) - idle_s - getattr(cores, "guest", 0.0) - getattr(cores, "guest_nice", 0.0)
    return Reading(
        time.perf_counter(),
        faults,
        waits,
        process.user,
        process.system,
        busy_s,
    )


def counters(before: Reading, after: Reading, steps: int, threads: int, cores: int) -> Counters:
    """Return the counters per step between two readings, for a number of threads on so many cores."""
    wall_s = after.wall_s - before.wall_s
    system_s = after.system_s - before.system_s
    own_s = after.user_s - before.user_s + system_s
    others_s = max(0.0, after.busy_s - before.busy_s - own_s)
    return Counters(
        _per_step(before.page_faults, after.page_faults, steps),
        system_s / own_s if own_s else None,
        others_s / (wall_s * cores) if wall_s else None,
        own_s / (wall_s * threads) if wall_s else None,
        _per_step(before.waits, after.waits, steps),
    )


def _per_step(before: Optional[int], after: Optional[int], steps: int) -> Optional[float]:
    return None if before is None or after is None else (after - before) / steps


class LoadSampler:
    """Samples for how long each thread of this process was on a processor so far.

    The thread that makes it is the main one; Python's others read data, and those of libraries compute.
    """

    def __init__(self) -> None:
        self._samples: list[tuple[float, dict[int, int]]] = []
        self._main, self._others = threading.get_native_id(), set[int]()

    def loads(self, begin_s: float, end_s: float) -> tuple[ThreadLoad, ...]:
        """Return how busy each thread was between two moments, in seconds since 1970: the busiest first, none idle."""
        edges_s = np.arange(begin_s, end_s + LOAD_INTERVAL_S / 2, LOAD_INTERVAL_S)
        loads: list[tuple[int, np.ndarray]] = []
        for number in {number for _, sample in self._samples for number in sample}:
            seen = [(at_s, sample[number]) for at_s, sample in self._samples if number in sample]
            # The system counts only at its ticks: between two changes, the thread was as busy all the time.
            changes = [here for before, here in zip([(0.0, -1), *seen], seen) if here[1] != before[1]]
            times_s, totals_ns = zip(*changes, (max(seen[-1][0], changes[-1][0]), changes[-1][1]))
            busy = np.diff(np.interp(edges_s, times_s, totals_ns)) / 1e9 / LOAD_INTERVAL_S
            if busy.size and busy.mean() > _IDLE:
                loads.append((number, np.minimum(busy, 1.0)))
        loads.sort(key=lambda load: -load[1].sum())
        compute = [number for number, _ in loads if number != self._main and number not in self._others]
        names = {number: f"compute thread {place}" for place, number in enumerate(compute, 1)}
        names |= {**dict.fromkeys(self._others, "data thread"), self._main: "main thread"}
        return tuple(ThreadLoad(names[number], tuple(busy.tolist()), LOAD_INTERVAL_S) for number, busy in loads)

    def sample(self) -> None:
        """Take a sample; the thread that does so is left out."""
        own = threading.get_native_id()
        self._others |= {thread.native_id for thread in threading.enumerate() if thread.native_id} - {own}
        self._samples.append((time.time(), {thread: ran_ns(thread) for thread in thread_ids() - {own}}))


@contextmanager
def sampled_loads() -> Iterator[LoadSampler]:
    """Sample the threads' loads within the context; does nothing where the system does not provide them."""
    sampler, has_begun, is_over = LoadSampler(), threading.Event(), threading.Event()

    def run() -> None:
        sampler.sample()
        has_begun.set()
        while not is_over.wait(_SAMPLE_INTERVAL_S):
            sampler.sample()
        sampler.sample()

    if not are_known():
        yield sampler
        return
    thread = threading.Thread(target=run, name="thread loads", daemon=True)
    thread.start()
    has_begun.wait()
    try:
        yield sampler
    finally:
        is_over.set()
        thread.join()
