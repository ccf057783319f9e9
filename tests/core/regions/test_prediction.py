import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
import torch
from affine import Affine
from shapely.geometry import box

from tests.core.support.rasters import NORTH_UP, layer
from tests.core.support.scenes import cut
from tests.core.support.towns import RGB, plant_model
from training_core.errors import ImageryError, ModelFileError
from training_core.events import Reporter
from training_core.geodata.pixel_codes import NO_DATA
from training_core.geodata.rasters import IMAGE, MODEL, Band
from training_core.geodata.road_classes import CLASSES_TAG, RoadClass
from training_core.jobs import MapRegion, Segment
from training_core.models.architectures import Architecture, build_network
from training_core.models.loading import load_model, load_network
from training_core.models.model_card import ModelCard
from training_core.models.model_file import save_model
from training_core.pipelines import segment
from training_core.regions import prediction
from training_core.regions.catalog import read_catalog
from training_core.regions.mosaic import find_mosaics, normalized_bands
from training_core.regions.prediction import choose_settings, content_of, predict_block, prepared
from training_core.regions.region_plan import Planner, assemble_scene, map_scene
from training_core.segmentation.work_plan import Results


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Models that normalize by their own statistics, and by those of the image."""
    folder = tmp_path_factory.mktemp("models")
    paths = {MODEL: plant_model(folder / "model.safetensors")}
    model, card = load_network(paths[MODEL])
    paths[IMAGE] = str(folder / "image.safetensors")
    save_model(folder / "image.safetensors", model.state_dict(), dataclasses.replace(card, scaling=IMAGE))
    return paths


@pytest.fixture(autouse=True)
def known_throughput(monkeypatch):
    """Choose blocks without timing the model."""
    monkeypatch.setattr(prediction, "seconds_per_px", lambda _: 1e-6)


def ground(height, width, seed=1):
    """Return an image that varies over the pixels and over the ground, 1 to 254."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:height, :width]
    waves = 60 * np.sin(columns / 23) + 50 * np.cos(rows / 31 + columns / 90)
    return (120 + waves + random.normal(0, 12, (3, height, width))).clip(1, 254).astype(np.uint8)


OPTIONS = {"engine": "native", "precision": "fp32", "threads": 1, "halo": "exact", "tile_px": 128}


def undivided(path, model, folder, **others):
    """Return the probability bytes of an image as the job segment makes them."""
    rasters = {"mask": str(folder / "m.tif"), "probability": str(folder / "p.tif")}
    segment.run(Segment(raster=path, model=model, grid="model", **rasters, **{**OPTIONS, **others}), Reporter())
    with rasterio.open(folder / "p.tif") as dataset:
        return dataset.read(1)


def planned(paths, model, folder, block_px=96, aoi=None, **others):
    """Return the planner of some images, and the plans of each of their mosaics."""
    network, card = load_model(model)
    job = MapRegion(rasters=tuple(paths), folder=str(folder), model=model, roads="roads.gpkg", **{**OPTIONS, **others})
    catalog = read_catalog(paths, card.input, None, Reporter())
    assert not catalog.problems
    predicting = choose_settings(job, network, card, catalog.scenes, None, Reporter())
    predicting = dataclasses.replace(predicting, block_px=block_px)
    planner = Planner(str(folder), predicting, card, aoi)
    mosaics = find_mosaics(catalog.scenes, predicting.halo_px, card.resolution_m)
    return planner, [planner.plan(mosaic, normalized_bands(mosaic, card.input)[0]) for mosaic in mosaics]


def sent(document):
    """Return a document as it arrives at a worker."""
    return json.loads(json.dumps(document, allow_nan=False))


def by_scenes(paths, model, folder, **others):
    """Return the mosaic of some images and, by scene, its window there, its probability bytes and its outcome."""
    planner, (plans,) = planned(paths, model, folder, **others)
    found = {}
    for plan in plans:
        done = [(task.function, task.function(sent(task.document))) for task in planner.missing(plan)]
        is_one_block = done[0][0] is map_scene
        outcome = done[0][1] if is_one_block else assemble_scene(sent(planner.assembly(plan).document))
        with rasterio.open(plan.results.paths.probability) as dataset:
            window = plan.mosaic.window_at(plan.scene, planner.card.resolution_m)
            found[plan.scene.name] = (window, dataset.read(1), outcome)
    return plans[0].mosaic, found


def compare(found, expected):
    for name, (window, probability, _) in found.items():
        column, row, width, height = window
        part = expected[row : row + height, column : column + width].astype(int)
        difference = np.abs(part - probability)
        assert difference.max() <= 1, f"{name} differs by {difference.max()} at {np.argwhere(difference > 1)[:3]}"
        assert (difference > 0).mean() < 1e-3


def strip(folder, name, image, column, width, **profile):
    return cut(folder / name, image, (column, 0, width, image.shape[1]), **profile)


@pytest.mark.parametrize("scaling", [MODEL, IMAGE])
def test_scenes_have_the_bytes_of_the_undivided_image(tmp_path, models, scaling):
    """The image is much longer than the model looks, so that each scene sees only its neighbors."""
    image = ground(32, 900)
    expected = undivided(cut(tmp_path / "whole.tif", image, (0, 0, 900, 32)), models[scaling], tmp_path)
    starts = {"a": (0, 233), "b": (200, 270), "c": (470, 111), "d": (581, 319)}
    paths = [strip(tmp_path, f"{name}.tif", image, *span) for name, span in starts.items()]
    mosaic, found = by_scenes(paths, models[scaling], tmp_path, block_px=256)
    assert [source.name for source in mosaic.scene_on_top(mosaic.scenes[0]).sources] == ["c", "b", "a"]
    assert np.ptp(expected) > 20  # it varies, or else anything would equal it
    compare(found, expected)


@pytest.mark.parametrize(
    "profile", [pytest.param({}, id="full", marks=pytest.mark.slow), pytest.param({"nodata": 0}, id="nodata")]
)
def test_finer_scenes_have_the_bytes_of_the_undivided_image_at_the_models_resolution(tmp_path, models, profile):
    image = ground(64, 500)
    if profile:
        image[:, 20:40, 150:300], image[0, 50, 200] = 0, 0
    half = NORTH_UP @ Affine.scale(0.5)
    whole = cut(tmp_path / "whole.tif", image, (0, 0, 500, 64), half, **profile)
    expected = undivided(whole, models[MODEL], tmp_path)
    assert expected.shape == (32, 250) and (expected == NO_DATA).any() == bool(profile)
    starts = {"a": (0, 233), "b": (199, 301)}
    paths = [
        cut(tmp_path / f"{name}.tif", image, (column, 0, width, 64), half, **profile)
        for name, (column, width) in starts.items()
    ]
    _, found = by_scenes(paths, models[MODEL], tmp_path)
    compare(found, expected)


def test_outside_the_area_of_interest_there_are_no_data(tmp_path, models):
    image = ground(64, 200)
    paths = [strip(tmp_path, "a.tif", image, 0, 120), strip(tmp_path, "b.tif", image, 90, 110)]
    polygon = box(390000 + 30.4, 5820000 - 50.2, 390000 + 150.1, 5820000 - 10.7)
    _, found = by_scenes(paths, models[MODEL], tmp_path, block_px=64, aoi=layer(polygon))
    _, everywhere = by_scenes(paths, models[MODEL], tmp_path, block_px=64)
    inside = np.zeros((64, 200), bool)
    inside[11:50, 30:150] = True  # pixels whose centers lie in it, counted by hand
    for name, ((column, row, width, height), probability, outcome) in found.items():
        within = inside[row : row + height, column : column + width]
        np.testing.assert_array_equal(probability != NO_DATA, within)
        assert outcome["known_px"] == within.sum() and outcome["px"] == width * height
        assert np.abs(everywhere[name][1].astype(int) - probability)[within].max() <= 1


@pytest.mark.slow
def test_classes_are_those_of_the_undivided_image(tmp_path):
    torch.manual_seed(0)
    architecture = Architecture(encoder="resnet18", in_channels=3, classes=3)
    network = build_network(architecture)
    with torch.no_grad():
        network.segmentation_head[0].weight.mul_(5)
    classes = (RoadClass("primary", 80.0), RoadClass("residential", 30.0))
    bands = tuple(Band(name, 80.0, 40.0) for name in RGB)
    model = tmp_path / "model.safetensors"
    save_model(model, network.state_dict(), ModelCard(architecture, bands, 1.0, 0.1, classes=classes))
    image = ground(64, 160)
    whole = strip(tmp_path, "whole.tif", image, 0, 160)
    expected = tmp_path / "classes.tif"
    undivided(whole, str(model), tmp_path, classes=str(expected))
    paths = [strip(tmp_path, "a.tif", image, 0, 90), strip(tmp_path, "b.tif", image, 80, 80)]
    by_scenes(paths, str(model), tmp_path, block_px=64)
    with rasterio.open(expected) as dataset:
        values, tags = dataset.read(1), dataset.tags()
    assert set(np.unique(values)) == {0, 1, 2}
    for name, columns in (("a", slice(0, 90)), ("b", slice(80, 160))):
        with rasterio.open(tmp_path / "masks" / f"{name}_classes.tif") as dataset:
            assert (dataset.read(1) != values[:, columns]).mean() < 1e-3
            assert dataset.tags()[CLASSES_TAG] == tags[CLASSES_TAG]


def test_results_lie_on_their_scene_and_say_from_which_content_they_were_made(tmp_path, models):
    image = ground(64, 130)
    paths = [strip(tmp_path, "a.tif", image, 0, 70), strip(tmp_path, "b.tif", image, 60, 70)]
    planner, (plans,) = planned(paths, models[MODEL], tmp_path, 512, halo="32", threshold=0.3)
    for plan in plans:
        (task,) = planner.missing(plan)
        outcome = task.function(sent(task.document))
        with rasterio.open(plan.scene.path) as scene, rasterio.open(plan.results.paths.mask) as mask:
            assert mask.bounds == scene.bounds and mask.crs == scene.crs and mask.shape == scene.shape
            with rasterio.open(plan.results.paths.probability) as probability:
                assert probability.bounds == scene.bounds
                expected = probability.read(1) / 254 >= 0.3 - 1e-9
                np.testing.assert_array_equal(mask.read(1), expected)
        assert outcome["road_px"] == expected.sum() and outcome["mask"] == plan.results.paths.mask
        assert plan.is_done
        assert plan.results.exist and not dataclasses.replace(plan.results, key="key 2").exist
    damaged = Path(plan.results.paths.mask)
    damaged.write_bytes(damaged.read_bytes()[:100])
    for path in (plan.results.paths.mask, str(tmp_path / "none.tif"), paths[0]):
        assert not dataclasses.replace(plan.results, paths=Results(mask=path)).exist


def documents(folder, model, image, spans):
    """Return the document of the first block of each of some scenes."""
    paths = [strip(folder, f"{name}.tif", image, *span) for name, span in spans.items()]
    planner, mosaics = planned(paths, model, folder, 512, halo="32")
    return {
        plan.scene.name: next(planner.missing(plan)).document["predict"]["block"] for plans in mosaics for plan in plans
    }


def test_a_damaged_neighbor_is_left_out_and_named(tmp_path, models):
    image = ground(64, 200)
    of = documents(tmp_path, models[MODEL], image, {"a": (0, 120), "b": (100, 100)})
    whole, left_out = predict_block(of["a"])
    assert left_out == []
    damaged = (tmp_path / "b.tif").read_bytes()
    (tmp_path / "b.tif").write_bytes(damaged[: len(damaged) // 2])
    alone, left_out = predict_block(of["a"])
    assert left_out == ["b"]
    assert (alone.probability != NO_DATA).all() and (alone.probability != whole.probability).any()
    with pytest.raises(ImageryError, match=r"b\.tif cannot be read"):
        predict_block(of["b"])


def test_content_changes_with_what_decides_on_the_bytes_and_with_nothing_else(tmp_path, models):
    of_scenes = documents(tmp_path, models[MODEL], ground(64, 200), {"a": (0, 120), "b": (100, 100)})
    document = of_scenes["a"]
    first, how = content_of(document), document["predicting"]
    for same in ({"model": "elsewhere.safetensors"}, {"threads": 7}, {"threshold": 0.9}):
        assert content_of({**document, "predicting": {**how, **same}}) == first
    for other in ({"sha256": "0"}, {"halo_px": 64}, {"precision": "bf16"}, {"test_time_augmentation": True}):
        assert content_of({**document, "predicting": {**how, **other}}) != first
    again = documents(tmp_path, models[MODEL], ground(64, 200, seed=2), {"b": (100, 100)})  # a neighbor has changed
    assert again["b"]["raster"]["sources"][-1]["version"] != of_scenes["b"]["raster"]["sources"][-1]["version"]
    assert of_scenes["b"]["raster"]["sources"][-1] in document["raster"]["sources"]


def test_another_model_of_that_name_is_refused(tmp_path, models):
    path = tmp_path / "model.safetensors"
    path.write_bytes(Path(models[MODEL]).read_bytes())
    document = documents(tmp_path, str(path), ground(64, 70), {"a": (0, 70)})["a"]
    plant_model(path, threshold=0.5)
    model, card = load_network(str(path))
    with_other = {
        name: weights + 0.01 if weights.is_floating_point() else weights for name, weights in model.state_dict().items()
    }
    save_model(path, with_other, card)
    with pytest.raises(ModelFileError, match="not the model that the job began with"):
        predict_block({**document, "predicting": {**document["predicting"], "threads": 2}})


def test_a_model_is_loaded_once_a_process(tmp_path, models):
    document = documents(tmp_path, models[MODEL], ground(64, 70), {"a": (0, 70)})["a"]
    first = prepared(document["predicting"])
    assert prepared(sent(document["predicting"])) is first
    assert prepared({**document["predicting"], "core_px": 64}) is not first
