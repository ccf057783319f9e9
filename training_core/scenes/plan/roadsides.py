"""Strips beside roads that are none: bare or gravel verges, wide sidewalks, behind a curb or a strip of grass.

Scope: shapes on a plane in meters. Independent of colors.
"""

from __future__ import annotations

from dataclasses import replace

import geopandas as gpd
import numpy as np
import shapely

from .drafting import ASPHALT, CONCRETE, CURB, EARTH, GRASS, GRAVEL, Draft, Layer, with_ground, without, without_fences

_MAIN = ("motorway", "primary", "secondary")
_KINDS, _KIND_SHARES = (EARTH, CONCRETE, GRAVEL, ASPHALT), (0.45, 0.35, 0.1, 0.1)
# Widths beside main roads and others. Asphalt strips are cycle tracks: wider ones would be roads.
_WIDTHS_M = {
    EARTH: ((3.0, 14.0), (2.0, 5.0)),
    GRAVEL: ((2.0, 8.0), (1.5, 4.0)),
    CONCRETE: ((2.5, 8.0), (1.8, 5.0)),
    ASPHALT: ((1.8, 3.0), (1.8, 3.0)),
}
_CURB_M, _GRASS_M = (0.25, 0.5), (0.8, 4.0)


def add_roadsides(draft: Draft, share: float, rng: np.random.Generator) -> Draft:
    """Return the draft with strips along a share of the sides of its streets.

    Parameters
    ----------
    share : float
        From 0 to 1.
    rng : Generator
        Draws them.
    """
    roads = draft.streets.roads
    beside = roads[~roads.road_class.isin(("track", "motorway_link")) & ~roads.bridge & ~roads.overpass]
    layers: list[Layer] = []
    for _, pieces in beside.groupby("street"):
        for side in (-1, 1):
            if rng.random() < share:
                layers += _strip(pieces, side, rng)
    if not layers:
        return draft
    taken = np.array([draft.streets.river, *draft.ground.geometry], dtype=object)
    shapes = without(np.array([shape for _, shape in layers], dtype=object), taken)
    draft = replace(draft, land=without_fences(draft.land, shapes))
    return with_ground(draft, "roadsides", [(surface, each) for (surface, _), each in zip(layers, shapes)], rng)


def _strip(pieces: gpd.GeoDataFrame, side: int, rng: np.random.Generator) -> list[Layer]:
    """Return a strip along one side of a street, and what separates it from the carriageway."""
    is_main = pieces.road_class.iloc[0] in _MAIN
    surface = int(rng.choice(_KINDS, p=_KIND_SHARES))
    width_m = rng.uniform(*_WIDTHS_M[surface][0 if is_main else 1])
    is_curbed = rng.random() < (0.6 if surface == CONCRETE else 0.25)
    apart_m = rng.uniform(*(_CURB_M if is_curbed else _GRASS_M))
    line = shapely.line_merge(shapely.union_all(pieces.geometry.to_numpy()))
    half_m = float(pieces.width_m.max()) / 2
    within, to_curb, whole = (
        shapely.union_all(shapely.buffer(shapely.get_parts(line), side * reach_m, single_sided=True))
        for reach_m in (half_m, half_m + apart_m, half_m + apart_m + width_m)
    )
    return [
        (surface, shapely.difference(whole, to_curb)),
        (CURB if is_curbed else GRASS, shapely.difference(to_curb, within)),
    ]
