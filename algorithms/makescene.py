"""Processing algorithm *Make a scene*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class MakeScene(JobAlgorithm):
    """Properties of a scene in; a synthetic image and its true roads out."""

    job_type = jobs.MakeScene
    group_id = "training"
    keywords = "demo,example,synthetic,generate,procedural,test,image,road"
    renamed: ClassVar = {"roads": "OUTPUT"}
    numbers: ClassVar = {"count": "Number of lines", "length_m": "Total length (m)"}
    styles: ClassVar = {"roads": "roads"}
