"""What teaches a model what it gets wrong on real ground, to be added to a scene one kind at a time.

Some kinds are roads that are missed, others look like roads and are none. Each draws from a random generator of its
own, so that the scene is the same but for it, and for what gives way to it.

Scope: which kinds there are, how much of each, and in which order they are added. Independent of how each is made.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import geopandas as gpd
import numpy as np
import shapely

from .building_sites import add_building_sites
from .canopies import add_tree_cover
from .dense_lanes import add_dense_lanes
from .drafting import Draft, surfaces_of, without
from .park_paths import add_park_paths
from .paved_yards import add_paved_yards
from .roadsides import add_roadsides
from .service_roads import add_service_roads
from .waterfronts import add_waterfronts

# Those that bring roads come first: what is no road keeps off them. The numbers seed their generators.
_KINDS = {
    "service_roads": (1, add_service_roads),
    "dense_lanes": (2, add_dense_lanes),
    "building_sites": (3, add_building_sites),
    "waterfronts": (4, add_waterfronts),
    "paved_yards": (5, add_paved_yards),
    "park_paths": (6, add_park_paths),
    "roadsides": (7, add_roadsides),
    "tree_cover": (8, add_tree_cover),
}


@dataclass(frozen=True)
class Additions:
    """How much of each kind is added to a scene: a share, from 0 to 1, of the places where it can be.

    Parameters
    ----------
    roadsides : float
        Of the sides of streets: strips of bare earth or paving, behind a curb or grass. No roads.
    waterfronts : float
        Of the blocks: basins and shores; canals and the river's banks go with it. No roads.
    building_sites : float
        Of the blocks: graded ground with edges, which is no road, and its tracks, which are.
    paved_yards : float
        Of the blocks: car parks, storage yards, aprons. No roads.
    park_paths : float
        Of the blocks: paths of parks, gardens and golf courses. No roads.
    dense_lanes : float
        Of the blocks in town: narrow lanes between tall houses, in their shadow, as dark as the ground. Roads.
    tree_cover : float
        Of the streets: crowns over most of them. The roads are the same.
    service_roads : float
        Of the sides of highways: roads and lanes beside them with their ramps. Roads.

    Raises
    ------
    ValueError
        A share is below 0 or above 1.
    """

    roadsides: float = 0.0
    waterfronts: float = 0.0
    building_sites: float = 0.0
    paved_yards: float = 0.0
    park_paths: float = 0.0
    dense_lanes: float = 0.0
    tree_cover: float = 0.0
    service_roads: float = 0.0

    def __post_init__(self) -> None:
        for name, share in self.shares().items():
            if not 0 <= share <= 1:
                raise ValueError(f"{name} is {share}, but must be a share from 0 to 1.")

    def shares(self) -> dict[str, float]:
        """Return the share of each kind by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


NO_ADDITIONS = Additions()
KINDS = tuple(each.name for each in fields(Additions))


def with_additions(draft: Draft, additions: Additions, seed: int) -> Draft:
    """Return a draft with what is to be added to it.

    Parameters
    ----------
    seed : int
        Of the scene.
    """
    shares = additions.shares()
    for name, (number, add) in _KINDS.items():
        if shares[name]:
            draft = add(draft, shares[name], np.random.default_rng([seed, number]))
    return replace(draft, ground=_off_roads(draft))


def _off_roads(draft: Draft) -> gpd.GeoDataFrame:
    """Return the added ground without what lies on a road."""
    ground = draft.ground.copy()
    ground.geometry = without(ground.geometry.to_numpy(), surfaces_of(draft.streets.roads))
    return ground[~shapely.is_empty(ground.geometry.to_numpy())].reset_index(drop=True)
