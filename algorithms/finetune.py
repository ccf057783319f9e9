"""Fine-tune a model: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.job_algorithm import JobAlgorithm
from ..training_core import jobs


class FineTune(JobAlgorithm):
    """Images and drawn roads in; a model, its report and its scores out."""

    job_type = jobs.FineTune
    renamed: ClassVar = {"rasters": "INPUT"}
    created = ("report",)
    numbers: ClassVar = {
        "images_per_s": "Images a second",
        "steps": "Training steps",
        "validation.iou": "Validation IoU",
        "validation.f1": "Validation F1",
        "validation.precision": "Validation precision",
        "validation.recall": "Validation recall",
    }
    words: ClassVar = {"engine": "Engine that trained"}

    def group(self) -> str:
        """Return the group in the toolbox."""
        return self.tr("Training")

    def groupId(self) -> str:
        """Return the group's id."""
        return "training"

    def tags(self) -> list[str]:
        """Return the words that the toolbox also finds the algorithm by."""
        return self.tr("train,learn,model,deep learning,neural network,road").split(",")
