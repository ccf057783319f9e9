"""Processing algorithm *Suggest where to label*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class SuggestLabels(JobAlgorithm):
    """Road probability of a scene in; ranked patches to label next out."""

    job_type = jobs.SuggestLabels
    group_id = "training"
    keywords = "active learning,uncertainty,entropy,annotate,draw,digitize,label,area of interest,road"
    renamed: ClassVar = {"raster": "INPUT", "suggestions": "OUTPUT"}
    numbers: ClassVar = {
        "suggested": "Number of suggested patches",
        "mean_uncertainty": "Mean uncertainty of the scene",
    }
    styles: ClassVar = {"suggestions": "suggestions"}
