"""Review layers: their fields, kinds and answers, and the job that applies the review of a network.

A review layer has lines with a kind (`change`) and a person's answer (`review`). Compare road networks, Draw an
accuracy sample and the Review panel write the kinds, people the answers. Scope: names, words, fields and their texts.
Independent of how lines are shown; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .accuracy_estimates import CROSSING, SAMPLED
from .fields import NO, YES, word_in
from .option import VECTOR, VECTOR_OUTPUT, Job, option

# The field of kinds, and its words: changes, lines of a network, and samples of its accuracy.
CHANGE, INTACT, DISPLACED, LOST, NEW = "change", "intact", "displaced", "lost", "new"
CHANGES = (INTACT, DISPLACED, LOST, NEW)
ROAD = "road"
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
    **dict.fromkeys((NEW, LOST, DISPLACED, ROAD, SAMPLED), VERDICTS),
    CROSSING: tuple("0123456789"),
}
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
class ApplyReview(Job):
    """Apply the review of a network: remove what was rejected, mark what was accepted, and write training labels.

    Each line gets the field status: machine, reviewed or drawn. Unjudged lines stay as they are, or
    roads that a better model extracted anew replace them, beside reviewed and drawn lines and off rejected stretches.
    If two people reviewed the same lines, contradicting answers count as none.

    The labels are for Fine-tune a model: reviewed and drawn lines as drawn roads with the fields width_m and sure,
    rejected stretches as places without a road, and the surroundings of both as area of interest.
    """

    name: ClassVar[str] = "applyreview"
    title: ClassVar[str] = "Apply a review"

    lines: str = option("", "Road network", kind=VECTOR, required=True).help("Network that was reviewed.")
    review: str = option("", "Review", kind=VECTOR, required=True).help(
        "Layer that the Review panel wrote for this network: lines with accepted or rejected in the field review."
    )
    other_review: str = option("", "Other review", kind=VECTOR).help(
        "Such a layer of another person for the same network, or an earlier review of the same ground."
    )
    extracted_anew: str = option("", "Roads extracted anew", kind=VECTOR).help(
        "Roads of the same image from a model that has learned from the review. Within the box around them, they "
        "replace all lines that nobody has judged. No road is added within 50 m of judged lines."
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
