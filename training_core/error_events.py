"""Exceptions as error events: what went wrong, in words for the person at the screen.

Scope: any exception that a job may raise. Independent of where the events go.
"""

from __future__ import annotations

import traceback

from . import events
from .errors import Cancelled, RoadSegError, without_passwords
from .events import Reporter
from .system.outputs import NO_ROOM

MAX_MESSAGE = 10_000
# How PyTorch and Python put it that there is no memory.
_NO_MEMORY = ("not enough memory", "can't allocate memory", "can't start new thread")


def explain(error: BaseException, reporter: Reporter) -> events.Error:
    """Return an exception as an error event; the traceback of an unexpected one goes to the log."""
    if isinstance(error, KeyboardInterrupt):
        error = Cancelled()
    if isinstance(error, RoadSegError):
        return events.Error(error.code, _shortened(error.message), error.remedy)
    if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY):
        return events.Error(
            "resources",
            "There is not enough memory for this job.",
            "Run it on a part of the image or layer, or lower the tile size, chip size or batch size.",
        )
    if "Too many open files" in str(error):  # some libraries say so in errors of their own
        return events.Error(
            "resources", "Too many files are open.", "Raise the limit of open files (ulimit -n), or give fewer rasters."
        )
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return events.Error("output", "The disk is full.", "Make room, or choose another folder for the outputs.")
    reporter.log("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    return events.Error(
        "unexpected",
        _shortened(without_passwords(f"Unexpected error: {type(error).__name__}: {error}")),
        "The log has the details. Please report the error with the log.",
    )


def _shortened(message: str) -> str:
    """Return a message without its middle where it is too long to read: names of layers and bands may be."""
    half = MAX_MESSAGE // 2
    return message if len(message) <= MAX_MESSAGE else f"{message[:half]} ... {message[-half:]}"
