"""Export a model: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.job_algorithm import JobAlgorithm
from ..training_core import jobs


class ExportModel(JobAlgorithm):
    """A model in; an ONNX file that other programs run out."""

    job_type = jobs.ExportModel
    renamed: ClassVar = {"model": "INPUT", "onnx": "OUTPUT"}
    numbers: ClassVar = {"megabytes": "Size of the file (MB)"}

    def group(self) -> str:
        """Return the group in the toolbox."""
        return self.tr("Training")

    def groupId(self) -> str:
        """Return the group's id."""
        return "training"

    def tags(self) -> list[str]:
        """Return the words that the toolbox also finds the algorithm by."""
        return self.tr("onnx,deepness,share,convert,save,model,road").split(",")
