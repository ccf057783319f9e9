"""Jobs about road networks that are there already: scored, compared with another, handed on to routing."""

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
        usual="bridge",
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
    """Score a road network against a true one: APLS, TOPO, completeness, correctness and quality.

    Compares lines with true lines, each in any coordinate system. APLS compares the lengths of shortest paths, or the
    times they take, and TOPO what can be reached nearby; completeness, correctness, quality and the relaxed scores
    compare lengths alone. Each is told with the distances that it depends on. The layer of errors holds the lines that
    are matched, missed or false.
    """

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
    """Write a layer of road lines as a graph that networkx and OSMnx find routes in.

    Makes a directed graph with lengths and travel times of any layer of lines, as GraphML and as a GeoPackage of nodes
    and edges. Lines are cut where they meet; bridges and one-way roads are honored. QGIS' own network analysis needs no
    such file: it takes the lines as they are, with speed_kmh as its speed field.
    """

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
        usual="oneway",
    )
    lines_class_field: str = option(
        "",
        "Class field of the lines",
        "Field of the roads' classes, named as in OpenStreetMap, by which a speed is taken that is usual where the "
        "speed field tells none. The field highway, where there is one, need not be chosen.",
        kind=FIELD,
        usual="highway",
    )
    lines_speed_field: str = option(
        "",
        "Speed field of the lines",
        "Field with each line's speed, from which the travel time follows.",
        kind=FIELD,
        usual="speed_kmh",
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


@dataclass(frozen=True)
class CompareNetworks(GraphOptions):
    """Compare a road network before with that after: what is intact, lost, new or displaced, and who is cut off.

    Takes the roads before, such as those of OpenStreetMap or of an earlier run, and the roads after, such as those
    found in a new image. Each stretch is intact, displaced, lost or new. For places, the routes before and after are
    compared: which are cut off, and which have a longer way, from the nearest origin of help or among each other.
    """

    name: ClassVar[str] = "comparenetworks"
    title: ClassVar[str] = "Compare road networks"

    before: str = option(
        "", "Roads before", "Lines as they were, such as those of OpenStreetMap.", kind=VECTOR, required=True
    )
    after: str = option(
        "",
        "Roads after",
        "Lines as they are now, such as those found in a new image; in any CRS.",
        kind=VECTOR,
        required=True,
    )
    aoi: str = option(
        "",
        "Area of interest",
        "Polygons where the new image shows the ground. Roads outside are not judged; without it, each road before "
        "that the image does not reach counts as lost.",
        kind=VECTOR,
    )
    places: str = option("", "Places", "Points that people must get to: villages, hospitals, camps.", kind=VECTOR)
    places_name_field: str = option("", "Name field of the places", "Field with each place's name.", kind=FIELD)
    origins: str = option(
        "",
        "Origins",
        "Points that help comes from: depots, airports. The ways from the nearest one are compared; without origins, "
        "the ways to all those places that hang together afterwards.",
        kind=VECTOR,
    )
    origins_name_field: str = option("", "Name field of the origins", "Field with each origin's name.", kind=FIELD)
    damage: str = option(
        "",
        "Confirmed damage",
        "Polygons where roads are known to be blocked. With them, a lost road is closed to routes only where it "
        "touches one, and else counts as there but not seen, as under trees; without them, all lost roads are closed.",
        kind=VECTOR,
    )
    before_bridge_field: str = bridge_option("roads before")
    after_bridge_field: str = bridge_option("roads after")
    before_speed_field: str = _speed_option("roads before")
    after_speed_field: str = _speed_option("roads after")
    tolerance_m: float = option(
        5.0,
        "Tolerance",
        "A road that runs along one of the other network as near as this is intact.",
        unit="m",
        minimum=0.1,
        maximum=100,
    )
    displaced_m: float = option(
        15.0,
        "Largest displacement",
        "A road that has none so near, but one as near as this that is no other's, is displaced. 0 tells none as such.",
        unit="m",
        minimum=0,
        maximum=300,
    )
    place_m: float = option(
        100.0,
        "Distance of places",
        "How far a place or an origin may lie from the nearest road to be on it.",
        unit="m",
        minimum=1,
        maximum=10000,
    )
    align: bool = option(
        True,
        "Align",
        "Take off the shift by which the network before lies aside as a whole, where more roads are intact then. It is "
        "told in any case.",
    )
    routes_on: str = option(
        "after",
        "Routes run on",
        "Which roads there are afterwards. The choice after takes the roads after, as they are drawn, so that each gap "
        "interrupts; remaining takes the roads before that are intact or displaced, and the new ones, so that gaps too "
        "short to be told as lost do not.",
        choices=("after", "remaining"),
    )
    keep_outside: bool = option(
        True,
        "Roads outside remain",
        "Whether routes may use the roads before that lie outside of the area of interest.",
    )
    min_stretch_m: float = option(
        10.0,
        "Shortest stretch",
        "Shorter stretches become part of the longer of their neighbors on the same line.",
        unit="m",
        minimum=0,
        maximum=1000,
        advanced=True,
    )
    parallel_angle: float = option(
        30.0,
        "Angle of parallels",
        "How far the directions of two roads may differ where they are the same road.",
        unit="degrees",
        minimum=1,
        maximum=90,
        advanced=True,
    )
    longer_percent: float = option(
        10.0,
        "Longer route",
        "From how much more than before on a route counts as longer.",
        unit="%",
        minimum=0,
        maximum=1000,
        advanced=True,
    )
    changes: str = option(
        "", "Changes", "Where to write lines that tell by `change` what has become of them.", kind=VECTOR_OUTPUT
    )
    reached: str = option(
        "", "Places and their routes", "Where to write the places with what became of their routes.", kind=VECTOR_OUTPUT
    )
    report: str = option("", "Report", "Where to write the HTML report of the changes.", kind=HTML_OUTPUT)
    numbers: str = option("", "Numbers", "Where to write the numbers as JSON.", kind=JSON_OUTPUT)

    @property
    def reach_m(self) -> float:
        """How far a road may lie from the same road of the other network."""
        return max(self.tolerance_m, self.displaced_m)

    def validate(self) -> None:
        """See Job.validate; also wants speeds of both networks or of none, and places where something is about them."""
        super().validate()
        if bool(self.before_speed_field) != bool(self.after_speed_field):
            missing = "after" if self.before_speed_field else "before"
            raise JobError(
                f"There is no speed field of the roads {missing} ({missing}_speed_field).",
                "Routes are compared by time where both networks have speeds; give both fields or none.",
            )
        for field_name in ("origins", "damage", "reached"):
            if getattr(self, field_name) and not self.places:
                raise JobError(
                    f"There are no places (places), which {field_name} is for.", "Give places, or leave it out."
                )
