"""How scenes are lit, seen and taken: seasons, buildings from aslant, bands, depths and compression."""

from dataclasses import replace

import numpy as np
import pytest
import rasterio
import shapely
from affine import Affine
from rasterio.enums import ColorInterp
from rasterio.features import rasterize

from training_core.events import Reporter
from training_core.jobs import MakeScene
from training_core.pipelines.makescene import run
from training_core.scenes.biomes import COVERS
from training_core.scenes.scene import SCENE_CRS, make_scene, paint_scene, paint_window, plan_scene

SIZE_PX, PIXEL_M = 384, 1.0
SEED = 61  # has a river, a forest and halls


@pytest.fixture(scope="module")
def plan():
    return plan_scene(SIZE_PX, SEED, PIXEL_M, layout="mixed", bands="rgbn")


@pytest.fixture(scope="module")
def colors(plan):
    return paint_scene(plan).image.astype(float)


def altered(plan, look=None, **camera):
    scenery = plan.scenery
    look, camera = replace(scenery.look, **look or {}), replace(scenery.camera, **camera)
    return replace(plan, scenery=replace(scenery, look=look, camera=camera))


def within(plan, shapes):
    """Burn shapes that are in the scene's own meters."""
    pixel_m = plan.resolution_m
    transform = Affine(pixel_m, 0, 0, 0, -pixel_m, plan.size_px * pixel_m)
    return rasterize(shapes, out_shape=2 * [plan.size_px], transform=transform).astype(bool)


def forest(plan):
    covers = plan.scenery.land.covers
    return within(plan, covers.geometry[covers.cover == COVERS.index("forest")].buffer(-10))


def test_near_infrared_is_bright_over_trees_and_dark_over_water(plan, colors):
    red, _, _, infrared = colors
    trees, water = forest(plan), within(plan, [plan.scenery.streets.river.buffer(-8)])
    roads = plan.scenery.streets.roads
    asphalt = within(plan, shapely.buffer(roads.geometry[roads.surface == "asphalt"], 1.5))
    assert min(trees.sum(), water.sum(), asphalt.sum()) > 500
    assert np.median((infrared / red)[trees]) > 1.6
    assert np.median((infrared / red)[water]) < 0.9
    assert np.median((infrared / red)[asphalt]) == pytest.approx(1, abs=0.1)


def test_eleven_bits_fill_their_range_and_no_more():
    image = make_scene(256, 1, bands="rgbn", bit_depth=11).image
    assert image.dtype == np.uint16
    assert np.percentile(image, 99.5) > 700 and image.max() <= 2047
    bright = paint_window(altered(plan_scene(256, 1, bit_depth=11), gray=5.0), 0, 0, 256, 256)
    assert bright.max() == 2047


def test_low_sun_and_aslant_a_part_is_painted_as_in_the_whole():
    sun = {"sun_altitude": np.radians(25), "turned": 0.5}
    plan = altered(plan_scene(320, 3, 0.25), sun, lean=np.array([0.5, 0.2]))
    whole = paint_window(plan, 0, 0, 320, 320)
    assert (paint_window(plan, 90, 60, 100, 120) == whole[:, 60:180, 90:190]).mean() > 0.9999


def test_the_resolution_changes_the_pixels_and_not_the_roads():
    fine, coarse = plan_scene(512, 2, 0.5), plan_scene(256, 2, 1.0)
    assert (fine.transform.a, coarse.transform.a) == (0.5, 1.0)
    assert fine.roads.equals(coarse.roads) and len(fine.roads)


INTERPRETATIONS = {
    "rgb": (ColorInterp.red, ColorInterp.green, ColorInterp.blue),
    "rgbn": (ColorInterp.red, ColorInterp.green, ColorInterp.blue, ColorInterp.undefined),
    "pan": (ColorInterp.gray,),
}


@pytest.mark.parametrize("bands", INTERPRETATIONS)
def test_the_file_says_what_its_bands_are(tmp_path, bands):
    paths = {"raster": str(tmp_path / "scene.tif"), "roads": str(tmp_path / "roads.gpkg")}
    job = MakeScene(**paths, size_px=160, seed=4, resolution_m=0.25, bands=bands, bit_depth="11")
    run(job, Reporter())
    with rasterio.open(job.raster) as dataset:
        assert dataset.colorinterp == INTERPRETATIONS[bands]
        assert dataset.descriptions[-1] == {"rgb": "blue", "rgbn": "near infrared", "pan": "panchromatic"}[bands]
        assert set(dataset.dtypes) == {"uint16"}
        assert (dataset.res, dataset.crs) == ((0.25, 0.25), SCENE_CRS)
        assert np.array_equal(dataset.read(), make_scene(160, 4, 0.25, bands=bands, bit_depth=11).image)
