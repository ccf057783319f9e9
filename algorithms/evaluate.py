"""Evaluate a model: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.job_algorithm import JobAlgorithm
from ..training_core import jobs


class Evaluate(JobAlgorithm):
    """Images, true roads and a model in; scores and their report out."""

    job_type = jobs.Evaluate
    renamed: ClassVar = {"rasters": "INPUT"}
    created = ("report",)
    numbers: ClassVar = {
        "pixel.iou": "IoU",
        "pixel.f1": "F1",
        "pixel.precision": "Precision",
        "pixel.recall": "Recall",
        "relaxed.f1": "Relaxed F1",
        "relaxed.precision": "Relaxed precision",
        "relaxed.recall": "Relaxed recall",
        "best.threshold": "Threshold that would have the best F1",
        "best.f1": "F1 at that threshold",
        "pixels": "Pixels scored",
        "road_share": "Share of them that is road",
    }
    words: ClassVar = {"engine": "Engine that ran"}

    def group(self) -> str:
        """Return the group in the toolbox."""
        return self.tr("Training")

    def groupId(self) -> str:
        """Return the group's id."""
        return "training"

    def tags(self) -> list[str]:
        """Return the words that the toolbox also finds the algorithm by."""
        return self.tr("score,accuracy,iou,f1,precision,recall,validate,test,deep learning,road").split(",")
