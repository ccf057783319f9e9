"""Make a scene: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.job_algorithm import JobAlgorithm
from ..training_core import jobs


class MakeScene(JobAlgorithm):
    """A size and a seed in; an image, generated, and its true roads out."""

    job_type = jobs.MakeScene
    renamed: ClassVar = {"roads": "OUTPUT"}
    numbers: ClassVar = {
        "count": "Number of lines",
        "length_m": "Length of all lines (m)",
        "resolution_m": "Ground resolution (m)",
    }
    styles: ClassVar = {"roads": "roads"}

    def group(self) -> str:
        """Return the group in the toolbox."""
        return self.tr("Training")

    def groupId(self) -> str:
        """Return the group's id."""
        return "training"

    def tags(self) -> list[str]:
        """Return the words that the toolbox also finds the algorithm by."""
        return self.tr("demo,example,synthetic,generate,procedural,test,image,road").split(",")
