"""Names by which formats store fields: none taken, none twice in another case, none too long.

Scope: names alone, so that the core and QGIS' writers rename alike. Independent of tables and formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Optional

# A GeoPackage's primary key and geometry, and the geometry of a table in memory.
TAKEN = ("fid", "geom", "geometry")


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
