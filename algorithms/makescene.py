"""Make a scene: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class MakeScene(JobAlgorithm):
    """What kind of scene in; an image, generated, and its true roads out."""

    job_type = jobs.MakeScene
    group_id = "training"
    keywords = "demo,example,synthetic,generate,procedural,test,image,road"
    renamed: ClassVar = {"roads": "OUTPUT"}
    numbers: ClassVar = {"count": "Number of lines", "length_m": "Length of all lines (m)"}
    styles: ClassVar = {"roads": "roads"}
