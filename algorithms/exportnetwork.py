"""Processing algorithm *Export a network for routing*: names of parameters, numeric outputs and styles of the job."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..training_core import jobs


class ExportNetwork(JobAlgorithm):
    """Lines in; a graph for NetworkX and OSMnx out, as GraphML and on request as GeoPackage or for OpenStreetMap."""

    job_type = jobs.ExportNetwork
    group_id = "network"
    keywords = "openstreetmap,josm,osrm,valhalla,osmnx,networkx,graphml,routing,shortest path,graph,network,line,road"
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
        "length_m": "Total length (m)",
        "components": "Number of connected components",
    }
