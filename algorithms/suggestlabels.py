"""Suggest where to label: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class SuggestLabels(JobAlgorithm):
    """The probability of a segmented scene in; ranked patches in which a label would help most out."""

    job_type = jobs.SuggestLabels
    group_id = "training"
    keywords = "active learning,uncertainty,entropy,annotate,draw,digitize,label,area of interest,road"
    renamed: ClassVar = {"raster": "INPUT", "suggestions": "OUTPUT"}
    numbers: ClassVar = {
        "suggested": "Number of suggestions",
        "mean_uncertainty": "Mean uncertainty of the scene",
    }
    styles: ClassVar = {"suggestions": "suggestions"}
