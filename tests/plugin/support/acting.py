"""Who plays the parts of worker, listener and model in the tests, and how to see that a worker has gone."""

import json
import struct
import time

import pytest
from qgis.core import (
    QgsApplication,
    QgsFeature,
    QgsGeometry,
    QgsProcessingAlgRunnerTask,
    QgsProcessingException,
    QgsProcessingFeedback,
    QgsProject,
    QgsVectorLayer,
)

PLAY = """
import json, os, subprocess, sys, time
os.setpgid(0, 0)

def send(kind, **details):
    print(json.dumps({"event": kind, **details}, ensure_ascii=False), flush=True)

def job():
    with open(sys.argv[-1], encoding="utf-8") as file:
        return json.load(file)
"""


class Ear(QgsProcessingFeedback):
    """Feedback that remembers what it is told, and may cancel on a word."""

    def __init__(self, cancel_on=None):
        super().__init__(False)
        self.told = []
        self.cancel_on = cancel_on

    def _hear(self, text):
        self.told.append(text)
        if self.cancel_on is not None and self.cancel_on in text:
            self.cancel()

    setProgressText = pushInfo = pushWarning = pushDebugInfo = pushConsoleInfo = pushCommandInfo = _hear  # noqa: N815

    def reportError(self, error, fatalError=False):  # noqa: N802, N803
        self._hear(error)

    @property
    def text(self):
        return "\n".join(self.told)


def is_running(process_id):
    try:
        with open(f"/proc/{process_id}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends while its file is read
        return False


def wait_until_gone(process_id, seconds=20):
    end = time.monotonic() + seconds
    while is_running(process_id) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_running(process_id)


def write_model(path, resolution_m):
    """Write a model file without weights, whose header tells a ground resolution; return its path as text."""
    document = json.dumps({"format": "roadseg-model-1", "roadseg:resolution_m": resolution_m})
    header = json.dumps({"__metadata__": {"roadseg": document}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    return str(path)


def run(algorithm, values, ear=None, **kwargs):
    import processing

    return processing.run(f"roadseg:{algorithm}", values, feedback=ear or Ear(), **kwargs)


def failure(algorithm, values, ear=None):
    ear = ear or Ear()
    with pytest.raises(QgsProcessingException) as caught:
        run(algorithm, values, ear)
    told = f"{ear.text}\n{caught.value}"
    del caught  # whose traceback would keep layers alive until QGIS has gone
    return told


def run_in_task(algorithm, values, context, ear, application, seconds=60):
    """Run an algorithm as the toolbox does, in another thread; return what each end of it told."""
    ends = []
    task = QgsProcessingAlgRunnerTask(algorithm, values, context, ear)
    task.executed.connect(lambda fine, result: ends.append((fine, result)))
    QgsApplication.taskManager().addTask(task)
    end = time.monotonic() + seconds
    while not ends and time.monotonic() < end:
        application.processEvents()
        time.sleep(0.01)
    return ends


def saved_job(lines, tmp_path):
    """Return the lines with one before them that saves the job, and where it is saved."""
    path = tmp_path / "job-as-received.json"
    return f"import shutil; shutil.copy(sys.argv[-1], {str(path)!r})\n{lines}", path


def options_in(path):
    """Return the options of a job that was saved."""
    return json.loads(path.read_text(encoding="utf-8"))["options"]


def memory_layer(kind, name, wkt, fields="", crs="epsg:32645"):
    """Return a layer of one feature, which is in the project."""
    layer = QgsVectorLayer(f"{kind}?crs={crs}{fields}", name, "memory")
    feature = QgsFeature(layer.fields())
    feature.setGeometry(QgsGeometry.fromWkt(wkt))
    layer.dataProvider().addFeature(feature)
    layer.updateExtents()
    QgsProject.instance().addMapLayer(layer)
    return layer
