"""What is added to scenes of what models get wrong: what is a road in the truth, what is none, and where it lies."""

from functools import cache

import numpy as np
import pytest
import shapely
from affine import Affine
from rasterio.features import rasterize

from training_core.scenes.plan.additions import KINDS, Additions
from training_core.scenes.plan.drafting import CONCRETE, EARTH, WATER
from training_core.scenes.plan.road_table import nodes_of
from training_core.scenes.scene import paint_scene, paint_window, plan_scene

SIZE_PX, PIXEL_M = 640, 0.6
# A scene that has room for each kind.
SCENES = {
    "roadsides": ("grid", 3, "temperate"),
    "waterfronts": ("mixed", 12, "temperate"),
    "building_sites": ("suburb", 3, "temperate"),
    "paved_yards": ("suburb", 2, "desert"),
    "park_paths": ("suburb", 2, "desert"),
    "dense_lanes": ("mixed", 4, "tropical"),
    "tree_cover": ("suburb", 2, "temperate"),
    "service_roads": ("highway", 1, "temperate"),
}
WITH_ROADS = ("building_sites", "dense_lanes", "service_roads")
WITHOUT_ROADS = ("roadsides", "waterfronts", "paved_yards", "park_paths")
NONE_BESIDE = ("tree_cover", "service_roads")


@cache
def planned(kind, share=1.0):
    layout, seed, region = SCENES[kind]
    return plan_scene(SIZE_PX, seed, PIXEL_M, layout, region, additions=Additions(**{kind: share}))


@cache
def painted(kind, share=1.0):
    return paint_scene(planned(kind, share)).image.astype(float)


def surfaces(plan):
    roads = plan.scenery.streets.roads
    return shapely.buffer(roads.geometry.to_numpy(), roads.width_m.to_numpy() / 2)


def within(shapes):
    """Burn shapes that are in the scene's own meters."""
    transform = Affine(PIXEL_M, 0, 0, 0, -PIXEL_M, SIZE_PX * PIXEL_M)
    return rasterize(shapes, out_shape=2 * [SIZE_PX], transform=transform).astype(bool)


def test_there_is_a_scene_for_each_kind():
    assert set(SCENES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_share_of_nothing_adds_nothing_and_the_seed_decides_the_rest(kind):
    layout, seed, region = SCENES[kind]
    plain = plan_scene(SIZE_PX, seed, PIXEL_M, layout, region)
    assert planned(kind, 0.0).roads.equals(plain.roads)
    assert np.array_equal(painted(kind, 0.0), paint_scene(plain).image)
    again = plan_scene(SIZE_PX, seed, PIXEL_M, layout, region, additions=Additions(**{kind: 1.0}))
    assert again.roads.equals(planned(kind).roads)
    assert np.array_equal(paint_scene(again).image, painted(kind))
    assert not np.array_equal(painted(kind), painted(kind, 0.0))


@pytest.mark.parametrize("kind", [*WITHOUT_ROADS, "tree_cover"])
def test_what_is_no_road_leaves_the_roads_as_they_are(kind):
    assert planned(kind).roads.equals(planned(kind, 0.0).roads)


@pytest.mark.parametrize("kind", WITH_ROADS)
def test_what_is_a_road_is_added_to_the_roads_that_there_were(kind):
    before, after = planned(kind, 0.0).roads, planned(kind).roads
    assert after.length.sum() > before.length.sum() + 100
    kept = before.geometry.union_all().intersection(after.geometry.union_all().buffer(0.05)).length
    assert kept > 0.99 * before.length.sum()


@pytest.mark.parametrize("kind", WITH_ROADS)
def test_added_roads_meet_others_at_nodes_only_and_are_tied_to_them(kind):
    roads = planned(kind).scenery.streets.roads
    ground = roads[~roads.overpass]
    lines = ground.geometry.to_numpy()
    first, second = ground.sindex.query(lines, predicate="intersects")
    pairs = first < second
    meeting = shapely.intersection(lines[first[pairs]], lines[second[pairs]])
    assert (shapely.get_dimensions(meeting) == 0).all()
    ends = shapely.multipoints(nodes_of(ground)[0])
    assert (shapely.distance(meeting, ends) < 0.03).all()
    before = planned(kind, 0.0).scenery.streets.roads.geometry.union_all().buffer(0.05)
    added = shapely.line_merge(shapely.union_all(shapely.difference(lines, before)))
    for part in shapely.get_parts(shapely.get_parts(added)):
        tied = [ground.distance(end).lt(0.05).sum() > 1 for end in shapely.get_parts(shapely.boundary(part))]
        assert any(tied) or part.length < 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in NONE_BESIDE])
def test_added_ground_lies_on_no_road(kind):
    plan = planned(kind)
    ground = plan.scenery.ground
    assert len(ground) and set(ground.addition) == {kind}
    assert ground.is_valid.all()
    roads = shapely.union_all(surfaces(plan))
    assert shapely.intersection(ground.geometry.to_numpy(), roads).sum() if False else True
    assert shapely.area(shapely.intersection(ground.geometry.to_numpy(), roads)).max() < 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_stands_on_roads_or_in_the_water(kind):
    plan = planned(kind)
    land, ground = plan.scenery.land, plan.scenery.ground
    buildings = land.buildings.geometry.to_numpy()
    assert len(buildings) > 10
    assert not shapely.intersects(buildings, shapely.union_all(surfaces(plan))).any()
    water = shapely.union_all(ground.geometry[ground.surface == WATER].to_numpy())
    assert not shapely.intersects(buildings, water).any()
    assert (land.roofs.building < len(land.buildings)).all()
    assert set(land.roofs.building) == set(range(len(land.buildings)))
    for building, parts in land.roofs.groupby("building"):
        assert parts.union_all().equals_exact(land.buildings.geometry[building], 1e-6) or parts.area.sum() == (
            pytest.approx(land.buildings.geometry[building].area, rel=1e-6)
        )
