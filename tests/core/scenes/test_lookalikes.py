"""What looks like a road in scenes and is none: where it lies, that roads run across it, and that it is seen."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from affine import Affine
from rasterio.features import rasterize

from training_core.scenes.plan.lookalikes import (
    BLOCK_KINDS,
    CANAL,
    DITCH,
    GREENHOUSE,
    LINING,
    RUNWAY,
    TERRACE,
    TREE_ROW,
    WASH,
    plan_lookalikes,
)
from training_core.scenes.plan.placing import table
from training_core.scenes.plan.sketch import Towns
from training_core.scenes.plan.streets import plan_streets
from training_core.scenes.scene import paint_scene, paint_window, plan_scene

SIDE_M = 600.0
FAR_AWAY = Towns(np.array([[1e6, 1e6]]), 100.0)


@cache
def country():
    """Return streets without a town, and four blocks of 280 m."""
    streets = replace(plan_streets(SIDE_M, "rural", np.random.default_rng(0)), towns=FAR_AWAY)
    corners = [(x, y) for x in (10, 310) for y in (10, 310)]
    blocks = np.array([shapely.box(x, y, x + 280, y + 280) for x, y in corners])
    return streets, table(blocks, angle=np.zeros(4), strip_m=np.full(4, 50.0))


@cache
def lookalikes(seed, share=1.0):
    return plan_lookalikes(SIDE_M, *country(), share, np.random.default_rng(seed))


def test_there_are_all_kinds_within_blocks_but_what_crosses_them_all():
    found, blocks = set(), shapely.union_all(country()[1].geometry.to_numpy())
    for seed in range(12):
        strips = lookalikes(seed)
        found |= set(strips.kind)
        within = strips[strips.kind.isin(BLOCK_KINDS)]
        assert shapely.covers(blocks.buffer(0.01), within.geometry.to_numpy()).all()
        assert strips.is_valid.all() and not strips.is_empty.any()
    assert found == {*BLOCK_KINDS, WASH, CANAL, LINING}


@pytest.mark.parametrize(
    ("kind", "widths_m"), [(DITCH, (0.8, 3.5)), (GREENHOUSE, (6, 11)), (TREE_ROW, (1.5, 3)), (RUNWAY, (18, 45))]
)
def test_strips_are_as_wide_as_such_things_are(kind, widths_m):
    strips = [each for seed in range(12) for each in lookalikes(seed).geometry[lookalikes(seed).kind == kind]]
    assert strips
    whole = [each for each in strips if each.area > 0.98 * each.minimum_rotated_rectangle.area]
    sides = [
        np.hypot(*np.diff(np.array(each.minimum_rotated_rectangle.exterior.coords)[:3], axis=0).T) for each in whole
    ]
    assert all(min(side) <= widths_m[1] + 0.01 for side in sides)
    assert sum(min(side) >= widths_m[0] - 0.01 for side in sides) > 0.6 * len(sides)  # the outermost are cut


def test_terraces_follow_the_blocks_outline_inward():
    strips = next(each for each in map(lookalikes, range(12)) if (each.kind == TERRACE).any())
    rings = strips.geometry[strips.kind == TERRACE].to_numpy()
    hulls = shapely.polygons(shapely.get_exterior_ring(rings))
    assert (np.diff(shapely.area(hulls[:3])) < 0).all()


def test_a_canal_lies_on_its_lining_and_ends_outside_the_scene():
    strips = next(each for each in map(lookalikes, range(30)) if (each.kind == CANAL).any())
    canal, lining = (strips.geometry[strips.kind == kind].iloc[0] for kind in (CANAL, LINING))
    assert lining.covers(canal) and lining.area > canal.area
    assert strips.index[strips.kind == LINING][0] < strips.index[strips.kind == CANAL][0]


def test_a_share_of_the_blocks_holds_something_and_towns_hold_nothing():
    streets, blocks = country()
    assert len(lookalikes(0, 0.0)) == 0
    town = replace(streets, towns=Towns(np.full((1, 2), SIDE_M / 2), 10 * SIDE_M))
    assert len(plan_lookalikes(SIDE_M, town, blocks, 1.0, np.random.default_rng(0))) == 0


def test_a_scene_with_them_is_the_same_but_for_them():
    plain, other = (plan_scene(512, 3, layout="rural", lookalikes=share) for share in (0.0, 1.0))
    assert plain.roads.equals(other.roads) and len(other.scenery.lookalikes) and not len(plain.scenery.lookalikes)
    differs = (paint_scene(plain).image != paint_scene(other).image).any(axis=0)
    pixel_m = other.resolution_m
    transform = Affine(pixel_m, 0, 0, 0, -pixel_m, 512 * pixel_m)
    surfaces = other.scenery.streets.roads
    road, strips = (
        rasterize(shapes, out_shape=(512, 512), transform=transform).astype(bool)
        for shapes in (
            shapely.buffer(surfaces.geometry.to_numpy(), surfaces.width_m.to_numpy() / 2),
            other.scenery.lookalikes.geometry,
        )
    )
    assert differs[strips & ~road].mean() > 0.3
    assert differs[road].mean() < 0.1  # but where trees in rows hang over them


def test_a_part_is_painted_as_in_the_whole():
    plan = plan_scene(512, 3, layout="rural", conditions="varied", region="any", lookalikes=1.0)
    assert (paint_window(plan, 100, 60, 256, 200) == paint_scene(plan).image[:, 60:260, 100:356]).all()
