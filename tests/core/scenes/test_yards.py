"""The ground around houses in scenes: where walls and hedges stand, what they throw and what lies between."""

from dataclasses import replace
from functools import cache

import numpy as np
import shapely

from training_core.scenes.biomes import BIOMES, HOUSE
from training_core.scenes.land import plan_land
from training_core.scenes.streets import plan_streets


@cache
def place(side_m=300.0, layout="suburb", seed=3):
    return plan_streets(side_m, layout, np.random.default_rng(seed))


@cache
def yards(walled, hedged):
    biome = replace(BIOMES["desert"], walled=walled, hedged=hedged)
    return plan_land(300.0, place(), biome, np.random.default_rng(0))


def test_no_wall_or_hedge_stands_on_a_road():
    roads = place().roads
    surfaces = shapely.union_all(shapely.buffer(roads.geometry.to_numpy(), roads.width_m.to_numpy() / 2))
    for walled, hedged in ((1, 0), (0, 1)):
        all_there_are = yards(walled, hedged)
        for lines in (all_there_are.walls, all_there_are.hedges):
            assert not lines.intersects(surfaces).any()


def test_gardens_lie_behind_the_street_and_hold_what_lies_on_them():
    land = plan_land(300.0, place(), BIOMES["desert"], np.random.default_rng(0))
    houses, gardens, patches = land.buildings[land.buildings.kind == HOUSE], land.gardens, land.patches
    assert len(houses) > 40
    assert houses.centroid.intersects(shapely.union_all(gardens.geometry)).all()
    assert patches.centroid.intersects(shapely.union_all(gardens.geometry)).all()
    assert set(patches.kind) == {0, 1, 2, 3}
    assert patches.area.between(3, 300).all()
    assert len(land.drives) == len(houses)
