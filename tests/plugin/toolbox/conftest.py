"""What tests of rendered images share: web tiles, and temporary files of their own."""

import tempfile

import pytest
from qgis.core import QgsProject

from ..support.tiles import paint_tiles, tile_layer


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return a folder of temporary files of this test's own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    from roadseg.qgis_roadseg.rendering import block_loader

    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(block_loader, "WAITS_S", ())
    return folder


@pytest.fixture
def tiles(tmp_path):
    layer = tile_layer(paint_tiles(tmp_path / "tiles"))
    QgsProject.instance().addMapLayer(layer)
    return layer
