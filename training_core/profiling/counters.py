"""Counters of the system while steps run: page faults, processor time of this process and of others.

Scope: the process. Independent of the computation.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Optional

import psutil

from .profile import Counters

if sys.platform != "win32":
    import resource


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
    return Reading(time.perf_counter(), faults, waits, process.user, process.system, busy_s)


def counters(before: Reading, after: Reading, steps: int, threads: int, cores: int) -> Counters:
    """Return the counters per step between two readings, for a number of threads on so many cores."""
    wall_s = after.wall_s - before.wall_s
    system_s = after.system_s - before.system_s
    own_s = after.user_s - before.user_s + system_s
    others_s = max(0.0, after.busy_s - before.busy_s - own_s)
    return Counters(
        page_faults=_per_step(before.page_faults, after.page_faults, steps),
        system_share=system_s / own_s if own_s else None,
        stolen_share=others_s / (wall_s * cores) if wall_s else None,
        busy_share=own_s / (wall_s * threads) if wall_s else None,
        waits=_per_step(before.waits, after.waits, steps),
    )


def _per_step(before: Optional[int], after: Optional[int], steps: int) -> Optional[float]:
    return None if before is None or after is None else (after - before) / steps
