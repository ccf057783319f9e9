"""Suggest where to label: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.job_algorithm import JobAlgorithm
from ..training_core import jobs


class SuggestLabels(JobAlgorithm):
    """The probability of a segmented scene in; ranked patches in which a label would help most out."""

    job_type = jobs.SuggestLabels
    renamed: ClassVar = {"raster": "INPUT", "suggestions": "OUTPUT"}
    numbers: ClassVar = {
        "suggested": "Number of suggestions",
        "mean_uncertainty": "Mean uncertainty of the scene (bits)",
    }
    styles: ClassVar = {"suggestions": "suggestions"}

    def group(self) -> str:
        """Return the group in the toolbox."""
        return self.tr("Training")

    def groupId(self) -> str:
        """Return the group's id."""
        return "training"

    def tags(self) -> list[str]:
        """Return the words that the toolbox also finds the algorithm by."""
        return self.tr("active learning,uncertainty,entropy,annotate,draw,digitize,label,area of interest,road").split(
            ","
        )
