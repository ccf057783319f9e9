"""A road that is being drawn: the places that were clicked, and the lines between them.

Scope: points and numbers in the CRS of the line layer. Independent of maps, layers and workers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from qgis.core import QgsPointXY


@dataclass
class Leg:
    """The line to a clicked place from the one before; unknown until the worker has answered."""

    end: QgsPointXY
    points: Optional[list[QgsPointXY]] = None
    probability: Optional[float] = None
    width_m: Optional[float] = None


@dataclass
class Route:
    """A road from its first clicked place on."""

    start: QgsPointXY
    legs: list[Leg] = field(default_factory=list)

    @property
    def end(self) -> QgsPointXY:
        """The place that was clicked last."""
        return self.legs[-1].end if self.legs else self.start

    @property
    def is_complete(self) -> bool:
        """Whether the worker has answered for all legs."""
        return all(leg.points is not None for leg in self.legs)

    def points(self) -> list[QgsPointXY]:
        """Return the whole line; legs that are not known yet are straight."""
        points, place = [self.start], self.start
        for leg in self.legs:
            # Each clicked place is a vertex, and no place is one twice.
            points += [*(leg.points or [place, leg.end])[1:-1], leg.end]
            place = leg.end
        return points

    def mean(self, name: str) -> Optional[float]:
        """Return the mean of a number of the legs (`probability`, `width_m`) by their lengths; None if none has it."""
        known = [(leg, getattr(leg, name)) for leg in self.legs if getattr(leg, name) is not None]
        lengths = [sum(a.distance(b) for a, b in zip(leg.points, leg.points[1:])) for leg, _ in known]
        total = sum(lengths)
        return round(sum(length * value for length, (_, value) in zip(lengths, known)) / total, 3) if total else None
