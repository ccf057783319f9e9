"""The ground around houses in scenes: where walls and hedges stand, what they throw and what lies between."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely

from training_core.scenes.biomes import BIOMES, HOUSE
from training_core.scenes.land import plan_land
from training_core.scenes.shapes import is_clear, spots, table
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


def test_spots_lie_on_roads_and_what_touches_taken_ground_is_not_clear():
    roads = place().roads
    row, center, along = spots(roads, 20.0, np.random.default_rng(0))
    assert len(row) == pytest.approx(roads.length.sum() / 20, rel=0.1)
    assert (shapely.distance(shapely.points(center), roads.geometry.to_numpy()[row]) < 0.2).all()
    ahead = center + 2 * np.column_stack([np.cos(along), np.sin(along)])
    off_m = shapely.distance(shapely.points(ahead), roads.geometry.to_numpy()[row])
    assert np.median(off_m) < 0.1
    taken = table(shapely.box([0, 20], 0, [10, 30], 10))
    shapes = shapely.box([2, 10, 12, 25], 2, [4, 12, 18, 40], 4)
    assert is_clear(shapes, taken).tolist() == [False, False, True, False]
