"""The fields of a layer of changes, and the words in them, as Compare road networks and people write them.

Scope: names and words. Independent of files; standard library only.
"""

from __future__ import annotations

from .field_values import NO, YES, word_in

# The field of changes, and its words.
CHANGE, INTACT, DISPLACED, LOST, NEW = "change", "intact", "displaced", "lost", "new"
CHANGES = (INTACT, DISPLACED, LOST, NEW)
# The field of what people decide; empty where nobody has decided.
REVIEW, ACCEPTED, REJECTED = "review", "accepted", "rejected"
# Words for either in text, number and boolean fields.
REVIEW_WORDS = {
    **dict.fromkeys((ACCEPTED, "accept", *YES), ACCEPTED),
    **dict.fromkeys((REJECTED, "reject", *NO), REJECTED),
}


def verdict_of(value: object) -> str:
    """Return ACCEPTED or REJECTED for a value of the field `review` that means it, and any other as a word."""
    word = word_in(value)
    return REVIEW_WORDS.get(word, word)
