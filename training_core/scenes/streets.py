"""The street plan of a scene: roads with class, width and surface, the river, and the bridges.

Scope: lines on a plane in meters. Independent of pixels and of things along the roads.

A plan is drawn straight by one of the `layouts` and then bent by a smooth invertible map, so that junctions stay
junctions while streets become curves.
"""

from __future__ import annotations

from dataclasses import dataclass

import geopandas as gpd
import numpy as np
import shapely
import shapely.affinity
from shapely.geometry import Polygon, box

from .layouts import LAYOUTS
from .shapes import SNAP_M, clipped, exploded, noded, stack, without_fragments
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
}
_MOOD_CHANCES = (0.4, 0.25, 0.15, 0.2)
_RIVER_CHANCE, _RIVER_TRIES = 0.5, 20
_RIVER_HALF_WIDTHS_M = (2.0, 12.0)  # from a brook to what only large bridges cross


@dataclass(frozen=True)
class StreetPlan:
    """Roads, the river, and what was decided on the way.

    Roads have columns road_class, width_m, surface, bridge, overpass (a bridge over roads) and street (the
    number of the street that a piece is of). Lines meet at nodes only, but what passes below an overpass.
    """

    roads: gpd.GeoDataFrame
    river: Polygon  # the water's surface, empty without a river
    turning: np.ndarray  # (N,) points: ends of dead-end streets that widen into a place to turn
    towns: Towns
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
    roads = noded(over_river(roads, river), SNAP_M)
    roads = without_fragments(clipped(roads, box(-PAD_M, -PAD_M, side_m + PAD_M, side_m + PAD_M)))
    turning = shapely.points(sketch.bend(np.reshape(sketch.ends, (-1, 2))))
    kept = np.unique(roads.sindex.query(turning, predicate="dwithin", distance=0.5)[0])
    over = roads[roads.overpass]
    decks = shapely.buffer(over.geometry.to_numpy(), over.width_m.to_numpy() / 2 + 0.7, cap_style="flat")
    return StreetPlan(roads, river, turning[kept], sketch.towns, decks, layout)


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


def plan_river(side_m: float, bend: Bend, clear_of: Polygon, rng: np.random.Generator) -> Polygon:
    """Return the water of a winding river that keeps off an area, or an empty polygon where it cannot.

    `bend` is the turn of the streets. The river crosses the scene off its center, and the streets at a slant.
    """
    along_m = np.arange(-side_m - 4 * PAD_M, side_m + 4 * PAD_M, 6.0)
    scene = box(-2 * PAD_M, -2 * PAD_M, side_m + 2 * PAD_M, side_m + 2 * PAD_M)
    for _ in range(_RIVER_TRIES):
        half_width_m = np.exp(rng.uniform(*np.log(_RIVER_HALF_WIDTHS_M)))
        aside_m = rng.choice([-1, 1]) * rng.uniform(0.18, 0.32) * side_m + np.zeros_like(along_m)
        for length_m, swing_m in ((700, 45), (310, 22), (130, 6)):
            aside_m += swing_m * np.sin(2 * np.pi * along_m / length_m + rng.uniform(0, 2 * np.pi))
        wobble = half_width_m * (1 + 0.22 * np.sin(along_m / 23 + rng.uniform(0, 6)) + 0.12 * np.sin(along_m / 9))
        banks = [np.column_stack([along_m, aside_m + bank_m]) for bank_m in (wobble, -wobble)]
        outline = shapely.make_valid(Polygon(np.vstack([banks[0], banks[1][::-1]])))
        turn = np.arctan2(*bend.turn[::-1, 0]) + np.pi / 4 * rng.choice([1, 3, 5, 7]) + rng.uniform(-0.2, 0.2)
        turned = shapely.affinity.rotate(outline, turn, origin=(0, 0), use_radians=True)
        river = shapely.affinity.translate(turned, side_m / 2, side_m / 2).intersection(scene)
        if not river.intersects(clear_of):
            return river
    return Polygon()


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
