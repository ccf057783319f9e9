"""Exceptions that users read: what is wrong, in which layer or file, and what to do about it.

Scope: exception types and their codes. Independent of everything else; standard library only, so that QGIS' Python can
import it.
"""

from __future__ import annotations

import reprlib

_SHORTENING = reprlib.Repr()
_SHORTENING.maxstring = _SHORTENING.maxother = 120
_SHORTENING.maxlong = 40


def shown(value: object) -> str:
    """Return a value of unknown origin as messages show it: as in Python's code, and never longer than a few lines."""
    return _SHORTENING.repr(value)


class RoadSegError(Exception):
    """Base class of all errors that RoadSeg raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong, naming the layer, file or field.
    remedy : str
        What the user can do about it.
    """

    code = "error"

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class JobError(RoadSegError):
    """A job's field is missing, of the wrong type, or out of range."""

    code = "job"


class ImageryError(RoadSegError):
    """A raster cannot be read or used."""

    code = "imagery"


class LabelError(RoadSegError):
    """Drawn roads or an area of interest cannot be read or used."""

    code = "labels"


class ModelFileError(RoadSegError):
    """A model file cannot be read, or does not match the imagery."""

    code = "model"


class OutputError(RoadSegError):
    """An output cannot be written to the given path."""

    code = "output"


class RuntimeEnvironmentError(RoadSegError):
    """The runtime (the Python environment of the worker) is missing or incomplete."""

    code = "runtime"


class ResourceError(RoadSegError):
    """The machine has too little memory or disk space for the job."""

    code = "resources"


class WorkerError(RoadSegError):
    """The worker process crashed, hung, or exited without a result."""

    code = "worker"


class Cancelled(RoadSegError):
    """The user stopped the job."""

    code = "cancelled"

    def __init__(self, message: str = "Stopped before it was finished; no output was written.") -> None:
        super().__init__(message)
