"""Algorithms of the group *Network*: names of parameters, outputs and styles."""

from __future__ import annotations

from typing import Any, ClassVar

from qgis.core import QgsProcessingContext

from ..qgis_roadseg.layers.image_layer import image_layers, taken_on
from ..qgis_roadseg.toolbox.algorithm import Values
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


class ScoreNetwork(JobAlgorithm):
    """Proposed and true roads in; scores, a report, and matched, missed and false lines out."""

    job_type = jobs.ScoreNetwork
    group_id = "network"
    keywords = "apls,topo,completeness,correctness,quality,accuracy,graph,compare,evaluate,line,road"
    renamed: ClassVar = {"proposal": "INPUT", "errors": "OUTPUT"}
    created = ("errors", "report")
    numbers: ClassVar = {
        "apls.score": "APLS by length",
        "apls.truth_in_proposal.score": "APLS, truth onto proposal",
        "apls.proposal_in_truth.score": "APLS, proposal onto truth",
        "apls_time.score": "APLS by travel time",
        "topo.precision": "TOPO precision",
        "topo.recall": "TOPO recall",
        "topo.f1": "TOPO F1",
        "lines.completeness": "Completeness",
        "lines.correctness": "Correctness",
        "lines.quality": "Quality",
        "relaxed.precision": "Relaxed precision",
        "relaxed.recall": "Relaxed recall",
        "relaxed.f1": "Relaxed F1",
    }
    styles: ClassVar = {"errors": "errors"}


class SampleAccuracy(JobAlgorithm):
    """A network, and a probability on request, in; a layer of places to judge out."""

    job_type = jobs.SampleAccuracy
    group_id = "network"
    keywords = "accuracy,sample,completeness,correctness,validate,review,quality,check,line,road"
    renamed: ClassVar = {"lines": "INPUT", "sample": "OUTPUT"}
    whole = ("lines",)
    numbers: ClassVar = {
        "stretches": "Number of stretches",
        "transects": "Number of transects",
        "transect_length_m": "Length of transects (m)",
        "network_m": "Length of the network (m)",
        "area_m2": "Area (m²)",
    }
    styles: ClassVar = {"sample": "accuracy"}


class CheckAccuracy(JobAlgorithm):
    """A judged sample in; completeness, correctness and their report out."""

    job_type = jobs.CheckAccuracy
    group_id = "network"
    keywords = "accuracy,sample,completeness,correctness,confidence interval,validate,review,quality,report,road"
    renamed: ClassVar = {"sample": "INPUT"}
    created = ("report",)
    whole = ("sample",)
    numbers: ClassVar = {
        "completeness.value": "Completeness",
        "completeness.low": "Completeness, lower limit",
        "completeness.high": "Completeness, upper limit",
        "correctness.value": "Correctness",
        "correctness.low": "Correctness, lower limit",
        "correctness.high": "Correctness, upper limit",
        "f1.value": "F1",
        "judged": "Judged places",
        "more": "Further places for 3 points",
    }


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


class RoadStatus(JobAlgorithm):
    """Known roads, images, sites and districts in; the roads with their state, the sites and a report out."""

    job_type = jobs.RoadStatus
    group_id = "network"
    keywords = (
        "change,damage,disaster,event,flood,landslide,state,status,lost,blocked,bridge,access,isolated,check,report,"
        "before,after,line,road"
    )
    renamed: ClassVar = {"lines": "INPUT", "lines_bridge_field": "BRIDGE_FIELD", "status": "OUTPUT"}
    created = ("report",)
    images_field = "raster"
    whole = ("lines", "sites")
    numbers: ClassVar = {
        "seen_m": "Length that is seen (m)",
        "partly_seen_m": "Length that is partly seen (m)",
        "not_seen_m": "Length that is not seen (m)",
        "under_water_m": "Length under water (m)",
        "in_a_hazard_m": "Length in a hazard (m)",
        "hidden_m": "Hidden length (m)",
        "outside_m": "Length outside (m)",
        "paths.reached_before_m": "Mean length of road that a site reaches before (m)",
        "paths.reached_after_m": "Mean length of road that a site reaches after (m)",
        "paths.cut_off": "Sites cut off",
    }
    styles: ClassVar = {"status": "states", "reached": "reached", "arrows": "arrows"}

    def _plain_options(self, parameters: Values, context: QgsProcessingContext) -> dict[str, Any]:
        options = super()._plain_options(parameters, context)
        layers = [each for name in ("RASTER", "RASTERS") for each in image_layers(self, name, parameters, context)]
        dates = list(map(taken_on, layers))
        return options if options["dates"] or not all(dates) else {**options, "dates": ", ".join(dates)}


class ApplyReview(JobAlgorithm):
    """A network and its review in; the reviewed network, and labels to train on, out."""

    job_type = jobs.ApplyReview
    group_id = "network"
    keywords = "review,accept,reject,correct,merge,status,label,learn,training,line,road"
    renamed: ClassVar = {"lines": "INPUT", "roads": "OUTPUT"}
    whole = ("lines", "review", "other_review", "extracted_anew")
    numbers: ClassVar = {
        "accepted": "Accepted stretches",
        "rejected": "Rejected stretches",
        "contradicted": "Stretches with contradicting answers",
        "not_found": "Judged stretches on no line",
        "machine_m": "Length of lines that nobody judged (m)",
        "reviewed_m": "Length of reviewed lines (m)",
        "drawn_m": "Length of drawn lines (m)",
    }
    styles: ClassVar = {"roads": "roads", "drawn": "drawnroads", "no_road": "noroad", "aoi": "aoi"}


class MakeChallenge(JobAlgorithm):
    """Changes, states or likely breaks in; a file of tasks out."""

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
