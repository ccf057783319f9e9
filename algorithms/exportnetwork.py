"""Export a network for routing: what the job is to Processing."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class ExportNetwork(JobAlgorithm):
    """Lines in; a graph for networkx and OSMnx, as GraphML and as a GeoPackage where wanted, out."""

    job_type = jobs.ExportNetwork
    group_id = "network"
    keywords = "osmnx,networkx,graphml,routing,shortest path,graph,network,line,road"
    renamed: ClassVar = {
        "lines": "INPUT",
        "lines_bridge_field": "BRIDGE_FIELD",
        "lines_oneway_field": "ONEWAY_FIELD",
        "lines_class_field": "CLASS_FIELD",
        "lines_speed_field": "SPEED_FIELD",
    }
    whole = ("lines",)
    created = ("graphml",)
    numbers: ClassVar = {
        "nodes": "Number of nodes",
        "edges": "Number of directed edges",
        "length_m": "Length of all roads (m)",
        "components": "Number of connected components",
    }
