"""Ground cover of painted images: water, clouds and trees where they were painted, whatever the camera."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from tests.core.support.rasters import write_raster
from training_core.errors import ImageryError
from training_core.geodata.rasters import open_image
from training_core.segmentation import ground_cover
from training_core.segmentation.ground_cover import (
    CLOUD,
    OTHER,
    WATER,
    cover_at,
    features_of,
    otsu_threshold,
    water_index,
)

SIDE_PX = 240
# Columns and rows of a lake, a cloud, and of streets and fields.
PLACES = {WATER: (60, 60), CLOUD: (180, 60), OTHER: (120, 180)}


@pytest.fixture
def values():
    """Rough ground of fields and streets with a smooth lake and a bright soft cloud on it; 8 bits."""
    random = np.random.default_rng(3)
    ground = 95 + 14 * gaussian_filter(random.normal(size=(SIDE_PX, SIDE_PX)), 1) * 3
    ground += 12 * (np.arange(SIDE_PX) // 30 % 2)
    image = ground * np.array([1.0, 0.98, 0.84])[:, None, None]
    image[:, 170:184] = 105 + random.normal(size=(14, SIDE_PX)) * 3
    row, column = np.mgrid[:SIDE_PX, :SIDE_PX]
    lake = np.hypot(column - 60, row - 60) < 45
    image[:, lake] = np.array([44, 58, 52])[:, None] + random.normal(size=lake.sum())
    cloud = np.clip(1.6 - np.hypot(column - 180, row - 60) / 32, 0, 0.97)
    image += cloud * (238 - image)
    return np.clip(np.rint(image), 1, 254).astype(np.uint8)


def found(tmp_path, values, near_infrared=0, places=None):
    path = write_raster(tmp_path / "image.tif", values, photometric="MINISBLACK")  # a fourth band is no alpha
    with open_image(path) as dataset:
        return cover_at(dataset, near_infrared, lambda image: np.array(places or [*PLACES.values()], dtype=float), bool)


@pytest.mark.parametrize(
    "camera",
    [
        lambda image: image,
        lambda image: (image * 0.5).astype(np.uint8),
        lambda image: image.astype(np.uint16) * 40,
        lambda image: np.rint(image.mean(axis=0, keepdims=True)).astype(np.uint8),
    ],
    ids=["as it is", "dark", "16 bit", "panchromatic"],
)
def test_a_lake_and_a_cloud_are_told_from_fields_and_streets(tmp_path, values, camera):
    probability = found(tmp_path, camera(values))
    assert probability.argmax(axis=1).tolist() == list(PLACES)
    assert probability.sum(axis=1) == pytest.approx(1)


def test_tiles_leave_no_seams(tmp_path, values, monkeypatch):
    places = np.random.default_rng(0).integers(0, SIDE_PX, (300, 2)).tolist()
    whole = found(tmp_path, values, places=places)
    monkeypatch.setattr(ground_cover, "_CORE_PX", 64)
    assert found(tmp_path, values, places=places) == pytest.approx(whole, abs=1e-3)


def test_places_beside_the_image_have_no_cover(tmp_path, values):
    assert np.isnan(found(tmp_path, values, places=[(-5, 10), (10, SIDE_PX + 3)])).all()


def test_a_near_infrared_band_decides_on_water(tmp_path, values):
    infrared = np.clip(1.2 * values[1:2], 0, 255).astype(np.uint8)
    infrared[:, 165:200, 100:160] = 20  # where neither color nor texture says so
    probability = found(tmp_path, np.concatenate([values, infrared]), near_infrared=4)
    assert probability[:, WATER].tolist() == [0, 0, 1]


def test_the_index_of_water_is_that_of_mcfeeters_and_its_threshold_parts_two_groups():
    index = water_index(np.full((9, 9), 60, np.float32), np.full((9, 9), 20, np.float32))
    assert index == pytest.approx(0.5)
    random = np.random.default_rng(1)
    groups = np.concatenate([random.normal(-0.3, 0.05, 900), random.normal(0.4, 0.05, 100)])
    assert 0 <= otsu_threshold(groups) < 0.3
    assert otsu_threshold(random.normal(-0.3, 0.1, 900)) == 0  # no water


@pytest.mark.parametrize(
    ("bands", "near_infrared", "words"), [(3, 5, "no image band 5. It has 1, 2, 3"), (2, 2, "no green one")]
)
def test_a_band_that_is_not_there_is_named(tmp_path, values, bands, near_infrared, words):
    with pytest.raises(ImageryError) as caught:
        found(tmp_path, values[:bands], near_infrared)
    assert words in f"{caught.value}"


def test_features_do_not_depend_on_the_unit_of_values(values):
    image = values.astype(np.float32)
    one, other = (features_of(image * unit, float(image.mean()) * unit, float(image.std()) * unit) for unit in (1, 256))
    assert other == pytest.approx(one, abs=2e-2)
