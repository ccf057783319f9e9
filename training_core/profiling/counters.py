"""Counters of the system while steps run: page faults, processor time of this process and of others.

Scope: the process. Independent of the computation.
"""

from __future__ import annotations

import os
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
    """Totals so far: page faults and seconds of this process, and seconds of all processes and virtual machines."""

    wall_s: float
    page_faults: Optional[int]
    user_s: float
    system_s: float
    busy_s: float


def read() -> Reading:
    """Return the totals of the system so far."""
    process, cores = psutil.Process().cpu_times(), psutil.cpu_times()
    faults = None
    if sys.platform != "win32":
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    idle_s = cores.idle + getattr(cores, "iowait", 0.0)
    # Time as a guest is part of user time already.
    busy_s = sum(cores) - idle_s - getattr(cores, "guest", 0.0) - getattr(cores, "guest_nice", 0.0)
    return Reading(time.perf_counter(), faults, process.user, process.system, busy_s)


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
