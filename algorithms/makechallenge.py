"""Processing algorithm *Make a MapRoulette challenge*: names of parameters and numeric outputs of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class MakeChallenge(JobAlgorithm):
    """Changes or likely breaks in; a file of tasks out."""

    job_type = jobs.MakeChallenge
    group_id = "network"
    keywords = "maproulette,openstreetmap,osm,task,challenge,mapper,check,change,break,geojson,road"
    renamed: ClassVar = {"layer": "INPUT", "challenge": "OUTPUT"}
    whole = ("layer",)
    numbers: ClassVar = {
        "tasks": "Number of tasks",
        "kept": "Tasks that keep an earlier id",
        "too_short": "Stretches left out as too short",
    }
