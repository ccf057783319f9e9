"""Roads as seen from above: carriageways, verges, and lane markings.

Scope: shapes on a plane in meters. Independent of colors and pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import geopandas as gpd
import numpy as np
import shapely

from .shapes import nodes_of
from .streets import StreetPlan

_TURNING_M = 8.0
_CORNER_M, _JUNCTION_M = 4.0, 25.0
_LANE_M, _MAX_LANES = 3.4, 3
_MARKED_M = 7.0  # broader roads have markings
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
    has_verge = (roads.road_class != "track").to_numpy() & ~over
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
    )


def _corners(roads: gpd.GeoDataFrame, surfaces: np.ndarray) -> np.ndarray:
    """Return junctions with rounded corners: the surfaces near each, closed morphologically."""
    place, node, degree = nodes_of(roads)
    ends = gpd.GeoDataFrame({"node": node.ravel()}, geometry=np.tile(surfaces, 2))
    met = ends[degree[ends.node] > 2].dissolve("node").geometry.to_numpy()
    paved = shapely.intersection(met, shapely.buffer(shapely.points(place[degree > 2]), _JUNCTION_M))
    return shapely.buffer(shapely.buffer(paved, _CORNER_M, quad_segs=4), -_CORNER_M, quad_segs=4)


def _markings(streets: StreetPlan) -> np.ndarray:
    """Return the lines between the lanes of main roads, those along both edges of the greatest, and edges of decks."""
    roads, lines = streets.roads, streets.roads.geometry.to_numpy()
    half_m, is_over = roads.width_m.to_numpy() / 2, roads.overpass.to_numpy()
    is_broad, is_link = roads.width_m > _MARKED_M, roads.road_class == "motorway_link"
    is_main, is_edged = roads.road_class.isin(_MAIN) & is_broad, roads.road_class.isin(_EDGED) & is_broad | is_link
    # Dashes along the middle, and between the lanes of roads that have several each way; then lines along both edges.
    painted = []
    for number in range(-_MAX_LANES, _MAX_LANES + 1):
        rows = np.flatnonzero(is_main & ((half_m > 8) & (half_m > abs(number) * _LANE_M + 2) | (number == 0)))
        painted.append((rows, *_dashes(lines[rows], np.full(len(rows), number * _LANE_M), 9.0, 4.0)))
    rows = np.flatnonzero(is_edged)
    painted += [(rows, *_dashes(lines[rows], side * (half_m[rows] - 0.7), 3.0, 3.0)) for side in (-1, 1)]
    marks = np.concatenate([marks for _, _, marks in painted])
    is_above = np.concatenate([is_over[rows[row]] for rows, row, _ in painted])
    below, _ = gpd.GeoSeries(streets.decks).sindex.query(marks, predicate="intersects")
    hidden = np.setdiff1d(below, np.flatnonzero(is_above))
    return np.append(np.delete(marks, hidden), shapely.boundary(streets.decks))


def _dashes(lines: np.ndarray, aside_m: np.ndarray, spacing_m: float, length_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Return short lines along each line, shifted `aside_m` to its left, that keep clear of its ends, after its row."""
    clear_m = 7.0
    count = np.maximum(0, (shapely.length(lines) - 2 * clear_m) // spacing_m).astype(int)
    row = np.repeat(np.arange(len(lines)), count)
    start_m = clear_m + spacing_m * (np.arange(len(row)) - np.repeat(count.cumsum() - count, count))
    ends = [shapely.get_coordinates(shapely.line_interpolate_point(lines[row], start_m + d)) for d in (0, length_m)]
    step = ends[1] - ends[0]
    normal = np.column_stack([-step[:, 1], step[:, 0]]) / np.maximum(np.hypot(*step.T), 1e-9)[:, None]
    shift = normal * aside_m[row][:, None]
    return row, shapely.linestrings(np.stack([ends[0] + shift, ends[1] + shift], axis=1))
