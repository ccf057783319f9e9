"""The street plan of a scene: roads with class, width and surface, the river, bridges, and pavement seen from above.

Scope: lines and areas on a plane in meters. Independent of colors, pixels and of things along the roads.

A plan is drawn straight by one of the `layouts` and then bent by a smooth invertible map, so that junctions stay
junctions while streets become curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import LineString, Polygon, box

from .layouts import LAYOUTS
from .rivers import plan_meanders, plan_river
from .sketch import PAD_M, Bend, Sketch, Towns

WIDTHS_M = {
    "motorway": (8.0, 11.0),
    "motorway_link": (5.0, 6.5),
    "primary": (10.5, 13.0),
    "secondary": (7.5, 9.0),
    "residential": (5.0, 6.5),
    "track": (2.6, 3.6),
}
SURFACES = ("concrete", "asphalt", "gravel", "dirt")
_MAIN, _MOTORWAY = ("primary", "secondary"), ("motorway", "motorway_link")
# Some places pave everything with concrete, others leave most as dirt: the fractions of the surfaces above on main
# streets, on residential streets and on tracks.
_MOODS = {
    "varied": ((0.0, 1.0, 0.0, 0.0), (0.2, 0.7, 0.1, 0.0), (0.0, 0.0, 0.4, 0.6)),
    "asphalt": ((0.0, 1.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.4, 0.3, 0.3)),
    "concrete": ((0.6, 0.4, 0.0, 0.0), (0.85, 0.1, 0.05, 0.0), (0.5, 0.0, 0.3, 0.2)),
    "unpaved": ((0.0, 0.5, 0.2, 0.3), (0.03, 0.07, 0.3, 0.6), (0.0, 0.0, 0.2, 0.8)),
    "earthen": ((0.04, 0.16, 0.15, 0.65), (0.0, 0.05, 0.15, 0.8), (0.0, 0.0, 0.08, 0.92)),
}
_MOOD_CHANCES = (0.4, 0.25, 0.15, 0.2, 0.0)
_MOOD_OF = {"mixed": "varied", "sparse": "earthen"}
_CANAL_HALF_WIDTHS_M = (0.8, 3.5)
_SNAP_M, _STUB_M, _FRAGMENT_M = 0.01, 12.0, 90.0
_RIVER_CHANCE = 0.5
_TURNING_M = 8.0
_CORNER_M, _JUNCTION_M = 4.0, 25.0
_LANE_M, _MAX_LANES = 3.4, 3
_MARKED_M = 7.0  # broader roads have markings
_MARKED = ("primary", "secondary", "motorway")
_EDGED = ("primary", "motorway", "motorway_link")


@dataclass(frozen=True)
class StreetPlan:
    """Roads, the river, and what was decided on the way.

    Roads have columns road_class, width_m, surface, bridge, overpass (a bridge over roads) and street (the
    number of the street that a piece is of). Lines meet at nodes only, but what passes below an overpass.
    """

    roads: gpd.GeoDataFrame
    river: Polygon  # the water's surface with the banks in it, empty without a river
    bars: Polygon  # sand banks in the river
    canals: np.ndarray  # (N,) their water; roads lie above it
    bounds: np.ndarray  # (N,) lines that divide land where no road does
    turning: np.ndarray  # (N,) points: ends of dead-end streets that widen into a place to turn
    towns: Towns
    decks: np.ndarray  # (N,) decks of overpasses
    layout: str


def plan_streets(side_m: float, layout: str, rng: np.random.Generator) -> StreetPlan:
    """Return the streets of a square scene, reaching `PAD_M` beyond it on every side."""
    sketch = LAYOUTS[layout](side_m, rng)
    mood = _MOOD_OF.get(layout) or str(rng.choice(list(_MOODS), p=_MOOD_CHANCES))
    roads = noded(_as_table(sketch, mood, rng), 0.001)
    roads.geometry = _bent(roads.geometry.to_numpy(), sketch.bend)
    # The ground of a motorway's ramps and of the bridges over it.
    special = roads.overpass | (roads.road_class == "motorway_link")
    interchange = shapely.union_all(roads.geometry[special].to_numpy()).buffer(15.0)
    river, bars, is_sparse = Polygon(), Polygon(), layout == "sparse"
    if layout == "mixed" or rng.random() < _RIVER_CHANCE:
        if is_sparse:
            river, bars = plan_meanders(side_m, rng)
        else:
            river = plan_river(side_m, sketch.bend, interchange, rng)
    roads = noded(over_river(roads, river), _SNAP_M)
    frame = box(-PAD_M, -PAD_M, side_m + PAD_M, side_m + PAD_M)
    roads = clipped(roads, frame)
    roads = without_fragments(without_piers(roads, frame) if is_sparse else roads)
    turning = shapely.points(sketch.bend(np.reshape(sketch.ends, (-1, 2))))
    kept = np.unique(roads.sindex.query(turning, predicate="dwithin", distance=0.5)[0])
    over = roads[roads.overpass]
    decks = shapely.buffer(over.geometry.to_numpy(), over.width_m.to_numpy() / 2 + 0.7, cap_style="flat")
    bounds, canals = (_bent(lines, sketch.bend) for lines in (sketch.bounds, sketch.canals))
    half_m = rng.uniform(*_CANAL_HALF_WIDTHS_M, len(canals))
    canals = shapely.difference(shapely.buffer(canals, half_m, cap_style="flat"), river)
    return StreetPlan(roads, river, bars, canals, bounds, turning[kept], sketch.towns, decks, layout)


def _bent(lines: Sequence[LineString], bend: Bend) -> np.ndarray:
    return shapely.transform(shapely.segmentize(np.array(lines, dtype=object), 4.0), bend)


def _as_table(sketch: Sketch, mood: str, rng: np.random.Generator) -> gpd.GeoDataFrame:
    """Return a sketch's streets with width and surface, and the columns of `StreetPlan.roads`."""
    streets = sketch.streets
    road_class = np.array([street.road_class for street in streets])
    low_m, high_m = np.array([{**WIDTHS_M, **sketch.widths_m}[name] for name in road_class]).T
    # A random number falls between two cumulated shares, whose place is the number of the surface.
    shares = np.array([_shares(name, mood) for name in road_class]).cumsum(axis=1)
    surface = (rng.random((len(streets), 1)) >= shares[:, :-1]).sum(axis=1)
    drawn_m, own_m = rng.uniform(low_m, high_m), np.array([street.width_m for street in streets])
    overpass = np.array([street.overpass for street in streets])
    columns = {
        "road_class": road_class,
        "width_m": np.round(np.where(np.isnan(own_m), drawn_m, own_m), 1),
        "surface": np.array(SURFACES, dtype=object)[surface],
        "bridge": overpass,
        "overpass": overpass,
        "street": np.arange(len(streets)),
    }
    return gpd.GeoDataFrame(columns, geometry=[street.line for street in streets])


def _shares(road_class: str, mood: str) -> tuple[float, ...]:
    """Return the shares of the surfaces; motorways are all alike, else their ramps would not match them."""
    main, residential, track = _MOODS[mood]
    if road_class in _MOTORWAY:
        return (1.0, 0.0, 0.0, 0.0) if mood == "concrete" else (0.0, 1.0, 0.0, 0.0)
    return main if road_class in _MAIN else track if road_class == "track" else residential


def over_river(roads: gpd.GeoDataFrame, river: Polygon) -> gpd.GeoDataFrame:
    """Carry main roads over the river on bridges, where these are short enough; the others end before its banks."""
    if river.is_empty:
        return roads
    is_main, bank = roads.road_class.isin((*_MAIN, *_MOTORWAY)).to_numpy(), river.buffer(5.0)
    wet = clipped(roads[is_main], bank)
    longest_m = 2.5 * (2 * river.area / river.length) + 12
    wet = wet[(wet.length < longest_m) | wet.road_class.isin(_MOTORWAY)].assign(bridge=True)
    dry = roads.copy()
    dry.geometry = shapely.difference(roads.geometry.to_numpy(), np.where(is_main, bank, river.buffer(14.0)))
    return stack(exploded(dry), wet)


def noded(roads: gpd.GeoDataFrame, snap_m: float) -> gpd.GeoDataFrame:
    """Return the roads cut where they meet, by snap rounding; a piece keeps the attributes of the line it lies on.

    Those with overpass meet others at their ends only.
    """
    above = roads[roads.overpass].copy()
    above.geometry = shapely.set_precision(above.geometry.to_numpy(), snap_m)
    return stack(_noded_on_the_ground(roads[~roads.overpass].reset_index(drop=True), snap_m), above)


def _noded_on_the_ground(roads: gpd.GeoDataFrame, snap_m: float) -> gpd.GeoDataFrame:
    pieces = shapely.get_parts(shapely.union_all(roads.geometry.to_numpy(), grid_size=snap_m))
    middles = shapely.line_interpolate_point(pieces, 0.5, normalized=True)
    # The more important class, which comes first, wins where two lines lie on each other.
    piece, source = roads.sindex.query(middles, predicate="dwithin", distance=4 * snap_m, sort=True)
    piece, first = np.unique(piece, return_index=True)
    table = roads.iloc[source[first]].reset_index(drop=True)
    table.geometry = pieces[piece]
    return table


def clipped(roads: gpd.GeoDataFrame, area: Polygon) -> gpd.GeoDataFrame:
    """Return what of the roads lies within an area."""
    table = roads[roads.intersects(area)].copy()
    table.geometry = shapely.intersection(table.geometry.to_numpy(), area)
    return exploded(table)


def without_piers(roads: gpd.GeoDataFrame, frame: Polygon) -> gpd.GeoDataFrame:
    """Drop bridges that end in the water, but not those cut at the frame."""
    place, node, degree = nodes_of(roads)
    is_end = (degree == 1) & shapely.contains_properly(frame.buffer(-0.1), shapely.points(place))
    return roads[~(roads.bridge & is_end[node].any(axis=0))].reset_index(drop=True)


def without_fragments(roads: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Drop what cuts leave over: short dead ends, and short roads that are tied to no other."""
    _, node, degree = nodes_of(roads)
    dead_ends = (degree[node] == 1).sum(axis=0)
    return roads[roads.length > np.array([0.0, _STUB_M, _FRAGMENT_M])[dead_ends]].reset_index(drop=True)


def nodes_of(roads: gpd.GeoDataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes of roads: (M, 2) float64 places in meters, starts and ends of roads, and (M,) int64 degrees.

    The (2, N) int64 starts and ends are rows of the places.
    """
    lines = roads.geometry.to_numpy()
    points = np.round([shapely.get_coordinates(shapely.get_point(lines, k)) for k in (0, -1)], 2)
    place, node, degree = np.unique(points.reshape(-1, 2), axis=0, return_inverse=True, return_counts=True)
    return place, node.reshape(2, -1), degree


def exploded(roads: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return the table with a row for each single line, and none without a line."""
    table = roads.explode(ignore_index=True)
    return table[(table.geom_type == "LineString") & (table.length > _SNAP_M)].reset_index(drop=True)


def stack(*tables: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return the rows of all tables, which have the same columns, one after the other."""
    columns = {name: np.concatenate([table[name].to_numpy() for table in tables]) for name in tables[0].columns}
    return gpd.GeoDataFrame(columns, geometry="geometry")


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
    is_main, is_edged = roads.road_class.isin(_MARKED) & is_broad, roads.road_class.isin(_EDGED) & is_broad | is_link
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
    # The number of each dash on its own line, times the spacing, is where it starts.
    start_m = clear_m + spacing_m * (np.arange(len(row)) - np.repeat(count.cumsum() - count, count))
    ends = [shapely.get_coordinates(shapely.line_interpolate_point(lines[row], start_m + d)) for d in (0, length_m)]
    step = ends[1] - ends[0]
    normal = np.column_stack([-step[:, 1], step[:, 0]]) / np.maximum(np.hypot(*step.T), 1e-9)[:, None]
    shift = normal * aside_m[row][:, None]
    return row, shapely.linestrings(np.stack([ends[0] + shift, ends[1] + shift], axis=1))
