"""Jobs that hand changes of a network to the mappers of OpenStreetMap: tasks, and a file for an editor.

Scope: the fields and their texts. Independent of files and of the form of either result; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .option import CHALLENGE, CHALLENGE_OUTPUT, OSC_OUTPUT, OSM_EXTRACT, VECTOR, Job, option
from .review import reviewed_only_option


@dataclass(frozen=True)
class MakeChallenge(Job):
    """Make a MapRoulette challenge of changes, states or likely breaks: one small task for each place to check.

    Takes the changes of Compare road networks, the roads of State of known roads, or the likely breaks of Extract
    roads, Vectorize roads or Clean road network, and writes the line-by-line GeoJSON that MapRoulette takes for a
    challenge. Each task has an instruction, a length, a priority, and an id by which MapRoulette recognizes it when the
    challenge is rebuilt. If features are selected or filtered, only these become tasks. If any feature is accepted or
    rejected in the field review, only accepted features become tasks.
    """

    name: ClassVar[str] = "makechallenge"
    title: ClassVar[str] = "Make a MapRoulette challenge"

    layer: str = option("", "Changes, states or likely breaks", kind=VECTOR, required=True).help(
        "Lines with the field `change` from Compare road networks or with the field `state` from State of known roads, "
        "or points with the field `kind` from a layer of likely breaks, in any CRS. Roads that are not seen, partly "
        "seen or under water become tasks."
    )
    earlier: str = option("", "Earlier challenge", kind=CHALLENGE).help(
        "File of the last challenge for this area. A new task within 20 m of an earlier task keeps its id, so that "
        "MapRoulette keeps its status."
    )
    extract: str = option("", "Extract of OpenStreetMap", kind=OSM_EXTRACT, needs="osmium").help(
        "The roads before as an .osm or .osm.pbf file. With it, each task for a new road contains the road as a "
        "change that JOSM loads, connected to the ways of the extract. In this case, give the whole layer of changes."
    )
    displaced: bool = option(False, "Displaced roads").help(
        "Make tasks for displaced stretches, too, not only for new and lost ones."
    )
    reviewed_only: bool = reviewed_only_option()
    max_length_m: float = option(500.0, "Longest stretch", unit="m", within=(50, 10000)).help(
        "Maximum length of road in a task: longer stretches are split into equal parts."
    )
    min_length_m: float = option(20.0, "Shortest stretch", unit="m", within=(1, 1000)).help(
        "Minimum length: shorter stretches are left out. Likely breaks of any length become tasks."
    )
    challenge: str = option("", "Challenge", kind=CHALLENGE_OUTPUT, required=True).help(
        "Line-by-line GeoJSON file to write."
    )


@dataclass(frozen=True)
class ExportChanges(Job):
    """Export new roads as a change file for OpenStreetMap (.osc), connected to the ways of an extract.

    Takes the changes of Compare road networks, and the extract with which they were found. If any line is accepted or
    rejected in the field review, only accepted new roads are exported. Otherwise, all new roads are exported. They
    become ways with negative ids and the tags that Export a network for routing writes to OpenStreetMap files. A new
    road that is attached to a road before shares a node with that way. If there is none at that place, a new node is
    added to the way. Nothing else is changed, and lost roads are not deleted. Nothing is uploaded. Check every road
    before you upload it: see the guide.
    """

    name: ClassVar[str] = "exportchanges"
    title: ClassVar[str] = "Export changes for OpenStreetMap"

    changes: str = option("", "Changes", kind=VECTOR, required=True).help(
        "All lines with the field `change` from Compare road networks, not only the new ones, in any CRS."
    )
    extract: str = option("", "Extract of OpenStreetMap", kind=OSM_EXTRACT, required=True, needs="osmium").help(
        "The roads before as an .osm or .osm.pbf file, with the versions of its ways."
    )
    reviewed_only: bool = reviewed_only_option()
    osc: str = option("", "Change file", kind=OSC_OUTPUT, required=True).help("OsmChange file to write, for JOSM.")
