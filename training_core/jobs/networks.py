"""Jobs on existing road networks: scoring (APLS, TOPO), change detection, export for routing.

Scope: the fields and their texts. Independent of how networks are compared; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError
from .option import (
    FIELD,
    GEOPACKAGE_OUTPUT,
    GRAPHML_OUTPUT,
    HTML_OUTPUT,
    JSON_OUTPUT,
    OSM_OUTPUT,
    VECTOR,
    VECTOR_OUTPUT,
    Job,
    advanced_option,
    option,
)
from .review import reviewed_only_option

# Conversion factors to meters per second, by unit of speed.
METERS_PER_SECOND = {"km/h": 1 / 3.6, "mph": 0.44704, "m/s": 1.0}
# Probability below which a line asks a mapper for a check: it is more likely no road than one.
DOUBTFUL_BELOW = 0.5


def bridge_option(whose: str) -> str:
    """Return the field that names the bridge field of a layer."""
    return option("", f"Bridge field of the {whose}", kind=FIELD, usual="bridge").help(
        "Field that marks bridges: 1, yes, true, or a kind of bridge. A bridge connects to other lines only at its "
        "ends, not where it crosses them."
    )


def _speed_option(whose: str) -> str:
    return option("", f"Speed field of the {whose}", kind=FIELD).help(
        "Field with the speed on each line. If both networks have one, paths are also compared by travel time. Lines "
        "without a value get the median of the others."
    )


def _require_both_speeds(networks: dict[str, str], job: Job) -> None:
    """Raise JobError if one of two networks, by the name of its roads and its prefix of fields, lacks a speed field."""
    missing = [name for name, prefix in networks.items() if not getattr(job, f"{prefix}_speed_field")]
    if len(missing) == 1:
        raise JobError(
            f"The speed field of the {missing[0]} ({networks[missing[0]]}_speed_field) is missing.",
            "Comparing travel times needs the speeds of both networks: give both fields or none.",
        )


@dataclass(frozen=True)
class NodingOptions(Job):
    """Options of every job that turns lines into a graph (noding)."""

    join_m: float = advanced_option(0.5, "Joining distance", unit="m", within=(0.001, 20)).help(
        "Noding tolerance: line ends within this distance of each other or of another line are connected."
    )


@dataclass(frozen=True)
class GraphOptions(NodingOptions):
    """Options of every job that reads speeds of lines."""

    speed_unit: str = advanced_option("km/h", "Speed unit", choices=tuple(METERS_PER_SECOND)).help(
        "Unit of the speed fields."
    )


@dataclass(frozen=True)
class ScoreNetwork(GraphOptions):
    """Score a road network against a true one: APLS, TOPO, completeness, correctness and quality.

    Compares proposed lines with true lines. Each layer may have any CRS. APLS compares the lengths or travel times of
    shortest paths. TOPO compares the parts of the network that are reachable from many seeds. Completeness,
    correctness, quality and the relaxed scores compare lengths regardless of topology. Each score is reported with the
    distances on which it depends. The error layer holds matched, missed and false lines.
    """

    name: ClassVar[str] = "scorenetwork"
    title: ClassVar[str] = "Score a network"

    truth: str = option("", "True roads", kind=VECTOR, required=True).help("Ground truth: the lines to score against.")
    proposal: str = option("", "Proposed roads", kind=VECTOR, required=True).help("Lines to score, in any CRS.")
    aoi: str = option("", "Area of interest", kind=VECTOR).help(
        "Polygons in which every true road is drawn; both networks are clipped to them."
    )
    truth_bridge_field: str = bridge_option("true roads")
    proposal_bridge_field: str = bridge_option("proposed roads")
    truth_speed_field: str = _speed_option("true roads")
    proposal_speed_field: str = _speed_option("proposed roads")
    snap_m: float = option(4.0, "Snap distance of APLS", unit="m", within=(0.01, 100)).help(
        "Maximum distance at which control points of one network are snapped to the other. Scores with different snap "
        "distances are not comparable."
    )
    tolerance_m: float = option(5.0, "Tolerance of completeness", unit="m", within=(0.01, 100)).help(
        "Buffer width of completeness, correctness and quality, and of the error layer: maximum distance of matched "
        "lines from the other network."
    )
    relaxed_m: float = advanced_option(3.0, "Tolerance of relaxed scores", unit="m", within=(0.01, 100)).help(
        "Buffer width of relaxed precision and recall."
    )
    spacing_m: float = advanced_option(50.0, "Control point spacing of APLS", unit="m", within=(1, 10000)).help(
        "Maximum distance between control points along an edge."
    )
    radius_m: float = advanced_option(300.0, "Radius of TOPO", unit="m", within=(1, 10000)).help(
        "Maximum network distance from a seed to the holes and marbles that are compared."
    )
    hole_m: float = advanced_option(8.0, "Matching distance of TOPO", unit="m", within=(0.01, 100)).help(
        "Maximum distance between a marble and the hole with which it is matched, and between a seed and the proposed "
        "roads."
    )
    seed_m: float = advanced_option(30.0, "Seed spacing of TOPO", unit="m", within=(1, 10000)).help(
        "Distance between seeds along the roads."
    )
    interval_m: float = advanced_option(5.0, "Sampling interval of TOPO", unit="m", within=(0.5, 1000)).help(
        "Distance between holes along the true roads, and between marbles along the proposed ones."
    )
    errors: str = option("", "Matched, missed and false", kind=VECTOR_OUTPUT).help(
        "Error layer to write: lines with `kind` matched, missed or false."
    )
    report: str = option("", "Report", kind=HTML_OUTPUT).help("HTML report of the scores to write.")
    scores: str = option("", "Scores", kind=JSON_OUTPUT).help("JSON file of the scores to write.")

    def _check_together(self) -> None:
        super()._check_together()
        _require_both_speeds({"true roads": "truth", "proposed roads": "proposal"}, self)


@dataclass(frozen=True)
class ExportNetwork(GraphOptions):
    """Export road lines as a routable graph for NetworkX and OSMnx, or as an OpenStreetMap file for routers and JOSM.

    Builds a directed graph with lengths and travel times from any layer of lines, as GraphML and as a GeoPackage of
    nodes and edges. Lines are split where they meet. Bridges and one-way roads are respected. QGIS' own network
    analysis does not need these files: it takes the lines as they are, with speed_kmh as the speed field.

    The OpenStreetMap file has one way per line, with shared nodes at junctions and the tags highway, oneway,
    bridge, tunnel, width, layer, name, ref, surface, lanes, maxspeed and source. In an .osm file, objects have the
    negative ids of new objects. In an .osm.pbf file, which is for routers, ids count from 1. Nothing is uploaded.
    Check every road before you upload it: see the guide.
    """

    name: ClassVar[str] = "exportnetwork"
    title: ClassVar[str] = "Export a network for routing"

    lines: str = option("", "Lines", kind=VECTOR, required=True).help("Roads to export, in any CRS.")
    lines_bridge_field: str = bridge_option("lines")
    lines_oneway_field: str = option("", "One-way field of the lines", kind=FIELD, usual="oneway").help(
        "Field that marks one-way roads: yes, true, 1, F or FT in the direction of the line; -1, reverse, T or TF "
        "against it; N for closed; no, false, 0, 2, B or empty for both directions. Other values count as both."
    )
    lines_class_field: str = option("", "Class field of the lines", kind=FIELD, usual="highway").help(
        "Field with the road classes, named as in OpenStreetMap. Lines without a speed get the usual speed of their "
        "class. If no field is chosen, the field highway is used."
    )
    lines_speed_field: str = option("", "Speed field of the lines", kind=FIELD, usual="speed_kmh").help(
        "Field with the speed on each line, from which travel times are computed."
    )
    keep: str = option("all", "Components to keep", choices=("all", "longest")).help(
        "Export all connected components, or only the longest. In it, every node is reachable from every other if no "
        "road is one-way."
    )
    reviewed_only: bool = reviewed_only_option()
    graphml: str = option("", "Graph", kind=GRAPHML_OUTPUT).help("GraphML file to write, as OSMnx reads it.")
    geopackage: str = option("", "Nodes and edges", kind=GEOPACKAGE_OUTPUT).help(
        "GeoPackage to write, with the layers nodes and edges in the schema of OSMnx."
    )
    osm: str = option("", "OpenStreetMap file", kind=OSM_OUTPUT, needs="osmium").help(
        "File to write, ending in .osm for JOSM and OSMnx, or in .osm.pbf for OSRM and Valhalla. Lines with a "
        f"road_probability below {DOUBTFUL_BELOW:g} get the tag fixme. Without that field, the field confidence "
        "decides."
    )

    def _check_together(self) -> None:
        super()._check_together()
        if not (self.graphml or self.geopackage or self.osm):
            raise JobError(
                "There is nothing to write.",
                "Give a graph (graphml), nodes and edges (geopackage) or an OpenStreetMap file (osm).",
            )


@dataclass(frozen=True)
class CompareNetworks(GraphOptions):
    """Compare road networks before and after: detect changes, and find places that are cut off or have longer routes.

    Takes the roads before, for example from OpenStreetMap or an earlier run, and the roads after, for example extracted
    from a new image. Each stretch is classified as intact, displaced, lost or new. The accessibility of places is
    compared by their routes before and after, either from the nearest origin of help or between the places.
    """

    name: ClassVar[str] = "comparenetworks"
    title: ClassVar[str] = "Compare road networks"

    before: str = option("", "Roads before", kind=VECTOR, required=True).help(
        "Road lines before the change, for example from OpenStreetMap, in any CRS."
    )
    after: str = option("", "Roads after", kind=VECTOR, required=True).help(
        "Road lines after the change, for example extracted from a new image, in any CRS."
    )
    aoi: str = option("", "Area of interest", kind=VECTOR).help(
        "Polygons in which roads are compared: the footprint of the new image. Without them, all roads before that "
        "the image does not cover count as lost."
    )
    places: str = option("", "Places", kind=VECTOR).help(
        "Points whose accessibility is compared: villages, hospitals, camps."
    )
    places_name_field: str = option("", "Name field of the places", kind=FIELD).help(
        "Field with the names of the places."
    )
    origins: str = option("", "Origins", kind=VECTOR).help(
        "Points from which help comes, such as depots and airports. Routes from the nearest origin are compared. "
        "Without origins, routes to all places in the largest group that is connected afterwards are compared."
    )
    origins_name_field: str = option("", "Name field of the origins", kind=FIELD).help(
        "Field with the names of the origins."
    )
    damage: str = option("", "Confirmed damage", kind=VECTOR).help(
        "Polygons in which roads are known to be blocked. Lost roads that touch one are closed to routes. Other lost "
        "roads count as open but hidden, for example under trees. Without these polygons, all lost roads are closed."
    )
    before_bridge_field: str = bridge_option("roads before")
    after_bridge_field: str = bridge_option("roads after")
    before_speed_field: str = _speed_option("roads before")
    after_speed_field: str = _speed_option("roads after")
    tolerance_m: float = option(5.0, "Tolerance", unit="m", within=(0.1, 100)).help(
        "Maximum distance of an intact road from the other network."
    )
    displaced_m: float = option(15.0, "Largest displacement", unit="m", within=(0, 300)).help(
        "Maximum offset of a displaced road from its counterpart. A counterpart matches one road only. 0 finds no "
        "displaced roads."
    )
    attach_m: float = option(10.0, "Attaching distance", unit="m", within=(0, 100)).help(
        "Maximum distance at which the end of a new road is attached to a road before. An end is attached if the "
        "network after continues there, or if it is a dead end that points at the road. Crossings become vertices, "
        "too. 0 leaves new roads as they are."
    )
    place_m: float = option(100.0, "Distance of places", unit="m", within=(1, 10000)).help(
        "Maximum distance at which places and origins are snapped to the nearest road."
    )
    align: bool = option(True, "Align").help(
        "Correct the offset between the networks, which may vary smoothly over the area, if this makes more roads "
        "intact (co-registration). The offset is always reported."
    )
    routes_on: str = option("after", "Routes run on", choices=("after", "remaining")).help(
        "Network for the routes afterwards. With after, routes use the roads after as they are, so every gap "
        "interrupts a route. With remaining, routes use the intact, displaced and new roads, so a gap that is too "
        "short to count as lost does not interrupt a route."
    )
    keep_outside: bool = option(True, "Roads outside remain").help(
        "Routes afterwards may use the roads before that lie outside the area of interest."
    )
    min_stretch_m: float = advanced_option(10.0, "Shortest stretch", unit="m", within=(0, 1000)).help(
        "Minimum length of a change: shorter stretches are merged into the longer neighbor on the same line."
    )
    parallel_angle: float = advanced_option(30.0, "Maximum angle", unit="degrees", within=(1, 90)).help(
        "Maximum difference in direction between a road and its counterpart."
    )
    longer_percent: float = advanced_option(10.0, "Longer route", unit="%", within=(0, 1000)).help(
        "Minimum increase in length or travel time of a route that counts as longer."
    )
    changes: str = option("", "Changes", kind=VECTOR_OUTPUT).help(
        "Change layer to write: lines with `change` intact, displaced, lost or new, and an empty `review` to set to "
        "accepted or rejected."
    )
    reached: str = option("", "Places and their routes", kind=VECTOR_OUTPUT).help(
        "Places to write, with the status, lengths and times of their routes."
    )
    report: str = option("", "Report", kind=HTML_OUTPUT).help("HTML report of the changes to write.")
    numbers: str = option("", "Statistics", kind=JSON_OUTPUT).help("JSON file of the statistics to write.")

    @property
    def reach_m(self) -> float:
        """Maximum distance in meters between a road and its counterpart: intact or displaced."""
        return max(self.tolerance_m, self.displaced_m)

    def _check_together(self) -> None:
        super()._check_together()
        _require_both_speeds({"roads before": "before", "roads after": "after"}, self)
        for field_name in ("origins", "damage", "reached"):
            if getattr(self, field_name) and not self.places:
                raise JobError(
                    f"The option {field_name} needs places (places).",
                    f"Give places, or leave out {field_name}.",
                )
