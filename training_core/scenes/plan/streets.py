"""The street plan of a scene: roads with class, width and surface, and their bridges.

Scope: lines on a plane in meters. Independent of pixels and of what stands beside the roads.

A plan is drawn straight by one of the `layouts` and then bent by a smooth invertible map, so that junctions stay
junctions while streets become curves.
"""

from __future__ import annotations

from dataclasses import dataclass

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import Polygon, box

from .crossings import decks, over_railway, over_river
from .layouts import LAYOUTS
from .railway import NO_RAILWAY, Railway, plan_railway
from .road_table import SNAP_M, clipped, exploded, noded, stack, without_fragments
from .sketch import PAD_M, Bend, Towns
from .surfacing import as_streets, random_mood

RING_WIDTH_M = 7.0
_RAILWAY_SHARE, _RIVER_SHARE = 0.36, 0.5
_RIVER_TRIES = 20
_RIVER_HALF_WIDTHS_M = (2.0, 12.0)  # from a brook to what only large bridges cross


@dataclass(frozen=True)
class StreetPlan:
    """Roads, the river, and what was decided on the way.

    Parameters
    ----------
    roads : GeoDataFrame
        Columns road_class, width_m, surface, bridge, overpass (a bridge over roads or a railway) and street (the number
        of the street that a piece is of). Lines meet at nodes only, but what passes below an overpass.
    river : Polygon
        The water's surface, empty without a river.
    roundabouts : (N,) ndarray of Polygon
        The discs within the middle lines of roundabouts.
    turning : (N,) ndarray of Point
        Ends of dead-end streets that widen into a place to turn.
    towns : Towns
        Where it is town.
    railway : Railway
        A railway, or none.
    decks : (N,) ndarray of Polygon
        The decks of overpasses.
    layout : str
        The kind of plan, one of LAYOUTS.
    """

    roads: gpd.GeoDataFrame
    river: Polygon
    roundabouts: np.ndarray
    turning: np.ndarray
    towns: Towns
    railway: Railway
    decks: np.ndarray
    layout: str


def plan_streets(side_m: float, layout: str, rng: np.random.Generator) -> StreetPlan:
    """Return the streets of a square scene, reaching `PAD_M` beyond it on every side.

    Parameters
    ----------
    side_m : float
        The scene's side.
    layout : str
        The kind of plan, one of LAYOUTS.
    rng : Generator
        Draws the plan.
    """
    sketch = LAYOUTS[layout](side_m, rng)
    mood = "varied" if layout == "mixed" else random_mood(rng)
    roads = noded(as_streets(sketch, mood, rng), 0.001)
    roads.geometry = shapely.transform(shapely.segmentize(roads.geometry.to_numpy(), 4.0), sketch.bend)
    interchange = _interchange(roads)
    has_river = layout == "mixed" or rng.random() < _RIVER_SHARE
    river = _river(side_m, sketch.bend, interchange, rng) if has_river else Polygon()
    roundabouts = _roundabouts(roads, [river, interchange], side_m, rng)
    roads = over_river(_with_rings(roads, roundabouts), river)
    railway = NO_RAILWAY
    if rng.random() < _RAILWAY_SHARE:
        main = roads.geometry[roads.road_class.isin(["primary", "motorway", "motorway_link"])].to_numpy()
        railway = plan_railway(side_m, np.append(shapely.buffer(roundabouts, 12), interchange), main, rng)
        roads = over_railway(roads, railway, rng)
    roads = noded(roads, SNAP_M)
    roads = without_fragments(clipped(roads, box(-PAD_M, -PAD_M, side_m + PAD_M, side_m + PAD_M)))
    turning = shapely.points(sketch.bend(np.reshape(sketch.ends, (-1, 2))))
    kept = np.unique(roads.sindex.query(turning, predicate="dwithin", distance=0.5)[0])
    over = decks(roads)
    return StreetPlan(roads, river, roundabouts, turning[kept], sketch.towns, railway.below(over), over, layout)


def _interchange(roads: gpd.GeoDataFrame) -> Polygon:
    """Return the ground of a motorway's ramps and of the bridges over it, empty without any."""
    special = roads.overpass | (roads.road_class == "motorway_link")
    return shapely.union_all(roads.geometry[special].to_numpy()).buffer(15.0)


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
    """Return the roads with rings in place of what lies within the roundabouts."""
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


def _river(side_m: float, bend: Bend, clear_of: Polygon, rng: np.random.Generator) -> Polygon:
    """Return a river that keeps off an area, or an empty one where it cannot."""
    for _ in range(_RIVER_TRIES):
        river = _winding(side_m, bend, rng)
        if clear_of.is_empty or not river.intersects(clear_of):
            return river
    return Polygon()


def _winding(side_m: float, bend: Bend, rng: np.random.Generator) -> Polygon:
    """Return a winding river that crosses the scene off its center, and the streets at a slant."""
    reach_m = side_m + 4 * PAD_M
    along_m = np.arange(-reach_m, reach_m, 6.0)
    half_width_m = np.exp(rng.uniform(*np.log(_RIVER_HALF_WIDTHS_M)))
    aside_m = rng.choice([-1, 1]) * rng.uniform(0.18, 0.32) * side_m + np.zeros_like(along_m)
    for length_m, swing_m in ((700, 45), (310, 22), (130, 6)):
        aside_m += swing_m * np.sin(2 * np.pi * along_m / length_m + rng.uniform(0, 2 * np.pi))
    turn = np.arctan2(*bend.turn[::-1, 0]) + np.pi / 4 * rng.choice([1, 3, 5, 7]) + rng.uniform(-0.2, 0.2)
    x = along_m * np.cos(turn) - aside_m * np.sin(turn)
    y = along_m * np.sin(turn) + aside_m * np.cos(turn)
    reaches = shapely.points(x + side_m / 2, y + side_m / 2)
    wobble = 1 + 0.22 * np.sin(along_m / 23 + rng.uniform(0, 6)) + 0.12 * np.sin(along_m / 9)
    discs = shapely.buffer(reaches, half_width_m * wobble, quad_segs=6)
    links = shapely.convex_hull(shapely.geometrycollections(np.column_stack([discs[:-1], discs[1:]])))
    scene = box(-2 * PAD_M, -2 * PAD_M, side_m + 2 * PAD_M, side_m + 2 * PAD_M)
    return shapely.intersection(shapely.union_all(links), scene).simplify(0.2)
