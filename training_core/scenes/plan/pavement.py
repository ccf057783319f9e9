"""Roads as seen from above: carriageways, verges, and lane markings.

Scope: shapes on a plane in meters. Independent of colors and pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import geopandas as gpd
import numpy as np
import shapely

from .road_table import nodes_of
from .streets import RING_WIDTH_M, StreetPlan

_TURNING_M = 8.0
_CORNER_M, _JUNCTION_M = 4.0, 25.0
_LANE_M, _MAX_LANES = 3.4, 3
_MAIN = ("primary", "secondary", "motorway")
_EDGED = ("primary", "motorway", "motorway_link")


@dataclass(frozen=True)
class Pavement:
    """The surfaces of the roads, as tables.

    On carriageways one drives. Lesser roads are first, so that greater ones lie above them, and overpasses last. Their
    road is a row of the street plan, or -1 for rounded corners, turning places and decks.
    """

    verges: gpd.GeoDataFrame  # strips along the roads, with urbanity
    carriageways: gpd.GeoDataFrame
    markings: gpd.GeoDataFrame  # painted lines
    ruts: gpd.GeoDataFrame  # the grown-over middle of tracks


def lay_pavement(streets: StreetPlan) -> Pavement:
    """Return the surfaces of the planned streets."""
    roads = streets.roads
    lines, half_m = roads.geometry.to_numpy(), roads.width_m.to_numpy() / 2
    surfaces = shapely.buffer(lines, half_m)
    over = roads.overpass.to_numpy()
    order = np.lexsort((half_m, over))
    below = order[: (~over).sum()]
    extras = np.concatenate([_corners(roads, surfaces), shapely.buffer(streets.turning, _TURNING_M)])
    middle = shapely.get_coordinates(shapely.line_interpolate_point(lines, 0.5, normalized=True))
    is_track = (roads.road_class == "track").to_numpy()
    has_verge = ~is_track & ~over
    verge_m = np.clip(2 * half_m - 3.0, 0.3, 1.8)[has_verge]  # narrow lanes have no pavement
    return Pavement(
        verges=gpd.GeoDataFrame(
            {"urbanity": streets.towns.urbanity(middle[has_verge])},
            geometry=shapely.buffer(lines[has_verge], half_m[has_verge] + verge_m),
        ),
        carriageways=gpd.GeoDataFrame(
            {"road": np.concatenate([np.full(len(extras), -1), below, np.full(over.sum(), -1), order[len(below) :]])},
            geometry=np.concatenate([extras, surfaces[below], streets.decks, surfaces[order[len(below) :]]]),
        ),
        markings=gpd.GeoDataFrame(geometry=_markings(streets)),
        ruts=gpd.GeoDataFrame(geometry=lines[is_track]),
    )


def _corners(roads: gpd.GeoDataFrame, surfaces: np.ndarray) -> np.ndarray:
    """Return junctions with rounded corners: the surfaces near each, closed morphologically."""
    place, node, degree = nodes_of(roads)
    order = np.argsort(node.ravel(), kind="stable")
    end = node.ravel()[order]
    slot = np.arange(len(end)) - (degree.cumsum() - degree)[end]
    meeting = np.full((len(place), degree.max(initial=1)), None, dtype=object)
    meeting[end, slot] = surfaces[np.tile(np.arange(len(roads)), 2)[order]]
    around = shapely.buffer(shapely.points(place), _JUNCTION_M)
    paved = shapely.intersection(shapely.union_all(meeting, axis=1), around)[degree > 2]
    return shapely.buffer(shapely.buffer(paved, _CORNER_M, quad_segs=4), -_CORNER_M, quad_segs=4)


def _markings(streets: StreetPlan) -> np.ndarray:
    """Return the lines between the lanes of main roads, those along both edges of the greatest, and edges of decks."""
    roads = streets.roads
    main = roads[roads.road_class.isin(_MAIN) & (roads.width_m > RING_WIDTH_M)]
    lines = []
    for is_over in (False, True):
        level, first = (table[table.overpass == is_over] for table in (main, roads[roads.road_class.isin(_EDGED)]))
        first = first[(first.width_m > RING_WIDTH_M) | (first.road_class == "motorway_link")]
        edge_m = first.width_m.to_numpy() / 2 - 0.7
        painted = [
            *_lanes(level),
            *(_dashes(first.geometry.to_numpy(), side * edge_m, spacing_m=3.0, length_m=3.0) for side in (-1, 1)),
        ]
        lines.append(np.concatenate(painted))
    hidden, _ = gpd.GeoSeries(streets.decks).sindex.query(lines[0], predicate="intersects")
    seen = np.delete(lines[0], np.unique(hidden))
    return np.concatenate([seen, lines[1], shapely.boundary(streets.decks)])


def _lanes(roads: gpd.GeoDataFrame) -> list[np.ndarray]:
    """Return dashes along the middle of roads, and between the lanes of those that have several each way."""
    half_m = roads.width_m.to_numpy() / 2
    dashes = []
    for number in range(-_MAX_LANES, _MAX_LANES + 1):
        aside_m = number * _LANE_M
        wide = roads.geometry.to_numpy()[(half_m > 8) & (half_m > abs(aside_m) + 2) | (number == 0)]
        dashes.append(_dashes(wide, np.full(len(wide), aside_m), spacing_m=9.0, length_m=4.0))
    return dashes


def _dashes(lines: np.ndarray, aside_m: np.ndarray, spacing_m: float, length_m: float) -> np.ndarray:
    """Return short lines along each line, shifted `aside_m` to its left, that keep clear of its ends."""
    clear_m = 7.0
    count = np.maximum(0, (shapely.length(lines) - 2 * clear_m) // spacing_m).astype(int)
    row = np.repeat(np.arange(len(lines)), count)
    start_m = clear_m + spacing_m * (np.arange(len(row)) - np.repeat(count.cumsum() - count, count))
    ends = [shapely.get_coordinates(shapely.line_interpolate_point(lines[row], start_m + d)) for d in (0, length_m)]
    step = ends[1] - ends[0]
    normal = np.column_stack([-step[:, 1], step[:, 0]]) / np.maximum(np.hypot(*step.T), 1e-9)[:, None]
    shift = normal * aside_m[row][:, None]
    return shapely.linestrings(np.stack([ends[0] + shift, ends[1] + shift], axis=1))
