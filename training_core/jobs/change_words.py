"""The fields of a layer of changes, and the words in them, as Compare road networks and people write them.

Scope: names and words. Independent of files; standard library only.
"""

from __future__ import annotations

# The field of changes, and its words.
CHANGE, INTACT, DISPLACED, LOST, NEW = "change", "intact", "displaced", "lost", "new"
CHANGES = (INTACT, DISPLACED, LOST, NEW)
# The field of what people decide; empty where nobody has decided.
REVIEW, ACCEPTED, REJECTED = "review", "accepted", "rejected"
# What people write for either, in text, number and boolean fields.
REVIEW_WORDS = {
    **dict.fromkeys((ACCEPTED, "accept", "yes", "y", "true", "t", "1"), ACCEPTED),
    **dict.fromkeys((REJECTED, "reject", "no", "n", "false", "f", "0"), REJECTED),
}


def word_of(value: object) -> str:
    """Return a value as a word in lower case; None is an empty one."""
    # Whole numbers are read as floats where others are missing.
    return "" if value is None else str(value).strip().lower().removesuffix(".0")


def verdict_of(value: object) -> str:
    """Return ACCEPTED or REJECTED for a value of the field `review` that means it, and any other as a word."""
    word = word_of(value)
    return REVIEW_WORDS.get(word, word)
