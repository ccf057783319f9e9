"""The job that turns changes or likely breaks of a network into tasks for the mappers of OpenStreetMap.

Scope: the fields and their texts. Independent of the form of tasks; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .option import CHALLENGE, CHALLENGE_OUTPUT, VECTOR, Job, option


@dataclass(frozen=True)
class MakeChallenge(Job):
    """Make a MapRoulette challenge of changes or likely breaks: one small task for each place to check.

    Takes the changes of Compare road networks, or the likely breaks of Extract roads, Vectorize roads or Clean road
    network, and writes the line-by-line GeoJSON that MapRoulette takes for a challenge. Each task has an instruction,
    a length, a priority, and an id by which MapRoulette knows it again when the challenge is rebuilt. Selected or
    filtered features alone become tasks.
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
