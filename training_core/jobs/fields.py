"""Fields of layers: names by which formats store them, and values as people write them.

Names are never taken, never twice in another case, never too long, so that the core and QGIS' writers rename alike.
Values are words such as yes and no, and numbers such as 12.5 or, with a comma, 12,5. Scope: one name or value; standard
library only. Independent of tables and formats.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Optional

# A GeoPackage's primary key and geometry, and the geometry of a table in memory.
TAKEN = ("fid", "geom", "geometry")
YES = ("yes", "y", "true", "t", "1")
NO = ("no", "n", "false", "f", "0")
NO_UNITS: Mapping[str, float] = MappingProxyType({})
# Units that may follow a length, in meters.
METERS: Mapping[str, float] = MappingProxyType({"m": 1.0, "ft": 0.3048, "'": 0.3048})
# Without separators of thousands, so that 1,234 has one meaning.
_NUMBER = re.compile(r"([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?)\s*(\D*)")


def stored_names(names: Sequence[str], taken: Iterable[str] = TAKEN, max_bytes: Optional[int] = None) -> dict[str, str]:
    """Return the name by which each field is stored, in order, with the number of bytes in UTF-8 limited.

    A name that is taken, in any case, gets a number: the second of `Name` and `name` becomes `name_2`. No name that
    another field has is given.
    """
    short = [_cut(name, max_bytes) for name in names]
    used = set(map(str.lower, taken))
    others = set(map(str.lower, short))
    stored = {}
    for name, free in zip(names, short):
        if free.lower() in used:
            endings = (f"_{number}" for number in count(2))
            numbered = (_cut(name, max_bytes, len(ending)) + ending for ending in endings)
            free = next(each for each in numbered if each.lower() not in used and each.lower() not in others)
        used.add(free.lower())
        stored[name] = free
    return stored


def _cut(name: str, max_bytes: Optional[int], reserved_bytes: int = 0) -> str:
    if max_bytes is None:
        return name
    return name.encode()[: max_bytes - reserved_bytes].decode(errors="ignore")


def describe_renamed(stored: dict[str, str]) -> str:
    """Return which fields have another name, as `geom: geom_2, Name: Name_2`; empty if none has."""
    return ", ".join(f"{name}: {other}" for name, other in stored.items() if name != other)


def word_in(value: object) -> str:
    """Return a value as a word in lower case; None is an empty one."""
    # Whole numbers are read as floats where others are missing.
    return "" if value is None else str(value).strip().lower().removesuffix(".0")


def number_in(value: object, units: Mapping[str, float] = NO_UNITS) -> float:
    """Return the number in a value such as ` 12,5 m`; NaN if it is something else, or has another unit."""
    found = _NUMBER.fullmatch(str(value).strip())
    factor = {"": 1.0, **units}.get(found[2]) if found else None
    return math.nan if found is None or factor is None else float(found[1].replace(",", ".")) * factor
