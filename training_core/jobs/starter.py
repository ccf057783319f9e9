"""The model that comes with RoadSeg, and the word that means it wherever a model is asked for.

Knows where its file lies, and only the standard library; knows nothing of what is in it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import ModelFileError
from .option import MODEL, STARTER, Job

PATH = Path(__file__).resolve().parents[2] / "resources" / "starter" / "roads.safetensors"


def has_starter() -> bool:
    """Whether this copy of RoadSeg has the model."""
    return PATH.is_file()


def model_path(model: str) -> str:
    """Return the file that an option of the kind MODEL means.

    Raises
    ------
    ModelFileError
        It is the starter, which this copy of RoadSeg does not have.
    """
    if model != STARTER:
        return model
    if not has_starter():
        raise ModelFileError(
            f"This copy of RoadSeg comes without its starter model ({PATH}).",
            "Choose a model file instead; a base model may be left empty, so that learning starts fresh.",
        )
    return str(PATH)


def with_model_paths(job: Job) -> Job:
    """Return a job with the files that its models mean; see `model_path`."""
    fields = [field for field in job.option_fields() if field.option.kind == MODEL]
    return replace(job, **{field.name: model_path(getattr(job, field.name)) for field in fields})
