"""Clean road network: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.job_algorithm import JobAlgorithm
from ..training_core import jobs


class CleanNetwork(JobAlgorithm):
    """Lines in; lines that meet in junctions, and those as points where wanted, out."""

    job_type = jobs.CleanNetwork
    renamed: ClassVar = {"lines": "INPUT", "lines_bridge_field": "BRIDGE_FIELD", "roads": "OUTPUT"}
    whole = ("lines",)
    numbers: ClassVar = {
        "count": "Number of lines",
        "length_m": "Length of all lines (m)",
        "components": "Number of connected components",
    }

    def group(self) -> str:
        """Return the group in the toolbox."""
        return self.tr("Networks")

    def groupId(self) -> str:
        """Return the group's id."""
        return "networks"

    def tags(self) -> list[str]:
        """Return the words that the toolbox also finds the algorithm by."""
        return self.tr("topology,gap,snap,junction,dangle,network,graph,line,road").split(",")
