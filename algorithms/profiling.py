"""Algorithms of the group *Runtime* that run a job: names of parameters, outputs and styles."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class Profile(JobAlgorithm):
    """What to measure in, and on request an image and a model; where the time goes, and what to change, out."""

    job_type = jobs.Profile
    group_id = "runtime"
    keywords = "performance,speed,benchmark,bottleneck,roofline,flame graph,trace,cpu,memory bandwidth,optimize"
    renamed: ClassVar = {"raster": "INPUT"}
    created = ("report",)
    numbers: ClassVar = {
        "step_s": "Time of a step (s)",
        "images_per_s": "Images per second",
        "peak_share": "Fraction of the processor's peak",
        "unaccounted_share": "Unaccounted fraction of the step",
        "overhead_share": "Profiling overhead, as a fraction of the step",
    }
    words: ClassVar = {"engine": "Engine used", "precision": "Precision used"}


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
