"""The errors a person is meant to read: what is wrong, in which layer or file, and what to do about it.

Knows nothing but the standard library, so that QGIS' Python can import it.
"""

from __future__ import annotations


class RoadSegError(Exception):
    """Root of every error RoadSeg raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong, naming the layer, file or field.
    remedy : str
        What the person at the screen can do about it.
    """

    code = "error"

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class JobError(RoadSegError):
    """A job's field is missing, of the wrong kind, or out of its range."""

    code = "job"


class ImageryError(RoadSegError):
    """A raster cannot be read or used."""

    code = "imagery"


class LabelError(RoadSegError):
    """Drawn roads or an area of interest cannot be read or used."""

    code = "labels"


class ModelFileError(RoadSegError):
    """A model file cannot be read, or does not fit the imagery."""

    code = "model"


class OutputError(RoadSegError):
    """An output cannot be written where it was asked for."""

    code = "output"


class RuntimeEnvironmentError(RoadSegError):
    """The Python environment that computes is missing or incomplete."""

    code = "runtime"


class ResourceError(RoadSegError):
    """The machine has too little memory or disk for what was asked."""

    code = "resources"


class WorkerError(RoadSegError):
    """The worker process died, hung, or ended without a result."""

    code = "worker"


class Cancelled(RoadSegError):
    """The person stopped the job."""

    code = "cancelled"

    def __init__(self, message: str = "Stopped before it was finished; no output was written.") -> None:
        super().__init__(message)
