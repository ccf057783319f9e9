from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import rasterio
import shapely
from rasterio.features import rasterize
from shapely.geometry import LineString, box

from training_core.errors import Cancelled, OutputError
from training_core.events import Reporter
from training_core.geodata.vectors import read_layer
from training_core.jobs import MakeScene
from training_core.pipelines.makescene import run
from training_core.scenes.biomes import BIOMES, HOUSE
from training_core.scenes.land import plan_land
from training_core.scenes.picture import hashed, smooth_noise
from training_core.scenes.scene import make_scene, plan_scene
from training_core.scenes.sketch import Bend
from training_core.scenes.streets import WIDTHS_M, plan_streets

SIZE_PX = 384


@pytest.fixture(scope="module")
def plan():
    return plan_scene(1024, 0, layout="mixed")


@pytest.fixture(scope="module")
def scene():
    return make_scene(SIZE_PX, 3, layout="mixed")


def burn(scene, geometries):
    shapes = [(shape, 1) for shape in geometries if not shape.is_empty]
    return rasterize(shapes, out_shape=scene.image.shape[1:], transform=scene.transform).astype(bool)


def test_a_scene_is_an_image_with_roads_within_it_in_utm(scene):
    assert scene.image.shape == (3, SIZE_PX, SIZE_PX)
    assert scene.image.dtype == np.uint8
    assert scene.image.std() > 15
    assert scene.roads.crs.to_epsg() == 32633
    assert {"road_class", "width_m", "bridge"} <= set(scene.roads.columns)
    assert set(scene.roads.road_class) <= set(WIDTHS_M)
    assert scene.roads.width_m.between(2, 27).all()
    assert scene.roads.bridge.dtype == bool
    west, north = scene.transform @ (0, 0)
    east, south = scene.transform @ (SIZE_PX, SIZE_PX)
    assert box(west, south, east, north).buffer(1e-6).covers(scene.roads.union_all())


def test_the_seed_alone_decides():
    first, again, other = make_scene(128, 5), make_scene(128, 5), make_scene(128, 6)
    assert np.array_equal(first.image, again.image)
    assert first.roads.equals(again.roads)
    assert not np.array_equal(first.image, other.image)


def test_roads_are_painted_where_the_truth_says():
    scene = make_scene(384, 1, 1.0, layout="mixed")
    roads = scene.roads[scene.roads.surface.isin(["asphalt", "concrete"])]
    inner = burn(scene, shapely.buffer(roads.geometry, roads.width_m / 2 - 1))
    reach = burn(scene, shapely.buffer(scene.roads.geometry, scene.roads.width_m / 2 + 12))
    near = reach & ~burn(scene, shapely.buffer(scene.roads.geometry, scene.roads.width_m / 2 + 4))
    image = scene.image.astype(float)
    saturation = image.max(axis=0) - image.min(axis=0)
    # Pavement is gray, what lies beside it mostly is not; a shift of the truth by a road's width mixes both.
    assert np.median(saturation[inner]) < 0.6 * np.median(saturation[near])
    shifted = np.roll(inner, 12, axis=(0, 1))
    assert np.median(saturation[inner]) < 0.8 * np.median(saturation[shifted])


def test_roads_cross_the_river_on_bridges_only(plan):
    streets = plan.scenery.streets
    wet = streets.roads[streets.roads.intersects(streets.river)]
    assert wet.bridge.all()
    assert set(wet.road_class) <= {"primary", "secondary"}


def test_buildings_stand_clear_of_roads_water_and_each_other(plan):
    streets, land = plan.scenery.streets, plan.scenery.land
    surfaces = shapely.union_all(shapely.buffer(streets.roads.geometry, streets.roads.width_m / 2))
    outlines = land.buildings.geometry
    assert len(outlines) > 100
    assert not outlines.intersects(surfaces).any()
    assert not outlines.intersects(streets.river).any()
    first, second = land.buildings.sindex.query(outlines, predicate="intersects")
    assert (first == second).all()


def test_a_bend_neither_tears_nor_folds():
    bend = Bend.random(np.random.default_rng(2), 1000)
    x, y = np.meshgrid(np.arange(-500, 501, 5.0), np.arange(-500, 501, 5.0))
    points = bend(np.column_stack([x.ravel(), y.ravel()])).reshape(*x.shape, 2)
    along, across = points[:-1, 1:] - points[:-1, :-1], points[1:, :-1] - points[:-1, :-1]
    assert (along[..., 0] * across[..., 1] - along[..., 1] * across[..., 0] > 0).all()


def test_the_job_offers_every_biome_and_each_has_colors_of_its_own():
    for biome in BIOMES:
        MakeScene(raster="scene.tif", roads="roads.gpkg", region=biome).validate()
    colors = [make_scene(128, 7, 1.0, layout="mixed", biome=biome).image.mean((1, 2)) for biome in BIOMES]
    assert all(abs(one - other).max() > 2 for one, other in combinations(colors, 2))


def test_hashed_numbers_are_uniform_and_noise_belongs_to_the_place():
    x, y = np.arange(0, 900, 0.5), np.arange(700, 0, -0.5)
    whole = smooth_noise(x, y, 7.0, 4)
    assert np.array_equal(smooth_noise(x[100:300], y[50:90], 7.0, 4), whole[50:90, 100:300])
    assert abs(whole.mean()) < 0.05
    assert whole.std() == pytest.approx(1, abs=0.05)
    assert not np.allclose(whole, smooth_noise(x, y, 7.0, 5))
    numbers = hashed(np.arange(-200, 200)[None, :], np.arange(-200, 200)[:, None], 9)
    share, _ = np.histogram(numbers, bins=10, range=(0, 1))
    assert np.allclose(share / numbers.size, 0.1, atol=0.005)
    for neighbor in (numbers[1:], numbers[:, 1:]):
        own = numbers[: neighbor.shape[0], : neighbor.shape[1]]
        assert abs(np.corrcoef(own.ravel(), neighbor.ravel())[0, 1]) < 0.02


def test_the_job_writes_image_and_roads_that_lie_on_each_other(tmp_path):
    job = MakeScene(raster=str(tmp_path / "scene.tif"), roads=str(tmp_path / "roads.gpkg"), size_px=520, seed=4)
    events = []
    result = run(job, Reporter(events.append))
    roads = read_layer(job.roads, "drawn roads")
    with rasterio.open(job.raster) as dataset:
        assert (dataset.count, dataset.shape, dataset.dtypes[0]) == (3, (520, 520), "uint8")
        assert dataset.profile["tiled"] and dataset.profile["compress"] == "deflate"
        assert dataset.crs == roads.crs
        assert dataset.res == (0.5, 0.5)
        assert box(*dataset.bounds).buffer(1e-6).covers(roads.union_all())
        assert np.array_equal(dataset.read(), make_scene(520, 4).image)
    assert result["count"] == len(roads)
    assert result["length_m"] == pytest.approx(roads.length.sum())
    assert (result["raster"], result["roads"]) == (job.raster, job.roads)
    fractions = [event.fraction for event in events if event.kind == "progress"]
    assert fractions == sorted(fractions) and fractions[-1] == 1
    assert isinstance(roads.geometry[0], LineString)


def test_the_job_stops_and_refuses_before_the_work_and_leaves_nothing(tmp_path):
    job = MakeScene(raster=str(tmp_path / "scene.tif"), roads=str(tmp_path / "roads.gpkg"), size_px=64)
    with pytest.raises(Cancelled):
        run(job, Reporter(is_cancelled=lambda: True))
    with pytest.raises(OutputError, match="format"):
        run(replace(job, roads=str(tmp_path / "roads.txt")), Reporter())
    assert not list(tmp_path.iterdir())


def test_a_scene_too_small_for_a_road_says_so(tmp_path):
    seed = next(seed for seed in range(100) if plan_scene(64, seed).roads.empty)
    job = MakeScene(raster=str(tmp_path / "scene.tif"), roads=str(tmp_path / "roads.gpkg"), size_px=64, seed=seed)
    events = []
    assert run(job, Reporter(events.append))["count"] == 0
    assert any(event.kind == "warning" for event in events)


def test_gardens_hold_their_houses_and_no_wall_or_hedge_stands_on_a_road():
    streets = plan_streets(300.0, "suburb", np.random.default_rng(3))
    land = plan_land(300.0, streets, replace(BIOMES["desert"], hedged=0.3), np.random.default_rng(0))
    houses, gardens = land.buildings[land.buildings.kind == HOUSE], shapely.union_all(land.gardens.geometry)
    assert len(houses) > 40 and len(land.drives) == len(houses)
    assert houses.centroid.intersects(gardens).all() and land.patches.centroid.intersects(gardens).all()
    surfaces = shapely.union_all(shapely.buffer(streets.roads.geometry.to_numpy(), streets.roads.width_m / 2))
    for bounds in (land.walls, land.hedges):
        assert len(bounds) and not bounds.intersects(surfaces).any()
