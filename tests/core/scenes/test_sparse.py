"""Wide land with a road or two: how much road there is, and what looks like it and is none."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from rasterio.features import rasterize
from shapely.geometry import box

from training_core.scenes.biomes import COVERS
from training_core.scenes.scene import paint_scene, paint_window, plan_scene

SIZE_PX, PIXEL_M = 400, 1.0


@pytest.fixture(scope="module")
def plans():
    return [plan_scene(SIZE_PX, seed, PIXEL_M, layout="sparse", biome="monsoon") for seed in range(12, 28)]


def surface(roads, beyond_m=0.0):
    return shapely.union_all(shapely.buffer(roads.geometry.to_numpy(), roads.width_m.to_numpy() / 2 + beyond_m))


def test_about_one_percent_of_the_ground_is_road(plans):
    percent = [100 * surface(plan.roads).area / (SIZE_PX * PIXEL_M) ** 2 for plan in plans]
    assert 0.7 < np.mean(percent) < 1.9
    assert np.min(percent) > 0.1 and np.max(percent) < 3


def test_rivers_of_any_width_and_their_sand_are_no_road(plans):
    streets = [plan.scenery.streets for plan in plans if not plan.scenery.streets.river.is_empty]
    widths_m = [2 * each.river.area / each.river.length for each in streets]
    assert min(widths_m) < 8 and max(widths_m) > 30
    assert any(not each.bars.is_empty for each in streets)
    for each in streets:
        assert each.roads[each.roads.intersects(each.river)].bridge.all()
        ends = shapely.union_all(each.roads.geometry.to_numpy()).boundary  # and junctions
        assert each.river.buffer(1).disjoint(ends.intersection(box(0, 0, SIZE_PX, SIZE_PX)))


def test_tracks_are_red_or_brown_and_fade_where_they_are_grown_over():
    plan = plan_scene(256, 15, PIXEL_M, layout="sparse", biome="monsoon")
    assert set(plan.roads.surface) == {"dirt"}
    inner = rasterize([surface(plan.roads, -0.7)], out_shape=(256, 256), transform=plan.transform).astype(bool)
    redness = []
    for grown in (0.01, 0.9):
        scenery = replace(plan.scenery, biome=replace(plan.scenery.biome, grown=grown))
        red, green, blue = np.median(paint_scene(replace(plan, scenery=scenery)).image[:, inner].astype(float), axis=1)
        assert red > green > blue
        redness.append(red / green)
    assert redness[0] > 1.1 and redness[1] < 0.97 * redness[0]


def test_palms_are_painted_in_a_part_as_in_the_whole():
    plan = plan_scene(320, 27, 0.4, layout="sparse", biome="monsoon", conditions="varied")
    assert {COVERS.index("plantation"), COVERS.index("grove")} <= set(plan.scenery.land.covers.cover)
    whole = paint_window(plan, 0, 0, 320, 320)
    assert (paint_window(plan, 90, 60, 100, 120) == whole[:, 60:180, 90:190]).mean() > 0.9999
