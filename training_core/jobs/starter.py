"""The starter model that is shipped with RoadSeg, and the name `starter` that stands for its file.

Scope: the path of the file. Independent of its content; standard library only.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import ModelFileError
from .option import MODEL, STARTER, Job

PATH = Path(__file__).resolve().parents[2] / "resources" / "starter" / "roads.safetensors"


def has_starter() -> bool:
    """Whether this copy of RoadSeg contains the starter model."""
    return PATH.is_file()


def model_path(model: str) -> str:
    """Return the path of a model, where `starter` stands for the shipped one.

    Raises
    ------
    ModelFileError
        The starter is asked for, but this copy of RoadSeg does not contain it.
    """
    if model != STARTER:
        return model
    if not has_starter():
        raise ModelFileError(
            f"This copy of RoadSeg comes without its starter model ({PATH}).",
            "Choose a model file instead; a base model may be left empty to train from random weights.",
        )
    return str(PATH)


def with_model_paths(job: Job) -> Job:
    """Return a job with `starter` replaced by the path of the shipped model; see `model_path`.

    Raises
    ------
    ModelFileError
        The starter is asked for, but this copy of RoadSeg does not contain it.
    """
    fields = [field for field in job.option_fields() if field.option.kind == MODEL]
    return replace(job, **{field.name: model_path(getattr(job, field.name)) for field in fields})
