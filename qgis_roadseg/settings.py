"""RoadSeg's settings in QGIS: their keys, defaults, limits and validation.

Scope: QgsSettings. Independent of the settings page.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from qgis.core import QgsSettings

from ..training_core.jobs import AUTO, DEVICE_VARIABLE, DEVICES, MEMORY_VARIABLE, THREADS_VARIABLE, SegmentOptions
from .translation import tr

KEY = "roadseg"


@dataclass(frozen=True)
class Settings:
    """RoadSeg's settings; the defaults mean that nothing is set.

    Parameters
    ----------
    python : str
        Path of the Python interpreter to compute with; empty for the managed runtime's.
    threads : int
        Processor cores for jobs that set no threads of their own; 0 for all.
    memory_gb : float
        Memory in GB for jobs that set none of their own; 0 leaves it to the job.
    models_folder : str
        Folder of the user's models; empty for none.
    device : str
        Device of `DEVICES` for jobs that name none of their own; empty for auto.
    """

    python: str = ""
    threads: int = 0
    memory_gb: float = 0.0
    models_folder: str = ""
    device: str = ""

    def variables(self) -> dict[str, str]:
        """Return environment variables with limits and device for a worker, but for those that the environment sets."""
        kept = {THREADS_VARIABLE: self.threads, MEMORY_VARIABLE: self.memory_gb, DEVICE_VARIABLE: self.device}
        return {name: str(value) for name, value in kept.items() if value and not os.environ.get(name)}

    def problems(self) -> list[str]:
        """Return a message for each invalid setting."""
        found = []
        if self.python and not (os.path.isfile(self.python) and os.access(self.python, os.X_OK)):
            text = tr("{path} is not an executable file. Choose a Python interpreter, or leave the field empty.")
            found.append(text.format(path=self.python))
        if self.models_folder and not os.path.isdir(self.models_folder):
            text = tr("{path} is not a folder. Choose another folder, or leave the field empty.")
            found.append(text.format(path=self.models_folder))
        return found


def most_threads() -> int:
    """Return the number of processor cores."""
    return os.cpu_count() or 1


def most_memory_gb() -> float:
    """Return the largest memory limit, in GB, that a job accepts."""
    return next(field.option.maximum for field in SegmentOptions.option_fields() if field.name == "memory_gb")


def load(warn: Callable[[str], None] = lambda text: None) -> Settings:
    """Return the stored settings, clamped to their limits; `warn` is called with a message for each invalid one."""
    kept = QgsSettings()
    values = {field.name: kept.value(f"{KEY}/{field.name}") for field in fields(Settings)}
    texts = {name: str(values[name] or "") for name in ("python", "models_folder", "device")}
    return _within(
        Settings(**texts, threads=_number(values, "threads", warn), memory_gb=_number(values, "memory_gb", warn)), warn
    )


def save(settings: Settings) -> None:
    """Store settings, clamped to their limits; defaults are not stored."""
    kept = QgsSettings()
    for name, value in asdict(_within(settings)).items():
        if value:
            kept.setValue(f"{KEY}/{name}", value)
        else:
            kept.remove(f"{KEY}/{name}")


def _number(values: dict[str, Any], name: str, warn: Callable[[str], None]) -> Any:
    kind, text = type(getattr(Settings, name)), values[name]
    try:
        return kind(text or 0)
    except ValueError:
        message = tr("The setting {key} is {text}, which is not a number. The setting is ignored.")
        warn(message.format(key=f"{KEY}/{name}", text=text))
        return kind()


def _within(settings: Settings, warn: Callable[[str], None] = lambda text: None) -> Settings:
    for name, most in (("threads", most_threads()), ("memory_gb", most_memory_gb())):
        value = getattr(settings, name)
        taken = min(max(type(value)(), value), type(value)(most))  # NaN becomes 0
        if taken != value:
            message = tr("The setting {key} is {value}, which is beyond its limits. {taken} is used instead.")
            warn(message.format(key=f"{KEY}/{name}", value=value, taken=taken))
            settings = replace(settings, **{name: taken})
    if settings.device and settings.device not in DEVICES[1:]:
        if settings.device != AUTO:
            message = tr("The setting {key} is {text}, which is no device. The setting is ignored.")
            warn(message.format(key=f"{KEY}/device", text=settings.device))
        settings = replace(settings, device="")
    return settings
