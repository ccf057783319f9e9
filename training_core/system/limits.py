"""What of the machine a job may take where it does not say so itself: cores and memory, by environment variables.

QGIS sets them from RoadSeg's settings. Knows the variables alone; how cores and memory are counted is known elsewhere.
"""

from __future__ import annotations

import os
from typing import Optional

from ..errors import JobError
from ..jobs import MEMORY_VARIABLE, THREADS_VARIABLE


def threads() -> Optional[int]:
    """Return how many cores may be used; None where nobody says.

    Raises
    ------
    JobError
        The variable holds no whole number above 0.
    """
    text = os.environ.get(THREADS_VARIABLE, "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise JobError(f"The variable {THREADS_VARIABLE} is {text!r}.", "Give a whole number above 0, or unset it.")
    return int(text)


def memory_bytes() -> Optional[int]:
    """Return how much memory a job may take; None where nobody says.

    Raises
    ------
    JobError
        The variable holds no number above 0.
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
    """Raise JobError where a variable makes no sense."""
    threads()
    memory_bytes()
