"""Meshes as pictures: painted as they are styled, whole, at their place."""

import numpy as np
import pytest
from qgis.core import QgsRasterBlockFeedback
from roadseg.qgis_roadseg.rendering import mesh_painting, rendering

from ..support.meshes import SQUARE, mesh_layer, show_gray
from ..support.rendered import render

pytestmark = pytest.mark.usefixtures("qgis_app")


@pytest.fixture
def mesh(tmp_path):
    return mesh_layer(tmp_path / "Gelände.2dm")


def test_a_mesh_looks_as_it_is_styled(mesh, tmp_path):
    """Its gray is its height, which is a plane: the distances from the left and from below."""
    dataset, values = render(mesh, tmp_path / "image.tif", extent=SQUARE)
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
    assert (render(mesh, tmp_path / "image.tif", extent=SQUARE)[1][:3] == 70).all()


def test_where_the_mesh_is_not_there_are_no_data_in_any_number_of_blocks(mesh, tmp_path, monkeypatch):
    _, values = render(mesh, tmp_path / "whole.tif", extent=SQUARE.buffered(10))
    monkeypatch.setattr(rendering, "BLOCK_PX", 64)
    _, parts = render(mesh, tmp_path / "parts.tif", extent=SQUARE.buffered(10))
    assert np.abs(parts.astype(int) - values).max() <= 1
    side = values.shape[1] / 120
    inside = slice(round(10 * side), round(110 * side))
    expected = np.zeros(values.shape[1:], bool)
    expected[inside, inside] = True
    assert ((values[3] == 255) != expected).mean() < 0.02  # at its border alone
    assert set(np.unique(values[3])) == {0, 255}


def test_a_mesh_that_the_map_hides_at_this_scale_is_painted_all_the_same(mesh, tmp_path):
    _, expected = render(mesh, tmp_path / "shown.tif", extent=SQUARE)
    mesh.setScaleBasedVisibility(True)
    mesh.setMinimumScale(2)
    mesh.setMaximumScale(1)
    assert np.array_equal(render(mesh, tmp_path / "hidden.tif", extent=SQUARE)[1], expected)
    assert mesh.hasScaleBasedVisibility()


def test_a_picture_that_is_stopped_while_it_is_painted_comes_at_once(mesh):
    feedback = QgsRasterBlockFeedback()
    feedback.cancel()
    assert mesh_painting.provider_of(mesh).block(1, SQUARE, 8, 8, feedback).isValid()
