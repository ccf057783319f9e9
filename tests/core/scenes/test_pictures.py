"""How scenes are lit, seen and taken: seasons, buildings from aslant, bands, depths and compression."""

from dataclasses import replace

import numpy as np
import pytest
import rasterio
import shapely
from affine import Affine
from rasterio.enums import ColorInterp
from rasterio.features import rasterize
from scipy.ndimage import binary_dilation

from training_core.events import Reporter
from training_core.jobs import MakeScene
from training_core.pipelines.makescene import run
from training_core.scenes.plan.biomes import COVERS, HALL
from training_core.scenes.scene import SCENE_CRS, make_scene, paint_scene, paint_window, plan_scene

SIZE_PX, PIXEL_M = 384, 1.0
SEED = 12  # has a river, a forest and halls


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


def greenness(image):
    return image[1] - (image[0] + image[2]) / 2


def test_near_infrared_is_bright_over_trees_and_dark_over_water(plan, colors):
    red, _, _, infrared = colors
    trees, water = forest(plan), within(plan, [plan.scenery.streets.river.buffer(-8)])
    roads = plan.scenery.streets.roads
    asphalt = within(plan, shapely.buffer(roads.geometry[roads.surface == "asphalt"], 1.5))
    assert min(trees.sum(), water.sum(), asphalt.sum()) > 500
    assert np.median((infrared / red)[trees]) > 1.6
    assert np.median((infrared / red)[water]) < 0.9
    assert np.median((infrared / red)[asphalt]) == pytest.approx(1, abs=0.1)


def test_a_panchromatic_picture_shows_leaves_brighter_than_their_red(plan, colors):
    image = make_scene(SIZE_PX, SEED, PIXEL_M, layout="mixed", bands="pan").image
    assert image.shape == (1, SIZE_PX, SIZE_PX)
    trees = forest(plan)
    assert np.median(colors[0][trees]) < np.median(image[0][trees]) < np.median(colors[3][trees])


@pytest.mark.slow
def test_some_rivers_are_dry_in_the_desert_and_none_in_the_temperate_country():
    dry = {}
    for biome in ("temperate", "desert"):
        sceneries = [plan_scene(64, seed, layout="mixed", biome=biome).scenery for seed in range(12)]
        dry[biome] = [np.array_equal(scenery.river_color, scenery.palette.soil[0]) for scenery in sceneries]
    assert not any(dry["temperate"]) and 4 < sum(dry["desert"]) < 12


def test_eleven_bits_fill_their_range_and_no_more():
    image = make_scene(256, 1, bands="rgbn", bit_depth=11).image
    assert image.dtype == np.uint16
    assert np.percentile(image, 99.5) > 700 and image.max() <= 2047
    bright = paint_window(altered(plan_scene(256, 1, bit_depth=11), gray=5.0), 0, 0, 256, 256)
    assert bright.max() == 2047


@pytest.mark.slow
def test_roofs_lean_away_by_their_height_and_roads_stay():
    angle, azimuth = np.radians(30), np.radians(60)
    lean = np.tan(angle) * np.array([np.sin(azimuth), np.cos(azimuth)])
    plan = plan_scene(768, SEED, layout="mixed", biome="himalayan")  # with many halls, most of colors of their own
    leaning = altered(plan, lean=lean)
    buildings = plan.scenery.land.buildings
    halls = buildings[(buildings.kind == HALL) & buildings.within(shapely.box(30, 30, 350, 350))][:7]
    assert len(halls) == 7
    expected = halls.height_m.to_numpy()[:, None] * lean / 0.5
    for picture, shift in ((plan, 0 * expected), (leaning, expected)):
        found = np.array([roof_shift(plan, picture, outline) for outline in halls.geometry])
        # A wall or a yard of the roof's own color hides the edge of one or the other.
        assert np.median(np.hypot(*(found - shift).T)) < 1.5
    assert leaning.roads.equals(plan.roads)


def roof_shift(straight, leaning, outline, reach=12):
    """Return by how many pixels, east and north, a roof of one color lies away from its outline."""
    west, _, _, north = np.array(outline.bounds) / 0.5
    window = int(west) - 30, int(768 - north) - 30, *2 * [int(2 * outline.length / 2) + 60]
    cut = np.s_[window[1] : window[1] + window[3], window[0] : window[0] + window[2]]
    roof = within(straight, [outline.buffer(-1)])[cut]
    size = roof.shape[::-1]
    before, after = (paint_window(p, *window[:2], *size).astype(float) for p in (straight, leaning))
    unlike = np.abs(after - np.median(before[:, roof], axis=1)[:, None, None]).mean(axis=0)
    around = binary_dilation(roof, iterations=6) & ~binary_dilation(roof, iterations=3)
    scores = {}
    for east in range(-reach, reach + 1):
        for up in range(-reach, reach + 1):
            moved = np.roll(unlike, (up, -east), axis=(0, 1))
            scores[east, up] = moved[around].mean() - moved[roof].mean()
    return max(scores, key=scores.get)


def test_walls_are_seen_on_the_side_of_the_camera(plan):
    lean = np.tan(np.radians(30)) * np.array([0.0, 1.0])  # the camera is in the south
    before, after = (paint_scene(altered(plan, lean=vector)).image.astype(float) for vector in (np.zeros(2), lean))
    buildings = plan.scenery.land.buildings
    tall = buildings[(buildings.height_m > 6) & buildings.within(shapely.box(20, 20, 364, 364))]
    foot = within(plan, tall.geometry)
    beyond = within(plan, tall.translate(0, 4)) & ~within(plan, buildings.geometry.buffer(1))
    ahead = within(plan, tall.translate(0, -3)) & ~within(plan, buildings.geometry.buffer(1))
    change = np.abs(after - before).mean(axis=0)
    assert change[foot].mean() > 2 * change[ahead].mean()
    assert change[beyond].mean() > 2 * change[ahead].mean()


def test_the_seasons_show_on_trees_and_the_climate_on_the_ground(plan, colors):
    trees = forest(plan)
    winter = paint_scene(altered(plan, {"bare": 0.9})).image.astype(float)
    autumn = paint_scene(altered(plan, {"turned": 0.8})).image.astype(float)
    desert = paint_scene(altered(plan, {"aridity": 1.0})).image.astype(float)
    assert greenness(winter)[trees].mean() < 0.8 * greenness(colors)[trees].mean()
    assert winter[3][trees].mean() < colors[3][trees].mean()
    assert autumn[0][trees].mean() > 1.15 * colors[0][trees].mean()
    assert greenness(desert).mean() < 0.5 * greenness(colors).mean()


def test_the_exposure_says_how_bright_a_picture_is(plan):
    dark, bright = (paint_window(altered(plan, gray=gray), 0, 0, 128, 128).mean() for gray in (0.1, 0.4))
    assert 4 * dark == pytest.approx(bright, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("bands", ["pan", "rgbn"])
def test_a_compressed_picture_from_aslant_has_no_seams(bands):
    lean = np.array([-0.4, 0.3])
    plan = altered(plan_scene(576, 3, bands=bands), lean=lean, jpeg_quality=40, blur_px=1.6)
    whole = paint_scene(plan).image
    part = paint_window(plan, 470, 101, 90, 123)  # over the border of two tiles and off the blocks
    assert (part == whole[:, 101:224, 470:560]).mean() > 0.999
    uncompressed = paint_window(altered(plan, jpeg_quality=None), 470, 101, 90, 123)
    off = np.abs(part.astype(float) - uncompressed)
    assert 0.5 < off.mean() < 12


def test_low_sun_and_aslant_a_part_is_painted_as_in_the_whole():
    sun = {"sun_altitude": np.radians(25), "bare": 0.5, "aridity": 0.3}
    plan = altered(plan_scene(320, 3, 0.25), sun, lean=np.array([0.5, 0.2]))
    whole = paint_window(plan, 0, 0, 320, 320)
    assert (paint_window(plan, 90, 60, 100, 120) == whole[:, 60:180, 90:190]).mean() > 0.9999


@pytest.mark.slow
def test_varied_scenes_are_of_all_kinds():
    plans = [plan_scene(64, seed, conditions="varied") for seed in range(60)]
    looks, cameras = [p.scenery.look for p in plans], [p.scenery.camera for p in plans]
    assert 15 <= sum(look.sun[1] < 0 for look in looks) <= 45
    assert 5 <= sum(look.aridity > 0 for look in looks) <= 28
    assert all(np.radians(25) <= look.sun_altitude <= np.radians(70) for look in looks)
    assert all(np.hypot(*camera.lean) <= np.tan(np.radians(30)) for camera in cameras)
    assert min(camera.gray for camera in cameras) < 0.15 and max(camera.gray for camera in cameras) > 0.5
    assert 20 <= sum(camera.jpeg_quality is not None for camera in cameras) <= 50
    fair = plan_scene(64, 0).scenery.camera
    assert not fair.lean.any() and fair.jpeg_quality is None


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
