"""Values of fields as people write them: words such as yes and no, and numbers such as 12.5 or, with a comma, 12,5.

Scope: one value; standard library only. Independent of tables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType

YES = ("yes", "y", "true", "t", "1")
NO = ("no", "n", "false", "f", "0")
NO_UNITS: Mapping[str, float] = MappingProxyType({})
# Units that may follow a length, in meters.
METERS: Mapping[str, float] = MappingProxyType({"m": 1.0, "ft": 0.3048, "'": 0.3048})
# Without separators of thousands, so that 1,234 has one meaning.
_NUMBER = re.compile(r"([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?)\s*(\D*)")


def word_in(value: object) -> str:
    """Return a value as a word in lower case; None is an empty one."""
    # Whole numbers are read as floats where others are missing.
    return "" if value is None else str(value).strip().lower().removesuffix(".0")


def number_in(value: object, units: Mapping[str, float] = NO_UNITS) -> float:
    """Return the number in a value such as ` 12,5 m`; NaN if it is something else, or has another unit."""
    found = _NUMBER.fullmatch(str(value).strip())
    factor = {"": 1.0, **units}.get(found[2]) if found else None
    return math.nan if found is None or factor is None else float(found[1].replace(",", ".")) * factor
