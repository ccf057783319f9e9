"""Alignment of lines: the displacement field between lines and the roads of an image, or those of another network.

Scope: lines in meters, and what is measured across them. Independent of layers, and of how a field is fitted.

In an image, the offset at a place of a line is the mean of the places across it, weighted by how much more likely they
are road than the mean of all, and by a normal distribution around the line whose width shrinks from turn to turn (mean
shift, with an annealed bandwidth). To another network, it is the distance to the nearest road of similar direction.
`benchmarks/alignment.py` displaces lines by known fields.
"""

from __future__ import annotations

from typing import Optional

import numpy as np
import pyproj
import shapely

from ..geodata.grid import is_on_grid, pixels_on
from ..geodata.parallel_arrays import selected
from ..geodata.pixel_codes import CERTAIN, NO_DATA
from ..networks.displacement import Field, Offsets, find_field
from ..networks.road_graph import Places, RoadGraph, places_along
from ..networks.surroundings import log_odds
from .road_state import View

# Distance of places, and the most of them: anywhere, and on the image.
_SPACING_M, _MAX_ANYWHERE, _MAX_PLACES = 5.0, 1_000_000, 100_000
# Standard deviations of the distribution across a line, and stiffnesses of the field: an offset of all lines comes
# first. Samples across a line reach twice as far.
_TURNS = (*[(10.0, 100.0)] * 4, *[(10.0, 3.0)] * 4, *[(5.0, 3.0)] * 4, *[(2.5, 3.0)] * 4)
_ACROSS_M = 1.0
# So many meters of road across a line, by probability, have the full weight.
_SURE_M = 1.5
# The same of networks. Reaches are parts of the largest. A road that has moved by itself must not move its neighbors.
_APART_M, _MAX_APART = 10.0, 20_000
_OF_REACH, _STIFF = (*[1.0] * 3, *[0.5] * 3, *[0.25] * 3), 30.0
_ARROWS_M, _SHORTEST_ARROW_M = 50.0, 0.05


def field_in_view(view: View, roads: RoadGraph, plane: pyproj.CRS) -> Optional[Field]:
    """Return the field from lines, `as_drawn` in a plane, to the roads in a view; None if no line lies on it."""
    to_pixels = pixels_on(view.grid, plane)
    places = _places(roads, _SPACING_M, _MAX_ANYWHERE)
    length_m = roads.length_m.sum() / max(1, len(places))
    is_on = is_on_grid(view.grid, to_pixels(roads.points_at(places)))
    every = 1 + int(is_on.sum()) // _MAX_PLACES
    places, length_m = selected(places, np.flatnonzero(is_on)[::every]), every * length_m
    if not len(places):
        return None
    points, heading = roads.points_at(places), roads.headings_at(places)
    across = np.column_stack([-heading[:, 1], heading[:, 0]])
    center = to_pixels(points)
    # A meter to the east, to the north and across, in pixels.
    east, north = (to_pixels(points + step) - center for step in ((1.0, 0.0), (0.0, 1.0)))
    step = across[:, :1] * east + across[:, 1:] * north
    # The probability against the threshold, by byte.
    odds = log_odds(np.arange(NO_DATA) / CERTAIN) - log_odds(np.array(view.threshold))
    certainty = np.append(1 / (1 + np.exp(-odds)), np.nan).astype(np.float32)

    def measure(by_m: np.ndarray, reach_m: float) -> Offsets:
        at = center + by_m[:, :1] * east + by_m[:, 1:] * north
        offset_m = np.arange(-2 * reach_m, 2 * reach_m + _ACROSS_M / 2, _ACROSS_M)
        seen = np.stack([certainty[view.at(at + each * step)] for each in offset_m], axis=1)
        known = np.isfinite(seen)
        mean = np.where(known, seen, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        excess = np.maximum(np.where(known, seen - mean[:, None], 0), 0)
        excess *= np.exp(-0.5 * (offset_m / reach_m) ** 2)
        total = excess.sum(axis=1, dtype=np.float64)
        mean_m = np.divide(excess @ offset_m, total, out=np.zeros(len(total)), where=total > 0)
        return Offsets(across, mean_m, length_m * np.minimum(total * _ACROSS_M / _SURE_M, 1))

    return find_field(points, measure, _TURNS)


def field_between(roads: RoadGraph, other: RoadGraph, within_m: float, angle: float) -> Optional[Field]:
    """Return the field from a network to another one; both are `as_drawn`, the first with at least one line.

    None if no place has a counterpart. These lie within `within_m` with directions that differ by at most `angle`
    degrees.
    """
    places = _places(roads, _APART_M, _MAX_APART)
    points, headings = roads.points_at(places), roads.headings_at(places)
    length_m = roads.length_m.sum() / len(places)
    if not (other.nearest(points, within_m, headings, angle)[0].edge >= 0).any():
        return None

    def measure(by_m: np.ndarray, reach_m: float) -> Offsets:
        moved = points + by_m
        nearest, _ = other.nearest(moved, reach_m, headings, angle)
        is_met = nearest.edge >= 0
        there = selected(nearest, is_met)
        across, offset_m = np.zeros((len(points), 2)), np.zeros(len(points))
        across[is_met] = other.headings_at(there)[:, ::-1] * (1, -1)
        offset_m[is_met] = ((other.points_at(there) - moved[is_met]) * across[is_met]).sum(axis=1)
        return Offsets(across, offset_m, length_m * is_met)

    return find_field(points, measure, [(within_m * part, _STIFF) for part in _OF_REACH])


def _places(roads: RoadGraph, spacing_m: float, most: int) -> Places:
    return places_along(roads, max(spacing_m, roads.length_m.sum() / most))


def told(by_m: np.ndarray) -> str:
    """Return displacements, (n, 2) float64, in words."""
    distance_m = np.hypot(*by_m.T)
    return f"{np.median(distance_m):.1f} m in the median, {distance_m.max():.1f} m at most"


def along(field: Field, roads: RoadGraph) -> np.ndarray:
    """Return the displacements evenly along lines, at least one a line: (n, 2) float64."""
    return field.at(roads.points_at(_places(roads, _APART_M, _MAX_APART)))


def arrows_of(field: Field, roads: RoadGraph) -> np.ndarray:
    """Return lines from places along roads to where these are displaced, some centimeters or more: (n,) object."""
    points = roads.points_at(places_along(roads, _ARROWS_M))
    arrows = shapely.linestrings(np.stack([points, field.shifted(points)], axis=1))
    return arrows[shapely.length(arrows) > _SHORTEST_ARROW_M]
