"""Exceptions that users read: the problem, the layer or file, and a remedy.

Scope: exception types and their codes, and texts without passwords. Independent of everything else; standard library
only, so that QGIS' Python can import it.
"""

from __future__ import annotations

import errno
import re
import reprlib

# Numbers of errors of the system when a disk has no room.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HIDDEN = "***"
# The value of an assignment: quoted, or up to the next one, without the punctuation of the sentence around it.
_VALUE = r"""(?:'(?:[^'\\]|\\.)*'|"[^"]*"|[^\s&|]+?(?=[,;][\w.-]+\s*=|['").,:;]*(?:[\s&|]|$)))"""
_SECRETS = (
    # Databases and addresses have password=..., &token=..., header.Authorization=...
    re.compile(
        r"(?i)((?:(?<![\w-])[\w-]*(?:password|passwd|pwd|token|secret|signature|credential|api_?key|authorization)|\bsig"
        rf"|\bheader\.[\w-]+)\s*=\s*){_VALUE}"
    ),
    # Before the @ of an address, after the user, also where that address is part of another one.
    re.compile(r"(://[^\s/:@]*:)[^\s/]+(?=@)"),
    re.compile(r"(?i)(%3A%2F%2F(?:(?!%3A)[^\s&])*%3A)[^\s&]+?(?=%40)"),
)


def without_passwords(text: str) -> str:
    """Return a text with the passwords and keys in addresses, such as `PG:dbname=roads password=...`, hidden."""
    for secret in _SECRETS:
        text = secret.sub(rf"\g<1>{HIDDEN}", text)
    return text


_SHORTENING = reprlib.Repr()
_SHORTENING.maxstring = _SHORTENING.maxother = 120
_SHORTENING.maxlong = 40


def shown(value: object) -> str:
    """Return a value of unknown origin as messages show it: as in Python's code, and never longer than a few lines."""
    return _SHORTENING.repr(value)


class RoadSegError(Exception):
    """Base class of all errors that RoadSeg raises on purpose.

    The message is the problem, naming the layer, file or field. The remedy is advice to the user. Passwords are hidden.
    """

    code = "error"

    def __init_subclass__(cls, code: str = "", **options: object) -> None:
        super().__init_subclass__(**options)
        cls.code = code or cls.code

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = without_passwords(message)
        self.remedy = without_passwords(remedy)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class JobError(RoadSegError, code="job"):
    """A job's field is missing, of the wrong type, or out of range."""


class ImageryError(RoadSegError, code="imagery"):
    """A raster cannot be read or used."""


class LayerError(RoadSegError, code="layer"):
    """A vector layer, or another file of lines, areas or places, cannot be read or used."""


class LabelError(RoadSegError, code="labels"):
    """Drawn roads or label masks do not label the images."""


class ModelFileError(RoadSegError, code="model"):
    """A model file cannot be read, or does not match the imagery."""


class OutputError(RoadSegError, code="output"):
    """An output cannot be written to the given path."""

    @classmethod
    def incomplete(cls, path: object) -> "OutputError":
        """Return the error for a file that, read back, is not complete."""
        return cls(f"{path} cannot be written completely.", "Make room on the disk, or choose another folder.")


class RuntimeEnvironmentError(RoadSegError, code="runtime"):
    """The runtime (the Python environment of the worker) is missing or incomplete."""


# The set of requirements, a file of resources/runtime, that has a module which only some jobs import.
PACKAGE_SETS = {
    "onnx": "onnx", "openvino": "openvino", "nncf": "quantize", "onnxruntime": "quantize", "osmium": "osm",
    "distributed": "fleet", "pyarrow": "fleet",
}  # fmt: skip
_PACKAGES = "packages:"


class MissingPackagesError(RuntimeEnvironmentError):
    """A module that only some jobs import is not installed. The code names its set, such as `packages:osm`."""

    def __init__(self, module: str) -> None:
        name = PACKAGE_SETS[module]
        super().__init__(
            f"This job needs the package {module}, which is not installed.",
            f"Run Set up runtime with {name} under Also install, and then the job again.",
        )
        self.code = f"{_PACKAGES}{name}"


def missing_set(error: RoadSegError) -> str:
    """Return the set of requirements that an error asks for; empty if it asks for none."""
    return error.code.removeprefix(_PACKAGES) if error.code.startswith(_PACKAGES) else ""


class ResourceError(RoadSegError, code="resources"):
    """The machine has too little memory or disk space for the job."""


class DeviceError(ResourceError):
    """A GPU or another accelerator is missing, or failed while it computed: the CPU can take over."""


class WorkerError(RoadSegError, code="worker"):
    """The worker process crashed, hung, or exited without a result."""


class LostRankError(WorkerError, code="lost rank"):
    """Another rank has ended, or cannot be reached; why is known to whoever watches the ranks."""


class RankError(RoadSegError):
    """The error of another process, under its code."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.code = code


class Cancelled(RoadSegError, code="cancelled"):
    """The user stopped the job."""

    def __init__(self, message: str = "Stopped before it was finished. No output was written.") -> None:
        super().__init__(message)
