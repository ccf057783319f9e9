"""The real worker among others: stopped, beside another one, and left alone by a QGIS that was killed."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from osgeo import gdal
from qgis.core import QgsApplication, QgsProcessingAlgRunnerTask, QgsProcessingContext, QgsProcessingFeedback

from scripts import headless

# So many tiles that it is still at work when it is stopped.
LONG = {"TILE_PX": 32, "HALO": "0", "TEST_TIME_AUGMENTATION": True, "ENGINE": "native", "THREADS": 1}

KILLED = """
import json, sys
sys.path.insert(0, sys.argv[1])
from qgis.core import QgsApplication, QgsProcessingContext, QgsProcessingFeedback
application = QgsApplication([], False)
application.initQgis()
import roadseg
plugin = roadseg.classFactory(None)
plugin.initProcessing()
algorithm = QgsApplication.processingRegistry().createAlgorithmById("roadseg:segment")
algorithm.run(json.loads(sys.argv[2]), QgsProcessingContext(), QgsProcessingFeedback())
"""


class Run:
    """An algorithm under way in a thread, as the toolbox runs it."""

    def __init__(self, name, values):
        self.ends = []
        self.feedback, self._context = QgsProcessingFeedback(), QgsProcessingContext()
        self._algorithm = QgsApplication.processingRegistry().createAlgorithmById(f"roadseg:{name}")
        self._task = QgsProcessingAlgRunnerTask(self._algorithm, values, self._context, self.feedback)
        self._task.executed.connect(lambda fine, results: self.ends.append((fine, results)))
        QgsApplication.taskManager().addTask(self._task)


@pytest.fixture(scope="module")
def plugins():
    """Return the folder of QGIS' plugins, in which RoadSeg is."""
    return Path(headless.environment()["QGIS_CUSTOM_CONFIG_PATH"], "profiles", "default", "python", "plugins")


@pytest.fixture(scope="module")
def provider(plugins, qgis_app):
    sys.path.insert(0, str(plugins))
    import roadseg

    plugin = roadseg.classFactory(None)
    plugin.initProcessing()
    yield plugin.provider
    plugin.unload()
    sys.path.remove(str(plugins))


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Return a folder for outputs, and one for temporary files."""
    out, temporary = tmp_path / "out", tmp_path / "temporary"
    out.mkdir()
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    return out, temporary


def wait_for(is_so, seconds=180):
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        QgsApplication.processEvents()
        time.sleep(0.01)
    return is_so()


def children(process):
    """Return the processes that a process has started."""
    return [
        int(child) for path in Path(f"/proc/{process}/task").glob("*/children") for child in path.read_text().split()
    ]


@pytest.mark.slow
def test_one_of_two_is_stopped_at_once_and_the_other_not_disturbed(ground, provider, folders):
    out, temporary = folders
    inputs = {"INPUT": str(ground.image), "MODEL": str(ground.model)}
    stopped = Run("segment", {**inputs, **LONG, "MASK": str(out / "a.tif"), "PROBABILITY": str(out / "p.tif")})
    other = Run("segment", {**inputs, "MASK": str(out / "b.tif"), "ENGINE": "native", "THREADS": 1})
    assert wait_for(lambda: list(out.glob(".roadseg-*.part/a.tif")))
    stopped.feedback.cancel()
    assert wait_for(lambda: stopped.ends)
    assert stopped.ends == [(False, {})]
    assert wait_for(lambda: other.ends) and other.ends[0][0], other.feedback.textLog()
    assert gdal.Open(str(out / "b.tif")).RasterXSize == gdal.Open(str(ground.image)).RasterXSize
    assert sorted(path.name for path in out.iterdir()) == ["b.qml", "b.tif"]
    assert list(temporary.iterdir()) == []


def test_a_killed_qgis_leaves_no_process_and_no_output(ground, plugins, folders):
    out, _ = folders
    values = {"INPUT": str(ground.image), "MODEL": str(ground.model), **LONG, "MASK": str(out / "a.tif")}
    command = [sys.executable, "-B", "-c", KILLED, str(plugins), json.dumps(values)]
    parent = subprocess.Popen(command, env=headless.environment())
    assert wait_for(lambda: list(out.glob(".roadseg-*.part/a.tif")))
    (worker,) = children(parent.pid)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert wait_for(lambda: not os.path.exists(f"/proc/{worker}"))
    assert list(out.iterdir()) == []
