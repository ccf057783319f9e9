"""Numbers as people write them in fields: 12.5, or 12,5 as spreadsheets have it where the comma separates decimals.

Scope: one value; standard library only. Independent of tables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType

NO_UNITS: Mapping[str, float] = MappingProxyType({})
# Units that may follow a length, in meters.
METERS: Mapping[str, float] = MappingProxyType({"m": 1.0, "ft": 0.3048, "'": 0.3048})
# Without separators of thousands, so that 1,234 has one meaning.
_NUMBER = re.compile(r"([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?)\s*(\D*)")


def number_in(value: object, units: Mapping[str, float] = NO_UNITS) -> float:
    """Return the number in a value such as ` 12,5 m`; NaN if it is something else, or has another unit."""
    found = _NUMBER.fullmatch(str(value).strip())
    factor = {"": 1.0, **units}.get(found[2]) if found else None
    return math.nan if found is None or factor is None else float(found[1].replace(",", ".")) * factor
