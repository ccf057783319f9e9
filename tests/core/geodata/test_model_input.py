"""Models that scale values by each image: of any range, and gray ones for red, green and blue."""

import dataclasses

import numpy as np
import pytest
import rasterio

from tests.core.support.rasters import write_raster
from tests.core.support.towns import RGB, image_of, true_roads
from training_core.errors import ImageryError
from training_core.events import Reporter, Warning
from training_core.geodata.rasters import (
    IMAGE,
    MODEL,
    Band,
    Image,
    ModelInput,
    choose_bands,
    find_bands,
    measure_scaling,
    open_for_model,
    open_raster,
)
from training_core.jobs import ExportModel, Segment
from training_core.models.loading import load_weights
from training_core.models.model_file import save_model
from training_core.pipelines import exportmodel, segment

COLORS = tuple(map(Band, RGB))
COMPUTE = {"engine": "native", "precision": "fp32", "threads": 1}


def scaled_by_the_image(path, source):
    """Write a model as one that scales by the image, with numbers of its own that are far off."""
    weights, card = load_weights(source)
    bands = tuple(Band(name, 1e6, 3.0) for name in card.band_names)
    save_model(path, weights, dataclasses.replace(card, bands=bands, scaling=IMAGE))
    return str(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory, learned):
    return scaled_by_the_image(tmp_path_factory.mktemp("scaled") / "model.safetensors", learned.model)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Return one image in three ranges of values, of which two are whole numbers of a step of the first."""
    folder = tmp_path_factory.mktemp("images")
    values = image_of(true_roads()).astype(float)
    ranges = {"uint8": (1, 0), "uint16": (250, 1000), "float32": (1 / 256, -3)}
    return {
        dtype: write_raster(folder / f"{dtype}.tif", (values * gain + offset).astype(dtype), photometric="rgb")
        for dtype, (gain, offset) in ranges.items()
    }


def probability(folder, raster, model, **options):
    path = folder / "probability.tif"
    segment.run(Segment(raster=raster, model=model, probability=str(path), **{**COMPUTE, **options}), Reporter())
    with rasterio.open(path) as dataset:
        return dataset.read(1).astype(int)


@pytest.fixture(scope="module")
def found(tmp_path_factory, images, model):
    """Return the probability of each image."""
    folder = tmp_path_factory.mktemp("found")
    return {dtype: probability(folder, raster, model) for dtype, raster in images.items()}


def test_images_of_any_range_of_values_are_segmented_alike(found, town):
    assert all(abs(values - found["uint8"]).max() <= 1 for values in found.values())
    roads = found["uint8"] > 127
    assert (roads & town.truth).sum() / (roads | town.truth).sum() > 0.7


def test_tiles_are_scaled_by_the_whole_image_and_models_of_their_own_scaling_are_not(
    images, model, found, tmp_path, learned
):
    in_tiles = probability(tmp_path, images["uint16"], model, tile_px=96, halo="exact")
    assert abs(found["uint16"] - in_tiles).max() <= 1
    one, other = (probability(tmp_path, images[dtype], learned.model) for dtype in ("uint8", "uint16"))
    assert abs(one - other).max() > 100


def test_an_exported_model_scales_by_the_image_in_roadseg_and_warns_of_other_programs(images, model, found, tmp_path):
    path, events = str(tmp_path / "model.onnx"), []
    exportmodel.run(ExportModel(model=model, onnx=path), Reporter(events.append))
    (warning,) = [event.message for event in events if isinstance(event, Warning)]
    assert "Other programs" in warning
    exported = probability(tmp_path, images["uint16"], path, engine="auto", precision="fp32")
    assert abs(exported - found["uint8"]).max() <= 2


def measured(path):
    with open_raster(str(path)) as dataset, Image(dataset, (1,)) as image:
        return measure_scaling(image, (Band("gray", 5.0, 7.0),))[0]


def test_a_sample_gives_mean_and_deviation_of_images_large_flat_and_with_little_data(tmp_path):
    rows, columns = np.mgrid[:1500, :2300]
    slope = 300 + 0.1 * columns + 50 * (rows > 900)
    values = (slope + np.random.default_rng(0).normal(0, 60, slope.shape)).astype(np.uint16)
    band = measured(write_raster(tmp_path / "image.tif", values[None]))
    assert band.mean == pytest.approx(values.mean(), rel=0.02)
    assert band.std == pytest.approx(values.std(), rel=0.03)
    values = np.zeros((1, 2100, 2100), np.uint8)
    values[0, 200:260, 200:260] = 40  # where the first and largest squares do not look
    values[0, 260:320, 200:260] = 60
    band = measured(write_raster(tmp_path / "image.tif", values, nodata=0))
    assert band == Band("gray", pytest.approx(50, abs=4), pytest.approx(10, abs=1))
    assert measured(write_raster(tmp_path / "none.tif", np.zeros((1, 64, 64), np.uint8), nodata=0)).std == 7.0
    assert measured(write_raster(tmp_path / "flat.tif", np.full((1, 64, 64), 9, np.uint8))) == Band("gray", 9.0, 1.0)


def indexes(path, scaling=IMAGE, bands=COLORS):
    with open_raster(str(path)) as dataset:
        return find_bands(dataset, ModelInput(bands, 1.0, scaling))


def named(path, *names):
    """Write an image of named bands."""
    write_raster(path, np.zeros((len(names), 8, 8), np.uint8), photometric="minisblack")
    with rasterio.open(path, "r+") as dataset:
        dataset.descriptions = names
    return path


def test_bands_are_found_by_name_and_where_there_are_none_by_order(tmp_path):
    assert indexes(named(tmp_path / "named.tif", "nir", "blue", "green", "red")) == (4, 3, 2)
    unnamed = write_raster(tmp_path / "unnamed.tif", np.zeros((5, 8, 8), np.uint16), photometric="minisblack")
    assert indexes(unnamed) == (1, 2, 3)
    with pytest.raises(ImageryError, match="5 image bands"):
        indexes(unnamed, scaling=MODEL)


@pytest.mark.parametrize("names", [("coastal", "blue", "green", "yellow"), ("red", "green")])
def test_other_bands_than_red_green_and_blue_are_refused(tmp_path, names):
    with pytest.raises(ImageryError, match=f"{len(names)} image bands"):
        indexes(named(tmp_path / "image.tif", *names))


def test_gray_stands_for_colors_alone_and_for_models_that_have_seen_it_and_alpha_is_no_band(tmp_path):
    pan = write_raster(tmp_path / "pan.tif", np.zeros((1, 8, 8), np.uint8))
    assert indexes(pan) == (1, 1, 1)
    for scaling, bands in ((MODEL, COLORS), (IMAGE, (Band("red"), Band("nir")))):
        with pytest.raises(ImageryError, match="1 image bands"):
            indexes(pan, scaling, bands)
    path = write_raster(tmp_path / "pan.tif", np.full((2, 8, 8), 255, np.uint8), alpha="YES")
    assert indexes(path) == (1, 1, 1)
    with open_for_model(str(path), ModelInput(COLORS, 1.0, IMAGE)) as (image, bands):
        assert image.read(0, 0, 4, 4)[0].shape == (3, 4, 4) and [band.name for band in bands] == list(RGB)


def test_results_of_roadseg_are_no_gray_images_but_what_is_like_them_is(tmp_path, images, model):
    mask, path = str(tmp_path / "mask.tif"), str(tmp_path / "probability.tif")
    segment.run(Segment(raster=images["uint8"], model=model, mask=mask, probability=path, **COMPUTE), Reporter())
    for result, word in ((mask, "a road mask"), (path, "a road probability")):
        with pytest.raises(ImageryError, match=f"{word} that RoadSeg wrote"):
            indexes(result)
        with open_raster(result) as dataset, pytest.raises(ImageryError, match="Choose the image"):
            choose_bands(dataset, ())
    assert indexes(named(tmp_path / "image.tif", "road")) == (1, 1, 1)
