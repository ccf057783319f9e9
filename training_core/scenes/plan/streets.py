"""The street plan of a scene: roads with class, width and surface, and their bridges.

Scope: lines on a plane in meters. Independent of pixels and of things along the roads.

A plan is drawn straight by one of the `layouts` and then bent by a smooth invertible map, so that junctions stay
junctions while streets become curves.
"""

from __future__ import annotations

from dataclasses import dataclass

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import Polygon, box

from .layouts import LAYOUTS
from .obstacles import NO_RAILWAY, Railway, decks, over_railway, over_river, plan_railway, plan_river
from .road_table import SNAP_M, clipped, exploded, noded, stack, without_fragments
from .sketch import PAD_M, Sketch, Towns

RING_WIDTH_M = 7.0
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
}
_MOOD_CHANCES = (0.4, 0.25, 0.15, 0.2)
_RAILWAY_CHANCE, _RIVER_CHANCE = 0.36, 0.5


@dataclass(frozen=True)
class StreetPlan:
    """Roads, the river, and what was decided on the way.

    Roads have columns road_class, width_m, surface, bridge, overpass (a bridge over roads or a railway) and street (the
    number of the street that a piece is of). Lines meet at nodes only, but what passes below an overpass.
    """

    roads: gpd.GeoDataFrame
    river: Polygon  # the water's surface, empty without a river
    roundabouts: np.ndarray  # (N,) discs within the middle lines of roundabouts
    turning: np.ndarray  # (N,) points: ends of dead-end streets that widen into a place to turn
    towns: Towns
    railway: Railway
    decks: np.ndarray  # (N,) decks of overpasses
    layout: str


def plan_streets(side_m: float, layout: str, rng: np.random.Generator) -> StreetPlan:
    """Return the streets of a square scene, reaching `PAD_M` beyond it on every side."""
    sketch = LAYOUTS[layout](side_m, rng)
    mood = "varied" if layout == "mixed" else str(rng.choice(list(_MOODS), p=_MOOD_CHANCES))
    roads = noded(_as_table(sketch, mood, rng), 0.001)
    roads.geometry = shapely.transform(shapely.segmentize(roads.geometry.to_numpy(), 4.0), sketch.bend)
    # The ground of a motorway's ramps and of the bridges over it.
    special = roads.overpass | (roads.road_class == "motorway_link")
    interchange = shapely.union_all(roads.geometry[special].to_numpy()).buffer(15.0)
    has_river = layout == "mixed" or rng.random() < _RIVER_CHANCE
    river = plan_river(side_m, sketch.bend, interchange, rng) if has_river else Polygon()
    roundabouts = _roundabouts(roads, [river, interchange], side_m, rng)
    roads = over_river(_with_rings(roads, roundabouts), river)
    railway = NO_RAILWAY
    if rng.random() < _RAILWAY_CHANCE:
        main = roads.geometry[roads.road_class.isin(["primary", "motorway", "motorway_link"])].to_numpy()
        railway = plan_railway(side_m, np.append(shapely.buffer(roundabouts, 12), interchange), main, rng)
        roads = over_railway(roads, railway, rng)
    roads = noded(roads, SNAP_M)
    roads = without_fragments(clipped(roads, box(-PAD_M, -PAD_M, side_m + PAD_M, side_m + PAD_M)))
    turning = shapely.points(sketch.bend(np.reshape(sketch.ends, (-1, 2))))
    kept = np.unique(roads.sindex.query(turning, predicate="dwithin", distance=0.5)[0])
    over = decks(roads)
    return StreetPlan(roads, river, roundabouts, turning[kept], sketch.towns, railway.below(over), over, layout)


def _as_table(sketch: Sketch, mood: str, rng: np.random.Generator) -> gpd.GeoDataFrame:
    """Return a sketch's streets with width and surface, and the columns of `StreetPlan.roads`."""
    streets = sketch.streets
    road_class = np.array([street.road_class for street in streets])
    low_m, high_m = np.array([{**WIDTHS_M, **sketch.widths_m}[name] for name in road_class]).T
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


def _roundabouts(
    roads: gpd.GeoDataFrame, clear_of: list[Polygon], side_m: float, rng: np.random.Generator
) -> np.ndarray:
    """Return discs at a quarter of the junctions of primary with secondary roads: at one at least, if there is any."""
    ends = {}
    for name in ("primary", "secondary"):
        lines = roads.geometry[roads.road_class == name].to_numpy()
        points = np.concatenate([shapely.get_coordinates(shapely.get_point(lines, k)) for k in (0, -1)])
        ends[name] = {tuple(point) for point in np.round(points, 2)}
    nodes = np.array(sorted(ends["primary"] & ends["secondary"])).reshape(-1, 2)
    nodes = nodes[((nodes > 0.1 * side_m) & (nodes < 0.9 * side_m)).all(axis=1)]
    for area in clear_of:
        if not area.is_empty:
            nodes = nodes[shapely.distance(shapely.points(nodes), area) > 50]
    chosen = nodes[rng.permutation(len(nodes))[: -(-len(nodes) // 4)]]
    radius_m = rng.uniform(13, 18, len(chosen))
    # A ring begins where a road comes in, so that its beginning adds no node of its own.
    lines = roads.geometry.to_numpy()
    first = lines[[roads.sindex.query(node, predicate="dwithin", distance=0.1)[0] for node in shapely.points(chosen)]]
    reach = shapely.intersection(first, shapely.buffer(shapely.points(chosen), radius_m, quad_segs=64))
    heading = shapely.get_coordinates(shapely.centroid(reach)) - chosen
    angle = np.arctan2(heading[:, 1], heading[:, 0])[:, None] + np.linspace(0, 2 * np.pi, 48, endpoint=False)
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=2) * radius_m[:, None, None] + chosen[:, None, :]
    return shapely.polygons(rim)


def _with_rings(roads: gpd.GeoDataFrame, roundabouts: np.ndarray) -> gpd.GeoDataFrame:
    """Return the roads with rings in place of the roads within the roundabouts."""
    table = roads.copy()
    table.geometry = shapely.difference(roads.geometry.to_numpy(), shapely.union_all(roundabouts))
    street = roads.street.max() + 1 + np.arange(len(roundabouts))
    columns = {
        "road_class": "primary",
        "width_m": RING_WIDTH_M,
        "surface": "asphalt",
        "bridge": False,
        "overpass": False,
        "street": street,
    }
    return stack(exploded(table), gpd.GeoDataFrame(columns, geometry=shapely.boundary(roundabouts)))
