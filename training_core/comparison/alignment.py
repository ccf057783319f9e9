"""Alignment of lines: the displacement field between lines and the roads of an image, or those of another network.

Scope: lines in meters, and what is measured across them. Independent of layers, and of how a field is fitted.

In an image, the offset at a place of a line is the mean of the places across it, weighted by how much more likely they
are road than the mean of all, and by a normal distribution around the line whose width shrinks from turn to turn (mean
shift, with an annealed bandwidth). To another network, it is the distance to the nearest road of similar direction.
`benchmarks/alignment.py` displaces lines by known fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Optional

import numpy as np

from ..geodata.parallel_arrays import selected
from ..geodata.pixel_codes import CERTAIN, NO_DATA
from ..networks.displacement import Field, Offsets, find_field
from ..networks.road_graph import Places, RoadGraph, places_along
from ..networks.surroundings import log_odds
from .road_state import View

_SPACING_M, _MAX_PLACES = 5.0, 100_000
# Standard deviations of the distribution across a line; samples reach twice as far.
_IN_IMAGE_M, _ACROSS_M = np.repeat([10.0, 5.0, 2.5], 4), 1.0
# So many meters of road across a line, by probability, have the full weight.
_SURE_M = 1.5
_STIFFNESS = 2.0
# The same of networks. Reaches are parts of the largest. A road that has moved by itself must not move its neighbors.
_APART_M, _MAX_APART = 10.0, 50_000
_OF_REACH, _STIFF = np.repeat([1.0, 0.5, 0.25], 3), 30.0


def field_in_view(view: View, roads: RoadGraph, to_pixels: Callable[[np.ndarray], np.ndarray]) -> Field:
    """Return the field from lines to the roads that a view shows.

    Roads are `as_drawn`, at least one. `to_pixels` leads from points of their plane, (n, 2) float64, to columns and
    rows of the view.
    """
    places = _places(roads, _SPACING_M, _MAX_PLACES)
    points, heading = roads.points_at(places), roads.headings_at(places)
    across = np.column_stack([-heading[:, 1], heading[:, 0]])
    center = to_pixels(points)
    # A meter to the east, to the north and across, in pixels.
    east, north = (to_pixels(points + step) - center for step in ((1.0, 0.0), (0.0, 1.0)))
    step = across[:, :1] * east + across[:, 1:] * north
    # The probability against the threshold, by byte.
    odds = log_odds(np.arange(NO_DATA) / CERTAIN) - log_odds(np.array(view.threshold))
    certainty = np.append(1 / (1 + np.exp(-odds)), np.nan).astype(np.float32)
    length_m = roads.length_m.sum() / len(places)

    def measure(by_m: np.ndarray, reach_m: float) -> Offsets:
        at = center + by_m[:, :1] * east + by_m[:, 1:] * north
        offset_m = np.arange(-2 * reach_m, 2 * reach_m + _ACROSS_M / 2, _ACROSS_M)
        seen = np.stack([_looked_up(certainty, view, at + each * step) for each in offset_m], axis=1)
        known = np.isfinite(seen)
        mean = np.where(known, seen, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        excess = np.maximum(np.where(known, seen - mean[:, None], 0), 0)
        excess *= np.exp(-0.5 * (offset_m / reach_m) ** 2)
        total = excess.sum(axis=1, dtype=np.float64)
        mean_m = np.divide(excess @ offset_m, total, out=np.zeros(len(total)), where=total > 0)
        return Offsets(across, mean_m, length_m * np.minimum(total * _ACROSS_M / _SURE_M, 1))

    return find_field(points, measure, _IN_IMAGE_M, _STIFFNESS)


def _looked_up(table: np.ndarray, view: View, pixels: np.ndarray) -> np.ndarray:
    """Return the values of a table by the bytes of a view at columns and rows, (n, 2) float64; outside, of NO_DATA."""
    columns, rows = np.floor(pixels).astype(np.int64).T
    is_inside = (columns >= 0) & (columns < view.grid.width) & (rows >= 0) & (rows < view.grid.height)
    found = view.probability[np.where(is_inside, rows, 0), np.where(is_inside, columns, 0)]
    return table[np.where(is_inside, found, NO_DATA)]


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

    return find_field(points, measure, within_m * _OF_REACH, _STIFF)


def _places(roads: RoadGraph, spacing_m: float, most: int) -> Places:
    return places_along(roads, max(spacing_m, roads.length_m.sum() / most))


def along(field: Field, roads: RoadGraph) -> np.ndarray:
    """Return the displacements evenly along lines, at least one a line: (n, 2) float64."""
    return field.at(roads.points_at(_places(roads, _APART_M, _MAX_APART)))
