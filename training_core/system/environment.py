"""Environment variables that direct a job: limits of cores and memory, the device, and the rank of torchrun or SLURM.

QGIS sets limits and device from RoadSeg's settings. Scope: these variables. Independent of how cores and memory are
counted.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Optional

from ..errors import JobError
from ..jobs import AUTO, DEVICE_VARIABLE, DEVICES, MEMORY_VARIABLE, THREADS_VARIABLE

# A process is a rank where all of these are set.
RANK_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# How often torchrun has restarted the ranks.
RESTARTS = "TORCHELASTIC_RESTART_COUNT"


def threads() -> int:
    """Return how many cores may be used; 0 if the variable is unset. Raises JobError if it is not a number above 0."""
    return number(THREADS_VARIABLE, least=1)


def memory_bytes() -> Optional[int]:
    """Return how many bytes a job may take; None if the variable is unset. Raises JobError if it is not a number."""
    text = os.environ.get(MEMORY_VARIABLE, "").strip()
    if not text:
        return None
    with suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return int(float(text) * 1e9)
    raise JobError(f"The variable {MEMORY_VARIABLE} is {text!r}.", "Give a number of GB above 0, or unset it.")


def device() -> str:
    """Return the device of jobs that name none; auto if the variable is unset. Raises JobError if there is no such."""
    text = os.environ.get(DEVICE_VARIABLE, "").strip() or AUTO
    if text not in DEVICES:
        raise JobError(
            f"The variable {DEVICE_VARIABLE} is {text!r}.", f"Give one of {', '.join(DEVICES)}, or unset it."
        )
    return text


def check() -> None:
    """Check the limits and the device. Raises JobError if one is invalid."""
    threads()
    memory_bytes()
    device()


def is_rank() -> bool:
    """Whether this process is one of several ranks. Raises JobError if their number is not one."""
    return all(os.environ.get(name) for name in RANK_VARIABLES) and number("WORLD_SIZE") > 1


def number(name: str, default: int = 0, least: int = 0) -> int:
    """Return the number in a variable, or the default if it is unset.

    Raises JobError if it is not a whole number, `least` or more.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        kind = "a whole number above 0" if least else "a whole number"
        raise JobError(f"The variable {name} is {text!r}.", f"Give {kind}, or unset it.")
    return int(text)
