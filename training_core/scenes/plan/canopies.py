"""Stretches of road under trees, whose crowns hide most of it.

Scope: shapes on a plane in meters, and how densely trees stand there. Independent of what a tree looks like.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely
from shapely.ops import substring

from .drafting import Draft
from .placing import table

_WIDEST_M = 14.0  # of the roads that crowns from both sides can hide
_BESIDE_M = (1.0, 4.0)
_DENSITIES = (0.6, 1.0)


def add_tree_cover(draft: Draft, share: float, rng: np.random.Generator) -> Draft:
    """Return the draft with trees over a share of its streets, from junction to junction or over a part of that.

    Parameters
    ----------
    share : float
        From 0 to 1.
    rng : Generator
        Draws them.
    """
    roads = draft.streets.roads
    is_open = roads.road_class.isin(("motorway", "motorway_link")) | roads.bridge | roads.overpass
    lined = roads[~is_open & (roads.width_m < _WIDEST_M)]
    lined = lined[rng.random(len(lined)) < share]
    if lined.empty:
        return draft
    start, end = rng.uniform(0, 0.25, len(lined)), rng.uniform(0.75, 1, len(lined))
    parts = [substring(line, *ends, normalized=True) for line, *ends in zip(lined.geometry, start, end)]
    reach_m = lined.width_m.to_numpy() / 2 + rng.uniform(*_BESIDE_M, len(lined))
    shapes = shapely.buffer(np.array(parts, dtype=object), reach_m)
    return replace(draft, canopies=table(shapes, density=rng.uniform(*_DENSITIES, len(lined))))
