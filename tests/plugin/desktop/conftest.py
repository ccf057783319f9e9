"""What the window's tests share: waiting in the event loop, and label layers of which one file is copied."""

import shutil
import time

import pytest
from qgis.core import QgsCoordinateReferenceSystem, QgsProject, QgsVectorLayer
from roadseg.qgis_roadseg.layers import label_layers


@pytest.fixture
def wait_for(qgis_app):
    def wait(is_so, seconds=60):
        end = time.monotonic() + seconds
        while not is_so() and time.monotonic() < end:
            qgis_app.processEvents()
            time.sleep(0.005)
        assert is_so()

    return wait


@pytest.fixture(scope="session")
def label_file(tmp_path_factory, qgis_app):
    path = tmp_path_factory.mktemp("labels") / "labels.gpkg"
    wanted = label_layers.LabelLayers(QgsCoordinateReferenceSystem("EPSG:32645"), ["track"], 6.0)
    label_layers.write_label_layers(str(path), wanted, QgsProject.instance().transformContext(), str)
    return path


@pytest.fixture
def labels(label_file, tmp_path):
    """Label layers in a GeoPackage, by name."""
    path = shutil.copy(label_file, tmp_path / "labels.gpkg")
    return {name: QgsVectorLayer(label_layers.layer_uri(path, name), name, "ogr") for name in label_layers.NAMES}
