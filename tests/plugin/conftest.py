"""What the plugin's tests share: the checkout as the package `roadseg`, and workers that only play a part."""

import gc
import os
import stat
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["LC_ALL"] = "C.UTF-8"  # the tests read English
sys.dont_write_bytecode = True

import pytest  # noqa: E402

ROOT = Path(__file__).parents[2]

# As in a QGIS profile: the checkout is linked into a plugin folder under the name roadseg.
_PLUGINS = tempfile.TemporaryDirectory(prefix="roadseg-plugins-")
PLUGINS = _PLUGINS.name
Path(PLUGINS, "roadseg").symlink_to(ROOT, target_is_directory=True)
sys.path.insert(0, PLUGINS)

# QGIS keeps what servers gave by their addresses: those of an earlier run may have had this run's ports.
_CACHE = tempfile.TemporaryDirectory(prefix="roadseg-cache-")
os.environ["XDG_CACHE_HOME"] = _CACHE.name

from qgis.core import (  # noqa: E402
    QgsApplication,
    QgsDataProvider,
    QgsMapLayer,
    QgsProcessingContext,
    QgsProject,
    QgsSettings,
)
from qgis.PyQt import sip  # noqa: E402
from qgis.PyQt.QtWidgets import QTextEdit  # noqa: E402

from .support.acting import PLAY, Ear, options_in, saved_job  # noqa: E402


@pytest.fixture(autouse=True, scope="session")
def no_layer_outlives_qgis(qgis_app):
    """Delete what layers Python still owns while QGIS is there: closed after its drivers have gone, they crash.

    QGIS frees no exception that leaves an algorithm, so the variables of all who called a run that failed stay.
    """
    yield
    QgsProject.instance().clear()
    gc.collect()
    holders = (QgsProcessingContext, QgsMapLayer, QgsDataProvider)
    for left in [each for each in gc.get_objects() if issubclass(type(each), holders)]:
        if not sip.isdeleted(left) and sip.ispyowned(left):
            sip.delete(left)


@pytest.fixture
def ear():
    return Ear()


@pytest.fixture
def short_waits(monkeypatch):
    """Have what a server does not give asked for again at once."""
    from roadseg.qgis_roadseg.rendering import block_loader

    monkeypatch.setattr(block_loader, "WAITS_S", (0.02, 0.02))


@pytest.fixture
def play(tmp_path):
    """Return a function that makes a folder whose `training_core` does what the given lines say."""

    def make(lines, folder="worker"):
        package = tmp_path / folder / "training_core"
        package.mkdir(parents=True)
        (package / "__main__.py").write_text(PLAY + lines, encoding="utf-8")
        return package.parent

    return make


@pytest.fixture
def play_runtime(tmp_path, monkeypatch):
    """Return a function that names a Python which, asked to do a job, does what the given lines say."""

    def make(lines, folder="Läufer mit Leerzeichen"):
        python = tmp_path / folder / "python"
        python.parent.mkdir(parents=True)
        script = python.with_suffix(".py")
        script.write_text(PLAY + lines, encoding="utf-8")
        # By way of the shell, as the path after #! must not hold a space, and the checkout's may.
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n', encoding="utf-8")
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("ROADSEG_PYTHON", str(python))
        return python

    return make


@pytest.fixture
def received(play_runtime, tmp_path):
    """Return a function that has a worker play a part, and returns what gives the options of the job that it got."""

    def play(lines):
        lines, job = saved_job(lines, tmp_path)
        play_runtime(lines)
        return lambda: options_in(job)

    return play


@pytest.fixture
def no_runtime(tmp_path, monkeypatch):
    monkeypatch.delenv("ROADSEG_PYTHON", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def tiny(no_runtime, tmp_path, monkeypatch):
    """A requirement set of one small package."""
    from .support.wheels import tiny_set

    return tiny_set(tmp_path, monkeypatch.setattr)


@pytest.fixture
def no_settings():
    """Take away what is set for RoadSeg, before the test and after it."""
    QgsSettings().remove("roadseg")
    yield
    QgsSettings().remove("roadseg")


@pytest.fixture(scope="session")
def provider(qgis_app, qgis_processing):
    from roadseg import classFactory

    plugin = classFactory(None)
    plugin.initProcessing()
    yield plugin.provider
    plugin.unload()
    assert QgsApplication.processingRegistry().providerById("roadseg") is None


@pytest.fixture
def image(tmp_path):
    """A small image with a coordinate reference system."""
    from osgeo import gdal, osr

    path = tmp_path / "Bild ä.tif"
    system = osr.SpatialReference()
    system.ImportFromEPSG(32645)
    dataset = gdal.GetDriverByName("GTiff").Create(str(path), 40, 30, 3, gdal.GDT_Byte)
    dataset.SetGeoTransform((350000, 0.5, 0, 3060000, 0, -0.5))
    dataset.SetProjection(system.ExportToWkt())
    for band in (1, 2, 3):
        dataset.GetRasterBand(band).Fill(40 * band)
    dataset.FlushCache()
    return path


@pytest.fixture
def model(tmp_path):
    """A file that passes for a model where nobody opens it."""
    path = tmp_path / "Modell ß.safetensors"
    path.touch()
    return str(path)


@pytest.fixture
def profile(tmp_path):
    """A file that passes for a profile where nobody opens it."""
    path = tmp_path / "Profil ß.json"
    path.touch()
    return str(path)


@pytest.fixture
def no_iface(monkeypatch):
    """Leave Processing without an iface, as in a script: the layer tree view of pytest-qgis' is not one of QGIS."""
    for module in ("ParametersPanel", "BatchPanel", "Postprocessing", "BatchAlgorithmDialog"):
        monkeypatch.setattr(f"processing.gui.{module}.iface", None)


@pytest.fixture
def batch(no_iface, qgis_app):
    """Return a function that runs rows of an algorithm in Processing's own batch dialog, and returns its log."""
    from processing.gui.BatchAlgorithmDialog import BatchAlgorithmDialog

    def execute(name, rows, seconds=30):
        dialog = BatchAlgorithmDialog(QgsApplication.processingRegistry().createAlgorithmById(f"roadseg:{name}"))
        dialog.show()  # one that nobody sees deletes itself when it is done
        dialog.execute(rows)
        end = time.monotonic() + seconds
        told = ""
        while "Batch execution completed" not in told and time.monotonic() < end:
            qgis_app.processEvents()
            time.sleep(0.01)
            told = "\n".join(log.toPlainText() for log in dialog.findChildren(QTextEdit))
        dialog.close()
        return told

    return execute
