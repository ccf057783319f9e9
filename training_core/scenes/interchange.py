"""A motorway through the land: two carriageways, roads on bridges over it, and an interchange.

Scope: how these are drawn, with the motorway along the x axis and right-hand traffic.
"""

from __future__ import annotations

import numpy as np
import shapely
from scipy.interpolate import BPoly
from shapely.geometry import LineString, Point, Polygon

from .sketch import Bend, Sketch, Street, Towns, class_of, divide, half_side_m

_CLEAR_M = 7.0  # from a carriageway's edge to the end of a bridge
_TAPER_M = 4.0  # a ramp leaves at a small angle, so that it does not lie on the carriageway


def highway(side_m: float, rng: np.random.Generator) -> Sketch:
    """Return a motorway, roads over it, ramps to one of them and the streets on both sides."""
    bend = Bend.random(rng, side_m, (2400.0, 1300.0, 700.0), swing=rng.uniform(0.012, 0.022))
    towns = Towns.random(rng, side_m)
    half_m, width_m = half_side_m(side_m), round(rng.uniform(8.0, 11.0), 1)
    axis_m = width_m / 2 + rng.uniform(2.0, 6.0)  # from the middle of the median to that of a carriageway
    deck_m = axis_m + width_m / 2 + _CLEAR_M
    streets = [Street("motorway", LineString([(-half_m, y), (half_m, y)]), width_m) for y in (-axis_m, axis_m)]
    cross_m = _crossings(half_m, rng)
    for x in cross_m:
        lesser, chances = ["secondary", "residential", "track"], [0.4, 0.45, 0.15]
        road_class = str(rng.choice(["primary", "secondary"]) if x == 0 else rng.choice(lesser, p=chances))
        streets += _over(x, deck_m, half_m, road_class, rng)
    ramps = _diamond(axis_m, rng)
    streets += ramps
    strip_m = axis_m + width_m / 2 + rng.uniform(14, 40)
    reserved = shapely.union_all([street.line for street in ramps]).convex_hull.buffer(22)
    taken = np.concatenate([shapely.points(cross_m, 0), [Point(0, 0)]])
    reserved = shapely.union_all([reserved, *shapely.buffer(taken, strip_m + 10)])
    for sign in (-1, 1):
        streets += _beside(sign, strip_m, half_m, reserved, bend, towns, rng)
    return Sketch(streets, [], bend, towns)


def _crossings(half_m: float, rng: np.random.Generator) -> list[float]:
    """Return where roads cross the motorway: at 0, and on both sides at some distance from ramps and each other."""
    places = [0.0]
    for sign in (-1, 1):
        x = rng.uniform(270, 400)
        while x < half_m:
            places.append(sign * x)
            x += rng.uniform(200, 520)
    return places


def _over(x: float, deck_m: float, half_m: float, road_class: str, rng: np.random.Generator) -> list[Street]:
    """Return a road over the motorway: both sides, then the bridge."""
    width_m = {"primary": 11.0, "secondary": 8.0, "residential": 5.5, "track": 4.0}[road_class] * rng.uniform(0.95, 1.1)
    width_m = round(width_m, 1)
    below, above = LineString([(x, -half_m), (x, -deck_m)]), LineString([(x, deck_m), (x, half_m)])
    bridge = Street(road_class, LineString([(x, -deck_m), (x, deck_m)]), width_m, overpass=True)
    return [Street(road_class, below, width_m), Street(road_class, above, width_m), bridge]


def _diamond(axis_m: float, rng: np.random.Generator) -> list[Street]:
    """Return four ramps that end across the road over the motorway, two junctions on either side."""
    long_m, wide_m = rng.uniform(130, 165), axis_m + rng.uniform(38, 60)
    corners = [(-long_m, axis_m), (-0.55 * long_m, axis_m + _TAPER_M), (-0.3 * long_m, wide_m), (0, wide_m)]
    ramp = BPoly(np.array(corners)[:, None], [0, 1])(np.linspace(0, 1, 60))  # a cubic Bezier curve
    quadrants = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    return [Street("motorway_link", LineString(ramp * quadrant)) for quadrant in quadrants]


def _beside(
    sign: int, strip_m: float, half_m: float, reserved: Polygon, bend: Bend, towns: Towns, rng: np.random.Generator
) -> list[Street]:
    """Return the streets on one side of the motorway, a frontage road first, that keep clear of the interchange."""
    land = np.array([(-half_m, strip_m), (half_m, strip_m), (half_m, half_m), (-half_m, half_m)]) * (1, sign)

    def wanted_m(at: np.ndarray) -> float:
        is_town = towns.urbanity(bend(at[None]))[0] > 0.3
        return rng.uniform(70, 120) if is_town else rng.uniform(150, 300)

    cuts, _ = divide(land, wanted_m, 0.12, rng)
    front = str(rng.choice(["residential", "track"], p=[0.7, 0.3]))
    drawn = [(front, LineString(land[:2]))]
    for depth, ends in cuts:
        urbanity = towns.urbanity(bend(ends.mean(axis=0)[None]))[0]
        drawn.append((class_of(depth + 1, 0.8 * np.hypot(*(ends[1] - ends[0])), urbanity), LineString(ends)))
    streets = []
    for road_class, line in drawn:
        left = shapely.get_parts(shapely.difference(line, reserved))
        streets += [Street(road_class, part) for part in left if part.length > 15]
    return streets
