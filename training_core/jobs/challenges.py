"""Jobs that hand changes of a network to the mappers of OpenStreetMap: as tasks, and as a file for an editor.

Scope: the fields and their texts. Independent of the form of either; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .option import CHALLENGE, CHALLENGE_OUTPUT, OSC_OUTPUT, OSM_EXTRACT, VECTOR, Job, option


@dataclass(frozen=True)
class MakeChallenge(Job):
    """Make a MapRoulette challenge of changes or likely breaks: one small task for each place to check.

    Takes the changes of Compare road networks, or the likely breaks of Extract roads, Vectorize roads or Clean road
    network, and writes the line-by-line GeoJSON that MapRoulette takes for a challenge. Each task has an instruction,
    a length, a priority, and an id by which MapRoulette knows it again when the challenge is rebuilt. Selected or
    filtered features alone become tasks; where any is accepted or rejected in the field review, only the accepted ones.
    """

    name: ClassVar[str] = "makechallenge"
    title: ClassVar[str] = "Make a MapRoulette challenge"

    layer: str = option(
        "",
        "Changes or likely breaks",
        "Lines with `change` as Compare road networks writes them, or points with `kind` as in the layer of likely "
        "breaks; in any CRS.",
        kind=VECTOR,
        required=True,
    )
    earlier: str = option(
        "",
        "Earlier challenge",
        "File of the last challenge of this area: tasks within 20 m of one there keep its id, so that MapRoulette "
        "keeps what is done.",
        kind=CHALLENGE,
    )
    extract: str = option(
        "",
        "Extract of OpenStreetMap",
        "The roads before as a file in .osm or .osm.pbf. With it, each task of a new road holds the road as a change "
        "that is loaded into JOSM, connected to the ways of the extract. Give the whole layer of changes then.",
        kind=OSM_EXTRACT,
    )
    displaced: bool = option(
        False, "Displaced roads", "Make tasks of displaced stretches, too, not only of new and lost ones."
    )
    max_length_m: float = option(
        500.0,
        "Longest stretch",
        "Maximum length of road in a task: longer stretches are split into equal parts.",
        unit="m",
        within=(50, 10000),
    )
    min_length_m: float = option(
        20.0,
        "Shortest stretch",
        "Minimum length: shorter stretches are left out. Likely breaks of any length are tasks.",
        unit="m",
        within=(1, 1000),
    )
    challenge: str = option(
        "", "Challenge", "Line-by-line GeoJSON file to write.", kind=CHALLENGE_OUTPUT, required=True
    )


@dataclass(frozen=True)
class ExportChanges(Job):
    """Export new roads as a change file for OpenStreetMap (.osc), connected to the ways of an extract.

    Takes the changes of Compare road networks, and the extract that they were found with. Where any line is accepted or
    rejected in the field review, only the accepted new roads are exported, otherwise all. They are ways with negative
    ids and the tags of the OpenStreetMap files of Export a network for routing. Where one is attached to a road before,
    it shares the node there, or a new node is put into that way. Nothing else is changed, and lost roads are not
    deleted. Nothing is uploaded: whoever does so must first check every road, see the guide.
    """

    name: ClassVar[str] = "exportchanges"
    title: ClassVar[str] = "Export changes for OpenStreetMap"

    changes: str = option(
        "",
        "Changes",
        "Lines with `change` as Compare road networks writes them, all of them, not only the new ones; in any CRS.",
        kind=VECTOR,
        required=True,
    )
    extract: str = option(
        "",
        "Extract of OpenStreetMap",
        "The roads before as a file in .osm or .osm.pbf, with the versions of its ways.",
        kind=OSM_EXTRACT,
        required=True,
    )
    osc: str = option("", "Change file", "OsmChange file to write, for JOSM.", kind=OSC_OUTPUT, required=True)
