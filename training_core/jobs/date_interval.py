"""Intervals of time as STAC writes them: dates or times of RFC 3339, with `..` for an open end.

Scope: texts and points in time; standard library only. Independent of what was recorded then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timezone

# Fractions of a second decide nothing, and Python before 3.11 reads only some lengths of them.
_FRACTION = re.compile(r"(?<=:\d\d)\.\d+")
_OPEN = ("", "..")
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=timezone.utc), datetime.max.replace(tzinfo=timezone.utc)


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


def _moment(text: str, of_day: time) -> datetime:
    """Return the time that a text means; of a date, the given time in UTC."""
    if len(text) == len("2024-09-01"):
        return datetime.combine(date.fromisoformat(text), of_day, timezone.utc)
    moment = datetime.fromisoformat(_FRACTION.sub("", re.sub("[zZ]$", "+00:00", text)))
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except OverflowError as error:
        raise ValueError("it is beyond all years") from error
