"""An index of water: a lake in images with a near-infrared band, whatever its values, size and order of bands."""

import numpy as np
import pytest

from tests.core.support.rasters import write_raster
from training_core.errors import ImageryError
from training_core.geodata import road_raster
from training_core.geodata.rasters import open_image
from training_core.geodata.water_index import otsu_threshold, water_at, water_index

SIDE_PX = 240
# Pixels of the lake, of land, of ground without data, and beside the image.
PLACES = ((60, 60), (120, 180), (5, 235), (-5, 10), (10, SIDE_PX + 3))


@pytest.fixture
def values():
    """Red, green, blue and near infrared of rough land with a lake; 0 has no data."""
    land = np.random.default_rng(3).normal((90, 95, 80, 120), 8, (SIDE_PX, SIDE_PX, 4)).transpose(2, 0, 1)
    row, column = np.mgrid[:SIDE_PX, :SIDE_PX]
    land[:, np.hypot(column - 60, row - 60) < 45] = np.array([44, 58, 52, 20])[:, None]
    land[:, 230:, :10] = 0
    return land.round().astype(np.uint8)


def found(tmp_path, values, near_infrared=4, places=PLACES):
    # A fourth band is no alpha.
    path = write_raster(tmp_path / "image.tif", values, nodata=0, photometric="MINISBLACK")
    with open_image(path) as dataset:
        return water_at(dataset, near_infrared, lambda image: np.array(places) + 0.5, lambda: None).tolist()


@pytest.mark.parametrize(
    ("camera", "near_infrared"),
    [(lambda image: image, 4), (lambda image: image.astype(np.uint16) * 40, 4), (lambda image: image[[3, 2, 1, 0]], 1)],
    ids=["as it is", "16 bit", "near infrared first"],
)
def test_a_lake_is_water_and_land_and_places_without_data_are_not(tmp_path, values, camera, near_infrared):
    assert found(tmp_path, camera(values), near_infrared) == [True, False, False, False, False]


def test_strips_leave_no_seams(tmp_path, values, monkeypatch):
    places = np.random.default_rng(0).integers(0, SIDE_PX, (2000, 2))
    whole = found(tmp_path, values, places=places)
    monkeypatch.setattr(road_raster, "_STRIP_PX", 8 * SIDE_PX)
    assert found(tmp_path, values, places=places) == whole and 0.05 < np.mean(whole) < 0.2


def test_the_index_is_that_of_mcfeeters_and_its_threshold_parts_two_groups():
    assert water_index(np.full((9, 9), 60, np.float32), np.full((9, 9), 20, np.float32)) == pytest.approx(0.5)
    assert not water_index(*np.zeros((2, 9, 9), np.float32)).any()
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
