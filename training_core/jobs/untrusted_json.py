"""JSON of unknown origin, parsed within limits: no duplicate keys, no NaN, no absurd numbers, no deep nesting.

Scope: text to plain values. Independent of what the document means; standard library only.
"""

from __future__ import annotations

import json
import math
from typing import Any

# Far beyond what jobs and model cards hold, and far below what a recursive function bears.
DEEPEST = 32
# Every integer that a float or a file's size may stand for; longer ones only cost time.
_MAX_DIGITS = 20


def parse(text: str) -> Any:
    """Return the value of a JSON text.

    Raises
    ------
    ValueError
        It is no JSON; a key stands twice in an object; a number is NaN, infinite or has too many digits; or lists and
        objects are nested deeper than DEEPEST.
    """
    try:
        document = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_refuse_constant
        )
    except RecursionError as error:
        raise ValueError("The JSON is nested too deeply.") from error
    _check_depth(document)
    return document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("A key of the JSON stands twice in an object.")
    return members


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > _MAX_DIGITS:
        raise ValueError("A number of the JSON has too many digits.")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("A number of the JSON is too large.")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"The JSON has the number {name}.")


def _check_depth(document: Any) -> None:
    level, depth = [document], 0
    while level:
        if depth > DEEPEST:
            raise ValueError("The JSON is nested too deeply.")
        parents = [
            each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list))
        ]
        level, depth = [child for children in parents for child in children], depth + 1
