"""Processing algorithm *Export changes for OpenStreetMap*: names of parameters and numeric outputs of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class ExportChanges(JobAlgorithm):
    """A layer of changes and the extract that they were found with in; a change file out."""

    job_type = jobs.ExportChanges
    group_id = "network"
    keywords = "openstreetmap,osm,osc,osmchange,josm,conflation,new,missing,accepted,review,upload,line,road"
    renamed: ClassVar = {"changes": "INPUT", "osc": "OUTPUT"}
    whole = ("changes",)
    numbers: ClassVar = {
        "roads": "New roads",
        "joined": "Places where new roads join ways of the extract",
        "modified": "Ways with a new node",
        "length_m": "Length of the new roads (m)",
    }
