"""Meshes as pictures: painted as they are styled, whole, at their place."""

import numpy as np
import pytest
from osgeo import gdal
from qgis.core import QgsCoordinateTransformContext, QgsRasterBlockFeedback, QgsRasterLayer
from roadseg.qgis_roadseg.rendering import mesh_painting, rendering
from roadseg.training_core.errors import Cancelled

from ..support.acting import Ear
from ..support.meshes import SQUARE, mesh_layer, show_gray

pytestmark = pytest.mark.usefixtures("qgis_app")


@pytest.fixture
def mesh(tmp_path):
    return mesh_layer(tmp_path / "Gelände.2dm")


def render(layer, path, ear=None, extent=SQUARE, resolution_m=0.5):
    frame = rendering.make_frame(layer.name(), layer.crs(), extent, resolution_m, QgsCoordinateTransformContext())
    rendering.render(mesh_painting.provider_of(layer), frame, path, ear or Ear())
    return gdal.Open(str(path))


def test_a_mesh_looks_as_it_is_styled(mesh, tmp_path):
    """Its gray is its height, which is a plane: the distances from the left and from below."""
    dataset = render(mesh, tmp_path / "image.tif")
    values = dataset.ReadAsArray()
    west, x, _, north, _, y = dataset.GetGeoTransform()
    columns = west + (np.arange(dataset.RasterXSize) + 0.5) * x - SQUARE.xMinimum()
    rows = north + (np.arange(dataset.RasterYSize) + 0.5) * y - SQUARE.yMinimum()
    height = columns[None, :] + rows[:, None]
    assert dataset.GetSpatialRef().GetAuthorityCode(None) == "25833"
    assert np.abs(values[:3] - height).max() < 2  # a pixel, and rounding
    assert (values[3] == 255).all()


def test_data_that_were_added_to_the_mesh_are_painted_too(mesh, tmp_path):
    depths = tmp_path / "depths.dat"
    depths.write_text(
        'DATASET\nOBJTYPE "mesh2d"\nBEGSCL\nND 4\nNC 1\nNAME "depth"\nTS 0 0\n70\n70\n70\n70\nENDDS\n', encoding="ascii"
    )
    assert mesh.addDatasets(str(depths))
    show_gray(mesh, group=1)
    assert (render(mesh, tmp_path / "image.tif").ReadAsArray()[:3] == 70).all()


def test_where_the_mesh_is_not_there_are_no_data(mesh, tmp_path):
    values = render(mesh, tmp_path / "image.tif", extent=SQUARE.buffered(10)).ReadAsArray()
    side = values.shape[1] / 120
    inside = slice(round(10 * side), round(110 * side))
    expected = np.zeros(values.shape[1:], bool)
    expected[inside, inside] = True
    assert ((values[3] == 255) != expected).mean() < 0.02  # at its border alone
    assert set(np.unique(values[3])) == {0, 255}


def test_many_blocks_make_one_picture(mesh, tmp_path, monkeypatch):
    whole = render(mesh, tmp_path / "whole.tif").ReadAsArray()
    monkeypatch.setattr(rendering, "BLOCK_PX", 64)
    parts = render(mesh, tmp_path / "parts.tif").ReadAsArray()
    assert np.abs(whole.astype(int) - parts).max() <= 1


def test_a_mesh_that_the_map_hides_at_this_scale_is_painted_all_the_same(mesh, tmp_path):
    expected = render(mesh, tmp_path / "shown.tif").ReadAsArray()
    mesh.setScaleBasedVisibility(True)
    mesh.setMinimumScale(2)
    mesh.setMaximumScale(1)
    assert np.array_equal(render(mesh, tmp_path / "hidden.tif").ReadAsArray(), expected)
    assert mesh.hasScaleBasedVisibility()


def test_it_can_be_stopped(mesh, tmp_path, monkeypatch):
    monkeypatch.setattr(rendering, "BLOCK_PX", 64)
    ear = Ear()
    ear.progressChanged.connect(lambda percent: ear.cancel())
    with pytest.raises(Cancelled):
        render(mesh, tmp_path / "image.tif", ear)


def test_a_raster_keeps_its_own_provider(image):
    assert mesh_painting.provider_of(QgsRasterLayer(str(image), "Bild")).name() == "gdal"


def test_a_picture_that_is_stopped_while_it_is_painted_comes_at_once(mesh):
    feedback = QgsRasterBlockFeedback()
    feedback.cancel()
    assert mesh_painting.provider_of(mesh).block(1, SQUARE, 8, 8, feedback).isValid()
