"""What a person has set for RoadSeg in QGIS: the only place that knows the settings, their keys and their limits.

Knows QgsSettings and what of the settings can be; knows nothing of dialogs, nor of what the settings bring about.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from qgis.core import QgsSettings

from ..training_core.jobs import MEMORY_VARIABLE, THREADS_VARIABLE, SegmentOptions
from .translation import tr

KEY = "roadseg"


@dataclass(frozen=True)
class Settings:
    """RoadSeg's settings; the defaults mean that the person has set nothing.

    Parameters
    ----------
    python : str
        The Python that computes, instead of the managed runtime's.
    threads : int
        Processor cores that a job may use which does not say so itself; 0 are all.
    memory_gb : float
        Memory that such a job may take; 0 leaves it to the job.
    models_folder : str
        Where the person keeps models.
    """

    python: str = ""
    threads: int = 0
    memory_gb: float = 0.0
    models_folder: str = ""

    def variables(self) -> dict[str, str]:
        """Return the environment variables that tell a worker what it may take; those that are set count first."""
        limits = {THREADS_VARIABLE: self.threads, MEMORY_VARIABLE: self.memory_gb}
        return {name: str(value) for name, value in limits.items() if value and not os.environ.get(name)}

    def refusals(self) -> list[str]:
        """Return, for the person, what of these settings cannot be."""
        told = []
        if self.python and not (os.path.isfile(self.python) and os.access(self.python, os.X_OK)):
            told.append(tr("{path} is no program. Choose a Python, or none.").format(path=self.python))
        if self.models_folder and not os.path.isdir(self.models_folder):
            told.append(tr("{path} is no folder. Choose another one, or none.").format(path=self.models_folder))
        return told


def most_threads() -> int:
    """Return how many cores there are."""
    return os.cpu_count() or 1


def most_memory_gb() -> float:
    """Return the largest memory that a job takes for one."""
    return next(field.option.maximum for field in SegmentOptions.option_fields() if field.name == "memory_gb")


def load(tell: Callable[[str], None] = lambda text: None) -> Settings:
    """Return the settings as they are kept; what is beyond its limits there is taken at them.

    Parameters
    ----------
    tell : callable
        Hears, in words, of what was not taken as it is kept.
    """
    kept = QgsSettings()
    values = {field.name: kept.value(f"{KEY}/{field.name}") for field in fields(Settings)}
    texts = {name: str(values[name] or "") for name in ("python", "models_folder")}
    return _within(
        Settings(**texts, threads=_number(values, "threads", tell), memory_gb=_number(values, "memory_gb", tell)), tell
    )


def save(settings: Settings) -> None:
    """Keep settings, within their limits; what is at its default is not kept."""
    kept = QgsSettings()
    for name, value in asdict(_within(settings)).items():
        if value:
            kept.setValue(f"{KEY}/{name}", value)
        else:
            kept.remove(f"{KEY}/{name}")


def _number(values: dict[str, Any], name: str, tell: Callable[[str], None]) -> Any:
    kind, text = type(getattr(Settings, name)), values[name]
    try:
        return kind(text or 0)
    except ValueError:
        tell(
            tr("The setting {key} is {text}, which is no number; it is not used.").format(
                key=f"{KEY}/{name}", text=text
            )
        )
        return kind()


def _within(settings: Settings, tell: Callable[[str], None] = lambda text: None) -> Settings:
    """Return the settings with numbers that are within their limits."""
    for name, most in (("threads", most_threads()), ("memory_gb", most_memory_gb())):
        value = getattr(settings, name)
        taken = min(max(type(value)(), value), type(value)(most))  # what is no number at all becomes 0
        if taken != value:
            told = tr("The setting {key} is {value}; {taken} is taken.")
            tell(told.format(key=f"{KEY}/{name}", value=value, taken=taken))
            settings = replace(settings, **{name: taken})
    return settings
