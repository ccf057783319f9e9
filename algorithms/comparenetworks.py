"""Processing algorithm *Compare road networks*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class CompareNetworks(JobAlgorithm):
    """Roads before and after, and places, in; changes, accessibility of the places, and a report out."""

    job_type = jobs.CompareNetworks
    group_id = "network"
    keywords = "change,damage,disaster,before,after,lost,detour,route,access,isolated,graph,line,road"
    renamed: ClassVar = {"after": "INPUT", "changes": "OUTPUT"}
    created = ("changes", "report")
    whole = ("before", "after", "places")
    numbers: ClassVar = {
        "intact.length_m": "Intact length (m)",
        "intact.share": "Intact fraction of the roads before",
        "displaced.length_m": "Displaced length (m)",
        "displaced.share": "Displaced fraction of the roads before",
        "lost.length_m": "Lost length (m)",
        "lost.share": "Lost fraction of the roads before",
        "new.length_m": "New length (m)",
        "new.share": "New fraction of the roads after",
        "shift.east_m": "Eastward offset of the roads after (m)",
        "shift.north_m": "Northward offset of the roads after (m)",
        "routes.cut_off": "Places cut off",
        "routes.interrupted": "Places with a route interrupted only by short gaps",
        "routes.longer": "Places with a longer route",
        "routes.reachable": "Places with an unchanged route",
    }
    styles: ClassVar = {"changes": "changes", "reached": "reached"}
