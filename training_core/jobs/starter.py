"""The starter models that are shipped with RoadSeg, and the names that stand for their files.

Scope: paths. Independent of what the files hold; standard library only.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import ModelFileError
from .option import MODEL, STARTER, STARTER_RESNET34, Job

FOLDER = Path(__file__).resolve().parents[2] / "resources" / "starter"
FILES = {STARTER: "roads.safetensors", STARTER_RESNET34: "roads_resnet34.safetensors"}


def has_starter() -> bool:
    """Whether this copy of RoadSeg contains the starter model."""
    return (FOLDER / FILES[STARTER]).is_file()


def model_path(model: str) -> str:
    """Return the path of a model, where the name of a starter stands for a shipped one.

    Raises ModelFileError if a starter is asked for that this copy of RoadSeg does not contain.
    """
    if model not in FILES:
        return model
    path = FOLDER / FILES[model]
    if not path.is_file():
        raise ModelFileError(
            f"This copy of RoadSeg comes without its starter model {model} ({path}).",
            "Choose a model file instead; a base model may be left empty to train from random weights.",
        )
    return str(path)


def with_model_paths(job: Job) -> Job:
    """Return a job with the names of starters replaced by their paths; see `model_path`.

    Raises ModelFileError if a starter is asked for that this copy of RoadSeg does not contain.
    """
    fields = [field for field in job.option_fields() if field.option.kind == MODEL]
    return replace(job, **{field.name: model_path(getattr(job, field.name)) for field in fields})
