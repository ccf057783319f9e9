"""Fields of layers and values as people write them: names, words, numbers, and intervals of time.

Names are never taken, never twice in another case, never too long, so that the core and QGIS' writers rename alike.
Values are words such as yes and no, and numbers such as 12.5 or, with a comma, 12,5. Intervals are those of STAC: dates
or times of RFC 3339, with `..` for an open end. Scope: one name or value; standard library only. Independent of tables
and formats.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from itertools import count
from types import MappingProxyType
from typing import Optional

# A GeoPackage's primary key and geometry, and the geometry of a table in memory.
TAKEN = ("fid", "geom", "geometry")
# Fields, in lower case, by which a layer of OpenStreetMap has the identifiers of its features: those of GDAL, QuickOSM,
# HOT and Geofabrik; of overpass turbo; of ohsome; of QuickOSM.
OSM_IDENTIFIERS = ("osm_id", "@id", "@osmid", "full_id")
YES = ("yes", "y", "true", "t", "1")
NO = ("no", "n", "false", "f", "0")
NO_UNITS: Mapping[str, float] = MappingProxyType({})
# Units that may follow a length, in meters.
METERS: Mapping[str, float] = MappingProxyType({"m": 1.0, "ft": 0.3048, "'": 0.3048})
# No separators of thousands, so that 1,234 has one meaning.
_NUMBER = re.compile(r"([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?)\s*(\D*)")
# Fractions of a second decide nothing, and Python before 3.11 reads only some lengths of them.
_FRACTION = re.compile(r"(?<=:\d\d)\.\d+")
_OPEN = ("", "..")
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=timezone.utc), datetime.max.replace(tzinfo=timezone.utc)


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


@dataclass(frozen=True)
class DateInterval:
    """The time from `start` to `end` in UTC, both included; all of it by default."""

    start: datetime = _EARLIEST
    end: datetime = _LATEST

    def overlaps(self, other: DateInterval) -> bool:
        """Whether both have a moment in common."""
        return self.start <= other.end and other.start <= self.end

    def rfc3339(self) -> str:
        """Return the interval as a STAC API takes it."""
        return "/".join(
            ".." if each in (_EARLIEST, _LATEST) else each.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
            for each in (self.start, self.end)
        )


ALL_TIME = DateInterval()


def parse_interval(text: str) -> DateInterval:
    """Return the interval that a text such as `2024-09-01/2024-09-30` or `2024-09-27/..` means; all time if empty.

    A date stands for its whole day in UTC, a single date or time for an interval of itself. Raises ValueError if the
    text is no interval.
    """
    if not text:
        return ALL_TIME
    start, *ends = text.strip().split("/")
    end = ends[0] if ends else start
    if len(ends) > 1 or (start in _OPEN and end in _OPEN):
        raise ValueError("it is no interval")
    interval = DateInterval(
        _EARLIEST if start in _OPEN else _moment(start, time.min), _LATEST if end in _OPEN else _moment(end, time.max)
    )
    if interval.start > interval.end:
        raise ValueError("it ends before it begins")
    return interval


def parse_moments(text: str) -> list[datetime]:
    """Return the dates or times, in UTC, of a text such as `2024-09-29, 2024-09-27T10:30Z`; raise ValueError."""
    return [_moment(each.strip(), time.min) for each in text.split(",")] if text.strip() else []


def _moment(text: str, of_day: time) -> datetime:
    """Return the time that a text means; of a date, the given time in UTC."""
    if len(text) == len("2024-09-01"):
        return datetime.combine(date.fromisoformat(text), of_day, timezone.utc)
    moment = datetime.fromisoformat(_FRACTION.sub("", re.sub("[zZ]$", "+00:00", text)))
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except OverflowError as error:
        raise ValueError("it is beyond all years") from error
