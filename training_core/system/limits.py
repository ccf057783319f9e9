"""Resource limits from environment variables: cores and memory for jobs that set no limits themselves.

QGIS sets them from RoadSeg's settings. Scope: these variables. Independent of how cores and memory are counted.
"""

from __future__ import annotations

import os
from typing import Optional

from ..errors import JobError
from ..jobs import MEMORY_VARIABLE, THREADS_VARIABLE


def threads() -> Optional[int]:
    """Return how many cores may be used; None if the variable is unset.

    Raises
    ------
    JobError
        The variable is not a whole number above 0.
    """
    text = os.environ.get(THREADS_VARIABLE, "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise JobError(f"The variable {THREADS_VARIABLE} is {text!r}.", "Give a whole number above 0, or unset it.")
    return int(text)


def memory_bytes() -> Optional[int]:
    """Return how many bytes of memory a job may take; None if the variable is unset.

    Raises
    ------
    JobError
        The variable is not a number of GB above 0.
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

    Raises
    ------
    JobError
        One is invalid.
    """
    threads()
    memory_bytes()
