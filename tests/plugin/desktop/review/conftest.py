"""A layer of changes in a window, and the review of a window's active layer."""

import pytest
from qgis.core import QgsCoordinateReferenceSystem, QgsProject, QgsRectangle, QgsVectorLayer
from qgis.PyQt.QtWidgets import QAction
from roadseg.qgis_roadseg.desktop.review.control import Review
from roadseg.qgis_roadseg.desktop.tracing.control import Tracing

from ...support.reviewing import NEAR_LOST, write
from ...support.window import left_behind, open_window


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "changes.gpkg"
    write(path)
    return path


@pytest.fixture
def layer(path):
    layer = QgsVectorLayer(str(path), "Changes", "ogr")
    QgsProject.instance().addMapLayer(layer)
    return layer


@pytest.fixture
def window(layer, qgis_app):
    extent, crs = QgsRectangle.fromCenterAndSize(NEAR_LOST, 200, 100), QgsCoordinateReferenceSystem("EPSG:32645")
    window = open_window(layer, extent, crs)
    window.mapCanvas().setLayers([layer])
    window.mapCanvas().zoomScale(1000)
    return window


@pytest.fixture
def review(window):
    tracing = Tracing(window)
    tracing.action = QAction("Trace roads", window.mainWindow())
    review = Review(window, tracing)
    yield review
    tracing.close()
    review.close()
    assert left_behind(window) == []
