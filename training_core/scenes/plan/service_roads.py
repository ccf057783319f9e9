"""Service roads, collector lanes and their ramps: roads beside a highway, which leave it and come back to it.

Scope: lines on a plane in meters. Independent of what stands beside the highway.
"""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import LineString

from .drafting import Draft, NewRoad, obstacles, surfaces_of, with_roads

_HIGHWAYS = ("motorway", "primary")
_CROSSING = ("secondary", "primary", "motorway", "motorway_link")
_MIN_M = 90.0
_STEP_M = 3.0
_RAMP_M = (35.0, 60.0)
_GAPS_M = (0.8, 14.0)  # from lanes behind a curb to roads beyond a wide verge
_WIDTHS_M = (3.5, 7.0)
_BESIDE_OTHERS = 0.35  # share of its length that may lie on or along other roads


def add_service_roads(draft: Draft, share: float, rng: np.random.Generator) -> Draft:
    """Return the draft with roads beside a share of the sides of its highways.

    Parameters
    ----------
    share : float
        From 0 to 1.
    rng : Generator
        Draws them.
    """
    added: list[NewRoad] = []
    roads = draft.streets.roads
    is_main = roads.road_class.isin(_HIGHWAYS) & ~roads.overpass
    for street, pieces in roads[is_main].groupby("street"):
        others = roads[(roads.street != street) & ~roads.overpass]
        for part in _stretches(draft, pieces, others):
            for side in (-1, 1):
                if rng.random() < share:
                    road = _beside(part, side, pieces.iloc[0], rng)
                    if _has_room(road, others, [each.line for each in added]):
                        added.append(road)
    return with_roads(draft, added, rng)


def _stretches(draft: Draft, pieces: gpd.GeoDataFrame, others: gpd.GeoDataFrame) -> list[LineString]:
    """Return the stretches of a highway that no other main road, bridge, river or railway interrupts."""
    highway = pieces.road_class.iloc[0]
    apart = ("motorway",) if highway == "motorway" else ()  # the other carriageway
    crossing = others[others.road_class.isin(_CROSSING) & ~others.road_class.isin(apart)]
    stops = np.concatenate([surfaces_of(crossing, 14.0), obstacles(draft.streets, 16.0)])
    line = shapely.line_merge(shapely.union_all(pieces.geometry.to_numpy()))
    near = stops[shapely.intersects(stops, line)]
    left = shapely.get_parts(shapely.line_merge(shapely.difference(line, shapely.union_all(near))))
    return [part for part in left if part.length > _MIN_M]


def _beside(line: LineString, side: int, highway, rng: np.random.Generator) -> NewRoad:
    """Return a road along a stretch of a highway, that leaves it at one end and meets it at the other."""
    width_m, half_m = rng.uniform(*_WIDTHS_M), highway.width_m / 2
    away_m = half_m + np.exp(rng.uniform(*np.log(_GAPS_M))) + width_m / 2
    start_m, end_m = rng.uniform(0, 0.25) * line.length, (1 - rng.uniform(0, 0.25)) * line.length
    at_m = np.linspace(start_m, end_m, max(8, int((end_m - start_m) / _STEP_M)))
    ramps_m = np.minimum(rng.uniform(*_RAMP_M, 2), 0.4 * (end_m - start_m))
    rise = np.clip(np.minimum((at_m - start_m) / ramps_m[0], (end_m - at_m) / ramps_m[1]), 0, 1)
    points, before, after = (
        shapely.get_coordinates(shapely.line_interpolate_point(line, np.clip(at_m + by_m, 0, line.length)))
        for by_m in (0.0, -_STEP_M, _STEP_M)
    )
    step = after - before
    normal = np.column_stack([-step[:, 1], step[:, 0]]) / np.hypot(*step.T)[:, None]
    offset_m = side * away_m * rise**2 * (3 - 2 * rise)
    is_ramp = highway.road_class == "motorway" and rng.random() < 0.5
    surface = highway.surface if rng.random() < 0.6 else str(rng.choice(["asphalt", "concrete"]))
    road_class = "motorway_link" if is_ramp else "residential"
    return NewRoad(LineString(points + offset_m[:, None] * normal), road_class, width_m, surface)


def _has_room(road: NewRoad, others: gpd.GeoDataFrame, added: list[LineString]) -> bool:
    """Return whether a road only crosses others, and runs along none of them."""
    near = others[others.distance(road.line) < road.width_m]
    taken = np.concatenate([surfaces_of(near, road.width_m / 2 + 1), shapely.buffer(np.array(added, dtype=object), 6)])
    beside = shapely.intersection(road.line, shapely.union_all(taken))
    return bool(road.line.is_simple and beside.length < _BESIDE_OTHERS * road.line.length)
