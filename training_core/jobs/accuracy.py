"""Accuracy samples of a network: their fields and words, and the jobs that draw and evaluate them.

Scope: names, words, fields and their texts, and places read from features. Independent of how places are drawn;
standard library only, so that QGIS reads samples, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import JobError, shown
from .accuracy_estimates import CROSSING, SAMPLED, Place
from .fields import number_in, word_in
from .option import HTML_OUTPUT, JSON_OUTPUT, RASTER, VECTOR, VECTOR_OUTPUT, Job, advanced_option, option
from .review import ACCEPTED, ANSWERS, CHANGE, REJECTED, REVIEW, answer_of

# The fields of a sample besides those of all layers to review.
STRATUM, STRATUM_SIZE, LENGTH = "stratum", "stratum_size", "length_m"
SAMPLE_FIELDS = (CHANGE, REVIEW, STRATUM, STRATUM_SIZE, LENGTH)
# The field of the order in which places are judged. Some formats, such as FlatGeobuf, sort features by place.
NUMBER = "number"


def sample_of(features: Iterable[Mapping[str, Any]]) -> list[Place]:
    """Return the places of a sample from the values of the SAMPLE_FIELDS of its features, None for empty ones.

    Raises JobError if a feature is no place, a stratum has several sizes, or there are no places of a kind.
    """
    places: list[Place] = []
    sizes: dict[tuple[str, str], float] = {}
    for number, values in enumerate(features, start=1):
        try:
            place = place_of(values)
        except JobError as error:
            raise JobError(f"Feature {number}: {error}") from error
        if sizes.setdefault((place.kind, place.stratum), place.size) != place.size:
            raise JobError(f"The stratum {place.stratum!r} has several sizes.")
        places.append(place)
    for kind in (SAMPLED, CROSSING):
        if not any(place.kind == kind for place in places):
            raise JobError(f"There are no places that are {kind}.")
    return places


def place_of(values: Mapping[str, Any]) -> Place:
    """Return the place that a feature is, from the values of its SAMPLE_FIELDS, None for empty ones.

    Raises JobError if it is of another kind, its numbers are not above 0, or its answer is not understood.
    """
    kind = word_in(values[CHANGE])
    if kind not in (SAMPLED, CROSSING):
        raise JobError(f"The field {CHANGE!r} is {shown(values[CHANGE])}, not {SAMPLED} or {CROSSING}.")
    numbers = {name: number_in(values[name]) for name in (STRATUM_SIZE, LENGTH)}
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            raise JobError(f"The field {name!r} is {shown(values[name])}, not a number above 0.")
    answer = answer_of(kind, values[REVIEW])
    if word_in(values[REVIEW]) and not answer:
        given, known = shown(values[REVIEW]), ", ".join(ANSWERS[kind])
        raise JobError(f"The field {REVIEW!r} of a place that is {kind} is {given}, not one of {known}.")
    counted = {"": None, ACCEPTED: 1, REJECTED: 0}
    count = counted[answer] if answer in counted else int(answer)
    return Place(kind, str(values[STRATUM]), numbers[STRATUM_SIZE], numbers[LENGTH], count)


@dataclass(frozen=True)
class SampleAccuracy(Job):
    """Draw a random sample of places, by which a person finds out how complete and correct a road network is.

    Half of the places are short stretches of the network. The person accepts a stretch if most of it lies on a road,
    and rejects it otherwise. The other places are straight transects across the area. For each of them, the person
    counts the roads that cross it and that the network misses. Places are drawn more densely where errors are likely,
    by the field road_probability of the lines and by a probability raster, and Check accuracy takes this into account.
    Judge the places in the order of their number. You can stop after any of them.
    """

    name: ClassVar[str] = "sampleaccuracy"
    title: ClassVar[str] = "Draw an accuracy sample"

    lines: str = option("", "Road network", kind=VECTOR, required=True).help(
        "Lines of the network to check, with or without the field road_probability, in any CRS."
    )
    raster: str = option("", "Road probability", kind=RASTER).help(
        "Probability raster of Segment roads. With it, more transects are drawn where the network may miss a road."
    )
    aoi: str = option("", "Area of interest", kind=VECTOR).help(
        "Polygons in which the network is checked. Without them, this is the convex hull of the network."
    )
    count: int = option(240, "Number of places", within=(20, 10000)).help(
        "Number of stretches and transects. You need not judge all of them."
    )
    transect_m: float = option(0.0, "Length of transects", unit="m", within=(0, 1000)).help(
        "Length of the transects. With 0, it is chosen so that a transect crosses about one road of the network, from "
        "50 to 300 m."
    )
    stretch_m: float = advanced_option(20.0, "Length of stretches", unit="m", within=(1, 100)).help(
        "Length of the stretches of the network. They are shorter at the ends of lines."
    )
    seed: int = advanced_option(0, "Random seed", within=(0, 2**31 - 1)).help(
        "Seed of the random numbers. The same seed draws the same places."
    )
    sample: str = option("", "Accuracy sample", kind=VECTOR_OUTPUT, required=True).help(
        "Layer of places to write. Set its empty field `review` to accepted or rejected for stretches, and to the "
        "number of missed roads for transects."
    )


@dataclass(frozen=True)
class CheckAccuracy(Job):
    """Estimate how complete and correct a road network is from a judged accuracy sample, with 95 % intervals.

    Takes the layer of Draw an accuracy sample after a person has judged its places in the field review. Completeness is
    the fraction of the true road length that the network has, and correctness is the fraction of its length that is
    road. F1 is their harmonic mean. The result tells how many more places are needed to know both to 3 points. Places
    without a verdict are left out.
    """

    name: ClassVar[str] = "checkaccuracy"
    title: ClassVar[str] = "Check accuracy"

    sample: str = option("", "Judged sample", kind=VECTOR, required=True).help(
        "Layer that Draw an accuracy sample wrote, with the verdicts of a person in the field `review`."
    )
    report: str = option("", "Report", kind=HTML_OUTPUT).help("HTML report of the accuracy to write.")
    numbers: str = option("", "Accuracy", kind=JSON_OUTPUT).help("JSON file of the estimates to write.")
