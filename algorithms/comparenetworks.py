"""Compare road networks: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class CompareNetworks(JobAlgorithm):
    """Roads before and after, and places, in; what has changed, who is cut off, and a report out."""

    job_type = jobs.CompareNetworks
    group_id = "network"
    keywords = "change,damage,disaster,before,after,lost,detour,route,access,isolated,graph,line,road"
    renamed: ClassVar = {"after": "INPUT", "changes": "OUTPUT"}
    created = ("changes", "report")
    whole = ("before", "after", "places")
    numbers: ClassVar = {
        "intact.length_m": "Intact length in m",
        "intact.share": "Share of the roads before that is intact",
        "displaced.length_m": "Displaced length in m",
        "displaced.share": "Share of the roads before that is displaced",
        "lost.length_m": "Lost length in m",
        "lost.share": "Share of the roads before that is lost",
        "new.length_m": "New length in m",
        "new.share": "Share of the roads after that is new",
        "shift.east_m": "How far east the network after lies as a whole, in m",
        "shift.north_m": "How far north the network after lies as a whole, in m",
        "routes.cut_off": "Places that are cut off",
        "routes.interrupted": "Places whose route is interrupted by short gaps alone",
        "routes.longer": "Places whose route is longer",
        "routes.reachable": "Places whose route is about as before",
    }
    styles: ClassVar = {"changes": "changes", "reached": "reached"}
