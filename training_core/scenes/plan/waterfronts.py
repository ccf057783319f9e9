"""Water with banks and promenades, which are no road: along the river, canals through town, basins, lakes and shores.

Scope: shapes on a plane in meters. Independent of colors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely
from shapely.affinity import rotate, translate
from shapely.geometry import LineString, Point, Polygon, box

from .drafting import (
    ASPHALT,
    CONCRETE,
    CURB,
    EARTH,
    GRASS,
    GRAVEL,
    WATER,
    Draft,
    Layer,
    cleared,
    plots,
    surfaces_of,
    with_ground,
)
from .sketch import PAD_M

_SIDES_M = (40.0, 160.0)
_WAYS, _WAY_SHARES = (CONCRETE, EARTH, GRAVEL, ASPHALT), (0.5, 0.25, 0.15, 0.1)
_WAY_M, _BANK_M, _QUAY_M = (2.0, 9.0), (1.0, 5.0), (0.3, 0.6)
_CANAL_SHARE, _CANAL_M, _CANAL_TRIES = 0.5, (4.0, 14.0), 8


def add_waterfronts(draft: Draft, share: float, rng: np.random.Generator) -> Draft:
    """Return the draft with ways along its river, a canal, and basins and shores on a share of the blocks.

    Parameters
    ----------
    share : float
        From 0 to 1; how often a canal crosses, and ways follow the river, goes with it.
    rng : Generator
        Draws them.
    """
    layers: list[Layer] = []
    river = draft.streets.river
    if not river.is_empty and rng.random() < share:
        layers += _fronts(river, rng)
    if rng.random() < _CANAL_SHARE * share:
        layers += _canal(draft, rng)
    draft = _with_water(draft, layers, rng)
    layers = []
    for plot, angle in plots(draft, 1.5, _SIDES_M, share, rng):
        water = _basin(plot, angle, rng)
        layers += [(surface, shape.intersection(plot)) for surface, shape in _fronts(water, rng)]
        layers.append((WATER, water))
    return _with_water(draft, layers, rng)


def _with_water(draft: Draft, layers: list[Layer], rng: np.random.Generator) -> Draft:
    if not layers:
        return draft
    draft = replace(draft, land=cleared(draft.land, np.array([shape for _, shape in layers], dtype=object)))
    return with_ground(draft, "waterfronts", layers, rng)


def _fronts(water: Polygon, rng: np.random.Generator) -> list[Layer]:
    """Return the ways around water, behind a quay's wall or a bank of grass."""
    has_quay = rng.random() < 0.5
    away_m = rng.uniform(*(_QUAY_M if has_quay else _BANK_M))
    way = int(rng.choice(_WAYS, p=_WAY_SHARES))
    bank = shapely.buffer(water, away_m)
    outer = shapely.difference(shapely.buffer(bank, rng.uniform(*_WAY_M)), bank)
    return [(way, outer), (CURB if has_quay else GRASS, shapely.difference(bank, water))]


def _canal(draft: Draft, rng: np.random.Generator) -> list[Layer]:
    """Return a canal across the scene with its fronts, that roads cross but do not run along, where there is room."""
    side_m, roads = draft.side_m, draft.streets.roads
    scene = box(-PAD_M, -PAD_M, side_m + PAD_M, side_m + PAD_M)
    surfaces = surfaces_of(roads)
    for _ in range(_CANAL_TRIES):
        width_m, reach_m = rng.uniform(*_CANAL_M), side_m + 2 * PAD_M
        along_m = np.array([-reach_m, *np.sort(rng.uniform(-side_m / 2, side_m / 2, 2)), reach_m])
        aside_m = rng.uniform(-0.35, 0.35) * side_m + rng.uniform(-0.2, 0.2, 4) * side_m
        line = LineString(np.column_stack([along_m, aside_m]))
        line = translate(rotate(line, rng.uniform(0, 360), origin=(0, 0)), side_m / 2, side_m / 2)
        canal = line.buffer(width_m / 2, join_style="mitre").intersection(scene)
        on_roads = shapely.length(shapely.get_parts(shapely.intersection(line, shapely.union_all(surfaces))))
        keeps_off = not (draft.streets.river.intersects(canal) or draft.streets.railway.bed.intersects(canal))
        if keeps_off and on_roads.max(initial=0) < 60:
            return [*_fronts(canal, rng), (WATER, canal)]
    return []


def _basin(ground: Polygon, angle: float, rng: np.random.Generator) -> Polygon:
    """Return a basin as its block is shaped, a rounded pond, or the water before a shore."""
    kind = rng.integers(3)
    if kind == 0:
        return ground.buffer(-rng.uniform(8, 16)).buffer(-3).buffer(3)
    center = np.array(ground.point_on_surface().coords[0])
    if kind == 1:
        turn = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        wave = 1 + 0.15 * np.sin(2 * turn + rng.uniform(0, 6)) + 0.1 * np.sin(3 * turn + rng.uniform(0, 6))
        radius_m = np.sqrt(ground.area / np.pi) * rng.uniform(0.4, 0.7)
        points = np.column_stack([np.cos(turn) * rng.uniform(1.0, 1.6), np.sin(turn)]) * wave[:, None] * radius_m
        pond = rotate(Polygon(points), angle, origin=Point(0, 0), use_radians=True)
        return translate(pond, *center).intersection(ground.buffer(-rng.uniform(4, 10)))
    reach_m = ground.length
    along_m = np.linspace(-reach_m, reach_m, 200)
    aside_m = rng.uniform(2, 8) * np.sin(along_m / rng.uniform(15, 40) + rng.uniform(0, 6))
    shore = Polygon([*np.column_stack([along_m, aside_m]), (reach_m, reach_m), (-reach_m, reach_m)])
    side = translate(rotate(shore, rng.uniform(0, 360), origin=(0, 0)), *center)
    return side.intersection(ground.buffer(-1.0))
