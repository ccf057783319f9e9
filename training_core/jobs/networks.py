"""Jobs about road networks that are there already: scoring one against another, handing one on to routing."""

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
    VECTOR,
    VECTOR_OUTPUT,
    Job,
    option,
)

# Meters a second of one of each unit that a speed may be given in.
METERS_PER_SECOND = {"km/h": 1 / 3.6, "mph": 0.44704, "m/s": 1.0}


def bridge_option(whose: str) -> str:
    """Return the field that chooses the field of a layer that tells its bridges."""
    return option(
        "",
        f"Bridge field of the {whose}",
        "Field that says which lines are bridges: 1, yes, true, or a kind of bridge. A bridge meets other lines at its "
        "ends alone, and never where it crosses them.",
        kind=FIELD,
    )


def _speed_option(whose: str) -> str:
    return option(
        "",
        f"Speed field of the {whose}",
        "Field with each line's speed. With one for each network, paths are also compared by the time they take; "
        "where it is empty, the median of the others counts.",
        kind=FIELD,
    )


@dataclass(frozen=True)
class NodingOptions(Job):
    """How lines become a graph: shared by every job on road networks."""

    join_m: float = option(
        0.5,
        "Joining distance",
        "Ends of lines as near to each other, or to another line, as this are joined.",
        unit="m",
        minimum=0.001,
        maximum=20,
        advanced=True,
    )


@dataclass(frozen=True)
class GraphOptions(NodingOptions):
    """What lines tell beside their shape: shared by jobs that look at how fast one drives."""

    speed_unit: str = option(
        "km/h", "Unit of speeds", "Unit of the speed fields.", choices=tuple(METERS_PER_SECOND), advanced=True
    )


@dataclass(frozen=True)
class ScoreNetwork(GraphOptions):
    """Score a road network against a true one: APLS, TOPO, completeness, correctness and quality."""

    name: ClassVar[str] = "scorenetwork"
    title: ClassVar[str] = "Score a network"

    truth: str = option("", "True roads", "Lines to score against.", kind=VECTOR, required=True)
    proposal: str = option("", "Proposed roads", "Lines to score, in any CRS.", kind=VECTOR, required=True)
    aoi: str = option(
        "",
        "Area of interest",
        "Polygons within which every true road is drawn; both networks are cut off at its border.",
        kind=VECTOR,
    )
    truth_bridge_field: str = bridge_option("true roads")
    proposal_bridge_field: str = bridge_option("proposed roads")
    truth_speed_field: str = _speed_option("true roads")
    proposal_speed_field: str = _speed_option("proposed roads")
    snap_m: float = option(
        4.0,
        "Snap distance of APLS",
        "How far a control point of one network may lie from the other to be found there. Scores with different "
        "distances must not be compared.",
        unit="m",
        minimum=0.01,
        maximum=100,
    )
    tolerance_m: float = option(
        5.0,
        "Tolerance of completeness",
        "How near to a line of the other network a line must be for completeness, correctness and quality, and to be "
        "matched on the map.",
        unit="m",
        minimum=0.01,
        maximum=100,
    )
    relaxed_m: float = option(
        3.0,
        "Tolerance of relaxed scores",
        "The same for relaxed precision and recall.",
        unit="m",
        minimum=0.01,
        maximum=100,
        advanced=True,
    )
    spacing_m: float = option(
        50.0,
        "Control points of APLS",
        "The farthest that control points are from each other along an edge.",
        unit="m",
        minimum=1,
        maximum=10000,
        advanced=True,
    )
    radius_m: float = option(
        300.0,
        "Radius of TOPO",
        "How far along the roads what can be reached from a seed is compared.",
        unit="m",
        minimum=1,
        maximum=10000,
        advanced=True,
    )
    hole_m: float = option(
        8.0,
        "Hole size of TOPO",
        "How far a marble may lie from the hole that it falls into, and a seed from the proposal.",
        unit="m",
        minimum=0.01,
        maximum=100,
        advanced=True,
    )
    seed_m: float = option(
        30.0, "Seeds of TOPO", "Distance between seeds.", unit="m", minimum=1, maximum=10000, advanced=True
    )
    interval_m: float = option(
        5.0,
        "Holes of TOPO",
        "Distance between holes, and between marbles.",
        unit="m",
        minimum=0.5,
        maximum=1000,
        advanced=True,
    )
    errors: str = option(
        "", "Matched, missed and false", "Where to write lines that tell by `kind` what they are.", kind=VECTOR_OUTPUT
    )
    report: str = option("", "Report", "Where to write the HTML report of the scores.", kind=HTML_OUTPUT)
    scores: str = option("", "Scores", "Where to write the scores as JSON.", kind=JSON_OUTPUT)

    def validate(self) -> None:
        """See Job.validate; also wants the speeds of both networks or of none."""
        super().validate()
        if bool(self.truth_speed_field) != bool(self.proposal_speed_field):
            missing = "proposed roads (proposal" if self.truth_speed_field else "true roads (truth"
            raise JobError(
                f"There is no speed field of the {missing}_speed_field).",
                "Paths are compared by time where both networks have speeds; give both fields or none.",
            )


@dataclass(frozen=True)
class ExportNetwork(GraphOptions):
    """Write a layer of road lines as a graph that networkx and OSMnx find routes in."""

    name: ClassVar[str] = "exportnetwork"
    title: ClassVar[str] = "Export a network for routing"

    lines: str = option("", "Lines", "The roads, in any CRS.", kind=VECTOR, required=True)
    lines_bridge_field: str = bridge_option("lines")
    lines_oneway_field: str = option(
        "",
        "One-way field of the lines",
        "Field that says which lines are one-way: yes, true or 1 in the direction in which they are drawn, -1 or "
        "reverse against it; no, false, 0, 2 or nothing for both.",
        kind=FIELD,
    )
    lines_class_field: str = option(
        "",
        "Class field of the lines",
        "Field of the roads' classes, named as in OpenStreetMap, by which a speed is taken that is usual where the "
        "speed field tells none. The field highway, where there is one, need not be chosen.",
        kind=FIELD,
    )
    lines_speed_field: str = option(
        "",
        "Speed field of the lines",
        "Field with each line's speed, from which the travel time follows.",
        kind=FIELD,
    )
    keep: str = option(
        "all",
        "Components to keep",
        "Whether all connected parts of the network are written, or the longest alone, within which there is a way "
        "from everywhere to everywhere if no road is one-way.",
        choices=("all", "longest"),
    )
    graphml: str = option("", "Graph", "Where to write the graph as GraphML, as OSMnx reads it.", kind=GRAPHML_OUTPUT)
    geopackage: str = option(
        "",
        "Nodes and edges",
        "Where to write the graph as a GeoPackage with the layers nodes and edges, as OSMnx has them.",
        kind=GEOPACKAGE_OUTPUT,
    )

    def validate(self) -> None:
        """See Job.validate; also wants something to write."""
        super().validate()
        if not (self.graphml or self.geopackage):
            raise JobError("There is nothing to write.", "Give a graph (graphml) or nodes and edges (geopackage).")
