"""Review layers: their fields, kinds and answers, and the jobs that find places to review and apply the answers.

A review layer has lines with a kind (`change`), a person's answer (`review`) and perhaps a `priority`. Compare road
networks and these jobs write the kinds, people the answers. Scope: names, words, fields and their texts. Independent of
how places are found and shown; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .accuracy_estimates import CROSSING, SAMPLED
from .fields import NO, YES, word_in
from .option import RASTER, VECTOR, VECTOR_OUTPUT, Job, advanced_option, option

# The field of kinds, and its words: changes, parts of a network, and samples of its accuracy.
CHANGE, INTACT, DISPLACED, LOST, NEW = "change", "intact", "displaced", "lost", "new"
CHANGES = (INTACT, DISPLACED, LOST, NEW)
ROAD, DOUBTFUL, MISSING = "road", "doubtful", "missing"
# The field of what people decide; empty where nobody has decided.
REVIEW, ACCEPTED, REJECTED = "review", "accepted", "rejected"
VERDICTS = (ACCEPTED, REJECTED)
# Words for either in text, number and boolean fields.
REVIEW_WORDS = {
    **dict.fromkeys((ACCEPTED, "accept", *YES), ACCEPTED),
    **dict.fromkeys((REJECTED, "reject", *NO), REJECTED),
}
# The answers that each kind takes: verdicts, or the number of missed roads across a transect, in one digit.
ANSWERS = {
    **dict.fromkeys((NEW, LOST, DISPLACED, ROAD, DOUBTFUL, MISSING, SAMPLED), VERDICTS),
    CROSSING: tuple("0123456789"),
}
# Expected meters of error spared per second; larger comes first.
PRIORITY = "priority"
# Who answered, and when, in UTC; filled in where a layer has them.
REVIEWER, REVIEWED_AT = "reviewer", "reviewed_at"
# The field of a network that tells where a line comes from, and its words.
STATUS, MACHINE, REVIEWED, DRAWN = "status", "machine", "reviewed", "drawn"


def verdict_of(value: object) -> str:
    """Return ACCEPTED or REJECTED for a value of the field `review` that means it, and any other as a word."""
    word = word_in(value)
    return REVIEW_WORDS.get(word, word)


def answer_of(kind: str, value: object) -> str:
    """Return the answer that a value of the field `review` means for a kind of ANSWERS; empty if it means none."""
    answer = verdict_of(value) if ANSWERS[kind] == VERDICTS else word_in(value)
    return answer if answer in ANSWERS[kind] else ""


def reviewed_only_option() -> bool:
    """Return the field `reviewed_only`."""
    return option(False, "Reviewed roads only").help(
        "Take only lines whose field status, written by Apply a review, is reviewed or drawn."
    )


@dataclass(frozen=True)
class ReviewPlaces(Job):
    """Find places to review in an extracted network: lines that may be no road, and roads that may be missing.

    Takes the roads of Extract roads or Vectorize roads, with their field road_probability. Each place has the error in
    meters that reviewing it is expected to spare per second (field priority). Review the layer with the Review panel,
    and write the answers back with Apply a review. Reviewed and drawn lines (field status) are not asked again.
    """

    name: ClassVar[str] = "reviewplaces"
    title: ClassVar[str] = "Find places to review"

    lines: str = option("", "Road network", kind=VECTOR, required=True).help(
        "Lines with the field road_probability, in any CRS."
    )
    probability: str = option("", "Road probability", kind=RASTER).help(
        "Probability raster of Segment roads for the same image. With it, weak roads that the network lacks become "
        "places of the kind missing. Without it, only doubtful lines are found."
    )
    max_length_m: float = advanced_option(100.0, "Longest stretch", unit="m", within=(10, 1000)).help(
        "Maximum length of a place: longer lines are split into equal parts."
    )
    candidate_probability: float = advanced_option(0.2, "Probability of missing roads", within=(0.01, 0.99)).help(
        "Minimum probability of a pixel of a road that may be missing."
    )
    places: str = option("", "Places to review", kind=VECTOR_OUTPUT, required=True).help(
        "Review layer to write: lines with `change` doubtful or missing, and an empty `review`."
    )
    hectares: str = option("", "Expected error", kind=VECTOR_OUTPUT).help(
        "Grid of hectares to write, with the expected length of false and missing roads in each."
    )


@dataclass(frozen=True)
class ApplyReview(Job):
    """Apply a review: remove rejected stretches from a network, add accepted missing roads, and write training labels.

    Accepted missing roads are connected to the network. Each line gets the field status: machine, reviewed or drawn.
    All else stays as it is, or is replaced by roads that a better model extracted anew: beside reviewed and drawn lines
    and off rejected stretches. If two people reviewed the same places, contradicting answers count as none.

    The labels are for Fine-tune a model: reviewed and drawn lines as drawn roads with the fields width_m and sure,
    rejected stretches as places without a road, and the surroundings of both as area of interest.
    """

    name: ClassVar[str] = "applyreview"
    title: ClassVar[str] = "Apply a review"

    lines: str = option("", "Road network", kind=VECTOR, required=True).help(
        "Network in which the places to review were found."
    )
    review: str = option("", "Reviewed places", kind=VECTOR, required=True).help(
        "Layer of Find places to review with answers in the field review."
    )
    other_review: str = option("", "Places reviewed by another person", kind=VECTOR).help(
        "Second copy of that layer, with the answers of another person, or an earlier review of the same ground."
    )
    extracted_anew: str = option("", "Roads extracted anew", kind=VECTOR).help(
        "Roads of the same image from a model that has learned from the review. Within the box around them, they "
        "replace all lines that nobody has judged."
    )
    roads: str = option("", "Reviewed roads", kind=VECTOR_OUTPUT, required=True).help("Network to write.")
    drawn: str = option("", "Drawn roads", kind=VECTOR_OUTPUT).help(
        "Training labels to write: reviewed and drawn lines, and unjudged lines near them with sure = false."
    )
    no_road: str = option("", "No road here", kind=VECTOR_OUTPUT).help(
        "Training labels to write: polygons around rejected stretches."
    )
    aoi: str = option("", "Area of interest", kind=VECTOR_OUTPUT).help(
        "Training labels to write: polygons around all judged stretches."
    )
