"""Prediction files: georeferenced, whole, numbered, and gone when nobody needs them."""

import numpy as np
import pytest
import rasterio
from rasterio.crs import CRS

from tests.core.support.rasters import NORTH_UP
from training_core.geodata.grid import Grid
from training_core.geodata.road_raster import band_raster
from training_core.live.session_files import PredictionFiles

GRID = Grid(CRS.from_epsg(32633), NORTH_UP, 300, 200)


def ramp():
    return np.broadcast_to(np.linspace(0, 254, 300).astype(np.uint8), (200, 300)).copy()


def test_a_raster_lies_where_its_ground_is_and_reads_as_a_probability(tmp_path):
    values = ramp()
    values[:10] = 255
    path = PredictionFiles(tmp_path).write(values, GRID, "probability")
    assert path.name == "prediction-000001.tif" and sorted(tmp_path.iterdir()) == [path]
    with rasterio.open(path) as dataset:
        assert (dataset.crs, dataset.transform, dataset.nodata) == (GRID.crs, GRID.transform, 255)
        assert dataset.scales[0] == pytest.approx(1 / 254)
        found, known = band_raster(dataset, 0.5).read(0, 200)
    assert not known[:10].any() and known[10:].all()
    np.testing.assert_allclose(found[10:], values[10:] / 254, atol=1e-6)


def test_uncertainty_is_highest_where_the_model_cannot_tell(tmp_path):
    path = PredictionFiles(tmp_path).write(ramp(), GRID, "uncertainty")
    with rasterio.open(path) as dataset:
        found = dataset.read(1)[0].astype(int)
    assert found[0] == found[-1] == 0 and found.max() == 254 and abs(int(found.argmax()) - 150) < 10


def test_superseded_files_go_once_three_newer_ones_are_there(tmp_path):
    files = PredictionFiles(tmp_path)
    for _ in range(7):
        files.write(ramp(), GRID, "probability")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"prediction-{number:06d}.tif" for number in (4, 5, 6, 7)
    ]


def test_numbers_go_on_after_those_of_an_earlier_session_whose_files_go(tmp_path):
    PredictionFiles(tmp_path).write(ramp(), GRID, "probability")
    (tmp_path / "prediction-of-mine.tif").write_text("not of the session")
    path = PredictionFiles(tmp_path).write(ramp(), GRID, "probability")
    assert path.name == "prediction-000002.tif"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["prediction-000002.tif", "prediction-of-mine.tif"]
