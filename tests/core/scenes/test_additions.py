"""What is added to scenes of what models get wrong: what is a road in the truth, what is none, and where it lies."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from affine import Affine
from rasterio.features import rasterize
from shapely.geometry import LineString, Polygon

from training_core.scenes.plan.additions import KINDS, Additions
from training_core.scenes.plan.drafting import ASPHALT, CONCRETE, CURB, EDGE, GRASS, SAND, WATER, draft_of
from training_core.scenes.plan.railway import NO_RAILWAY
from training_core.scenes.plan.road_table import groups, nodes_of
from training_core.scenes.plan.roadsides import add_roadsides
from training_core.scenes.plan.service_roads import add_service_roads
from training_core.scenes.scene import paint_scene, paint_window, plan_scene

SIZE_PX, PIXEL_M = 400, 0.8
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
# Of scenes before there were additions: layout, seed, meters of road, buildings, cars, mean of each band in a window.
BEFORE = [
    ("grid", 50, 398.26, 127, 74, [143.014, 139.081, 121.743]),
    ("highway", 51, 933.84, 13, 20, [136.731, 139.288, 118.757]),
    ("organic", 52, 1288.46, 78, 117, [127.001, 120.098, 100.534]),
]
WITH_ROADS = ("building_sites", "dense_lanes", "service_roads")
WITHOUT_ROADS = ("roadsides", "waterfronts", "paved_yards", "park_paths")
NONE_BESIDE = ("tree_cover", "service_roads")


@cache
def planned(kind, share=1.0):
    layout, seed, region = SCENES[kind]
    return plan_scene(SIZE_PX, seed, PIXEL_M, layout, region, additions=Additions(**{kind: share}))


def surfaces(plan):
    roads = plan.scenery.streets.roads
    return shapely.buffer(roads.geometry.to_numpy(), roads.width_m.to_numpy() / 2)


def most_on_a_road_m2(plan):
    """Return the largest area that a shape of the added ground has in common with a road."""
    ground, roads = plan.scenery.ground.geometry.to_numpy(), surfaces(plan)
    road, shape = plan.scenery.ground.sindex.query(roads, predicate="intersects")
    return shapely.area(shapely.intersection(ground[shape], roads[road])).max(initial=0)


def within(shapes):
    """Burn shapes that are in the scene's own meters."""
    transform = Affine(PIXEL_M, 0, 0, 0, -PIXEL_M, SIZE_PX * PIXEL_M)
    return rasterize(shapes, out_shape=2 * [SIZE_PX], transform=transform).astype(bool)


def test_there_is_a_scene_for_each_kind():
    assert set(SCENES) == set(KINDS)


@pytest.mark.parametrize(("layout", "seed", "road_m", "buildings", "cars", "colors"), BEFORE)
def test_scenes_without_additions_are_as_they_were_before_there_were_any(layout, seed, road_m, buildings, cars, colors):
    plan = plan_scene(256, seed, 0.6, layout, additions=Additions())
    assert plan.roads.length.sum() == pytest.approx(road_m, abs=0.01)
    assert (len(plan.scenery.land.buildings), len(plan.scenery.land.cars)) == (buildings, cars)
    assert len(plan.scenery.ground) == len(plan.scenery.canopies) == 0
    assert paint_window(plan, 60, 60, 64, 64).mean((1, 2)) == pytest.approx(colors, abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_what_is_added(kind):
    layout, seed, region = SCENES[kind]
    again = plan_scene(SIZE_PX, seed, PIXEL_M, layout, region, additions=Additions(**{kind: 1.0}))
    assert again.roads.equals(planned(kind).roads)
    for name in ("ground", "canopies"):
        assert getattr(again.scenery, name).equals(getattr(planned(kind).scenery, name))


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
    is_old = roads.street <= planned(kind, 0.0).scenery.streets.roads.street.max()
    assert set(groups(roads)[~is_old]) <= set(groups(roads)[is_old])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in NONE_BESIDE])
def test_added_ground_lies_on_no_road(kind):
    plan = planned(kind)
    ground = plan.scenery.ground
    assert len(ground) and set(ground.addition) == {kind}
    assert ground.is_valid.all()
    assert most_on_a_road_m2(plan) < 0.01


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
    roof_m2 = land.roofs.area.groupby(land.roofs.building).sum()
    assert roof_m2.to_numpy() == pytest.approx(shapely.area(buildings), rel=1e-6)


def one_street(width_m, road_class="primary"):
    """Return a draft with a straight street from west to east and nothing else."""
    scenery = planned("roadsides").scenery
    roads = scenery.streets.roads[:1].assign(road_class=road_class, width_m=width_m, bridge=False, overpass=False)
    roads.geometry = [LineString([(0, 100), (200, 100)])]
    none = np.empty(0, dtype=object)
    streets = replace(
        scenery.streets, roads=roads, river=Polygon(), railway=NO_RAILWAY, roundabouts=none, turning=none, decks=none
    )
    return draft_of(200.0, streets, scenery.land)


@pytest.mark.parametrize("seed", range(6))
def test_strips_run_along_a_street_behind_a_curb_or_grass(seed):
    ground = add_roadsides(one_street(10.0), 1.0, np.random.default_rng(seed)).ground
    apart = ground.surface.isin([CURB, GRASS])
    assert apart.sum() == 2 and (~apart).sum() == 2  # on both sides
    strips, separators = ground.geometry[~apart], ground.geometry[apart]
    away_m = strips.distance(LineString([(0, 100), (200, 100)]))
    assert away_m.between(5.25, 9.0).all()  # half of its width, and a curb or up to 4 m of grass
    for west, south, east, north in strips.bounds.to_numpy():
        assert (west, east) == pytest.approx((0, 200), abs=0.01) and 1.8 <= north - south <= 14
    assert separators.union_all().buffer(0.01).union(strips.union_all()).area == pytest.approx(
        ground.area.sum(), rel=0.01
    )


def test_a_streets_sides_hold_a_share_of_the_strips():
    counts = [len(add_roadsides(one_street(10.0), 0.5, np.random.default_rng(seed)).ground) for seed in range(30)]
    assert set(counts) == {0, 2, 4}
    assert np.mean(counts) == pytest.approx(2, abs=0.8)


@pytest.mark.parametrize("seed", range(4))
def test_a_service_road_leaves_the_highway_and_comes_back_to_it(seed):
    added = add_service_roads(one_street(10.0), 1.0, np.random.default_rng(seed)).streets.roads
    highway, beside = (added[(added.road_class == "primary") == is_main] for is_main in (True, False))
    assert highway.length.sum() > 175 and len(beside) == 2  # but for stubs at its ends
    line = LineString([(0, 100), (200, 100)])
    for road in beside.itertuples():
        assert shapely.distance(shapely.get_parts(shapely.boundary(road.geometry)), line).max() < 0.02
        middle = road.geometry.interpolate(0.5, normalized=True)
        between_m = middle.distance(line) - 5 - road.width_m / 2
        assert 0.7 < between_m < 14.1
    middles = [road.interpolate(0.5, normalized=True).y - 100 for road in beside.geometry]
    assert min(middles) < 0 < max(middles)


def test_water_has_ways_along_it_that_are_not_under_it():
    ground = planned("waterfronts").scenery.ground
    water, ways = (ground[is_water] for is_water in (ground.surface == WATER, ground.surface != WATER))
    assert len(water) > 3 and len(ways) > 3
    river = planned("waterfronts").scenery.streets.river
    all_water = shapely.union_all([*water.geometry, river])
    assert (ways.distance(all_water) < 6).all()
    assert ways.union_all().intersection(shapely.union_all(water.geometry.buffer(-0.1))).area < 0.02 * ways.area.sum()


def test_tracks_of_building_sites_lie_on_graded_ground():
    plan = planned("building_sites")
    before = planned("building_sites", 0.0).scenery.streets.roads
    roads = plan.scenery.streets.roads
    tracks = roads[roads.street > before.street.max()]
    assert len(tracks) and set(tracks.road_class) == {"track"} and tracks.width_m.between(1.8, 5).all()
    on_site = tracks.geometry.intersection(plan.scenery.ground.union_all().buffer(6)).length.sum()
    assert on_site > 0.8 * tracks.length.sum()
    graded = plan.scenery.ground[plan.scenery.ground.surface != EDGE]
    assert graded.area.sum() > 10 * tracks.length.sum()  # most of a site is no track


def test_dense_lanes_are_narrow_and_lie_in_shadow_between_houses():
    plan = planned("dense_lanes")
    before = planned("dense_lanes", 0.0).scenery.streets.roads
    roads = plan.scenery.streets.roads
    lanes = roads[roads.street > before.street.max()]
    others = roads[roads.street <= before.street.max()]
    assert lanes.length.sum() > 500 and lanes.width_m.between(2.2, 4.2).all()
    shadow = shapely.union_all(plan.scenery.shadows.geometry.to_numpy())
    lane, other = (shapely.union_all(table.buffer(table.width_m / 2).to_numpy()) for table in (lanes, others))
    in_shadow = lane.intersection(shadow).area / lane.area
    assert in_shadow > 0.35 and in_shadow > 2 * other.intersection(shadow).area / other.area
    beside = lanes.buffer(lanes.width_m / 2 + 3).union_all().difference(lanes.buffer(lanes.width_m / 2).union_all())
    built = beside.intersection(plan.scenery.land.buildings.union_all()).area / beside.area
    assert built > 0.3


def test_crowns_hide_most_of_the_roads_under_trees_and_none_of_the_others():
    plan = planned("tree_cover", 0.5)
    canopies = plan.scenery.canopies
    covered = within(canopies.geometry) & within(surfaces(plan))
    free = within(surfaces(plan)) & ~within(canopies.geometry.buffer(25))
    bare, shady = (paint_scene(planned("tree_cover", share)).image.astype(float) for share in (0.0, 0.5))
    differs = (bare != shady).any(axis=0)
    greenness = shady[1] - shady[[0, 2]].mean(axis=0)
    assert covered.sum() > 2000 and free.sum() > 1000
    assert differs[covered].mean() > 0.75 and differs[free].mean() < 0.02
    assert greenness[covered].mean() > greenness[free].mean() + 3


def test_paved_yards_are_car_parks_storage_and_aprons():
    before, after = (planned("paved_yards", share).scenery for share in (0.0, 1.0))
    assert len(after.land.car_parks) > len(before.land.car_parks)
    assert len(after.land.bays) > len(before.land.bays) and len(after.land.cars) > len(before.land.cars)
    assert {CONCRETE, ASPHALT} & set(after.ground.surface)
    containers = after.land.buildings[after.land.buildings.height_m == 2.6]
    assert len(containers) > 10
    yards = shapely.union_all(after.ground.geometry.to_numpy())
    assert containers.within(yards).all()


def test_park_paths_are_narrower_than_any_track_and_lie_on_lawns():
    ground = planned("park_paths").scenery.ground
    paths = ground[~ground.surface.isin([GRASS, SAND])]
    assert len(paths) > 5
    lawns = ground[ground.surface == GRASS].union_all()
    assert paths.within(lawns.buffer(0.01)).all()
    assert (
        0.9 < 2 * paths.area.sum() / paths.length.sum() < 2.4
    )  # a strip's area is half of its outline times its width


def test_one_kind_is_the_same_with_and_without_another():
    layout, seed, region = SCENES["roadsides"]
    both = plan_scene(SIZE_PX, seed, PIXEL_M, layout, region, additions=Additions(roadsides=1.0, tree_cover=0.5))
    assert both.scenery.ground.geometry.equals(planned("roadsides").scenery.ground.geometry)
    assert len(both.scenery.canopies)


def test_all_kinds_together_keep_off_each_others_ground():
    all_kinds = Additions(**dict.fromkeys(KINDS, 0.6))
    plan = plan_scene(300, 4, PIXEL_M, "mixed", "tropical", additions=all_kinds)
    ground = plan.scenery.ground
    assert len(set(ground.addition)) >= 5
    areas = {name: shapely.union_all(part.geometry.to_numpy()) for name, part in ground.groupby("addition")}
    total = sum(area.area for area in areas.values())
    assert shapely.union_all(list(areas.values())).area > 0.9 * total
    assert most_on_a_road_m2(plan) < 0.01


def test_a_part_is_painted_as_in_the_whole():
    all_kinds = Additions(**dict.fromkeys(KINDS, 0.6))
    plan = plan_scene(240, 4, PIXEL_M, "mixed", "any", conditions="varied", additions=all_kinds)
    part = paint_window(plan, 70, 40, 110, 120)
    assert (part == paint_scene(plan).image[:, 40:160, 70:180]).mean() > 0.9999


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(ValueError, match="roadsides"):
        Additions(roadsides=share)
