"""Processing algorithm *Compare profiles*: names of parameters and outputs of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class CompareProfiles(JobAlgorithm):
    """Two profiles in; what became faster or slower out."""

    job_type = jobs.CompareProfiles
    group_id = "runtime"
    keywords = "performance,speed,benchmark,regression,before,after,faster,slower,difference"
    renamed: ClassVar = {"after": "INPUT"}
    created = ("report",)
    numbers: ClassVar = {
        "step_before_s": "Time of a step before (s)",
        "step_after_s": "Time of a step after (s)",
        "ratio": "Ratio of the times, after to before",
    }
