"""Environment variables that direct a job: limits of cores and memory, and the rank that torchrun or SLURM gives.

QGIS sets the limits from RoadSeg's settings. Scope: these variables. Independent of how cores and memory are counted.
"""

from __future__ import annotations

import os
from typing import Optional

from ..errors import JobError
from ..jobs import MEMORY_VARIABLE, THREADS_VARIABLE

# A process is a rank where all of these are set.
RANK_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# How often torchrun has restarted the ranks.
RESTARTS = "TORCHELASTIC_RESTART_COUNT"


def threads() -> Optional[int]:
    """Return how many cores may be used; None if the variable is unset.

    Raises JobError if the variable is not a whole number above 0.
    """
    text = os.environ.get(THREADS_VARIABLE, "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise JobError(f"The variable {THREADS_VARIABLE} is {text!r}.", "Give a whole number above 0, or unset it.")
    return int(text)


def memory_bytes() -> Optional[int]:
    """Return how many bytes of memory a job may take; None if the variable is unset.

    Raises JobError if the variable is not a number of GB above 0.
    """
    text = os.environ.get(MEMORY_VARIABLE, "").strip()
    if not text:
        return None
    try:
        size_gb = float(text)
    except ValueError:
        size_gb = 0.0
    if not 0 < size_gb < float("inf"):
        raise JobError(f"The variable {MEMORY_VARIABLE} is {text!r}.", "Give a number of GB above 0, or unset it.")
    return int(size_gb * 1e9)


def check() -> None:
    """Check the variables.

    Raises JobError if one is invalid.
    """
    threads()
    memory_bytes()


def is_rank() -> bool:
    """Whether this process is one of several ranks.

    Raises JobError if the number of ranks is not a number.
    """
    return all(os.environ.get(name) for name in RANK_VARIABLES) and number("WORLD_SIZE", 1) > 1


def number(name: str, default: int = 0) -> int:
    """Return the number in a variable.

    Raises JobError if it is not a whole number.
    """
    text = os.environ.get(name, "")
    if text and not (text.isascii() and text.isdecimal()):
        raise JobError(f"The variable {name} is {text!r}.", "Start the job with torchrun, or unset it.")
    return int(text) if text else default
