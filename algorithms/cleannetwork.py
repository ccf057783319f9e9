"""Processing algorithm *Clean road network*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class CleanNetwork(JobAlgorithm):
    """Lines in; a topologically clean network, and its nodes on request, out."""

    job_type = jobs.CleanNetwork
    group_id = "network"
    keywords = "topology,gap,snap,junction,dangle,network,graph,line,road"
    renamed: ClassVar = {"lines": "INPUT", "lines_bridge_field": "BRIDGE_FIELD", "roads": "OUTPUT"}
    whole = ("lines", "bridges")
    numbers: ClassVar = {
        "count": "Number of lines",
        "length_m": "Total length (m)",
        "components": "Number of connected components",
    }
