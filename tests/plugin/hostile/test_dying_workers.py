"""A worker that dies, or whose runtime goes, in each phase of a run: what is told, and that nothing is left."""

import shutil

import pytest
from qgis.core import QgsField, QgsProject, QgsVectorLayer
from qgis.PyQt.QtCore import QMetaType

from ..support.acting import Ear, run
from ..support.parts import ANSWER
from .conftest import ALL_OUTPUTS

KILL, SEGFAULT = 9, 11
TOLD = {
    KILL: "The system killed the worker, most likely because memory ran out. Lower",
    SEGFAULT: "crashed (signal 11)",
}

# What the worker does before it dies; what it has written lies in its temporary folder.
PHASES = {
    "before it says anything": "",
    "after its first word": 'send("heartbeat")\n',
    "at work": 'send("progress", fraction=0.5, message="Tile 1 of 2")\n',
    "with a child": 'subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])\n',
    "within a line": 'print(\'{"event": "result", "result\', end="", flush=True)\n',
    "when its layers are written": ALL_OUTPUTS.replace(
        '"mask", "report", "model", "onnx", "graphml", "challenge", "raster"', ""
    ),
}


@pytest.mark.parametrize("number", [KILL, SEGFAULT])
@pytest.mark.parametrize("phase", PHASES)
def test_a_worker_that_is_killed_is_told_and_leaves_nothing(phase, number, values_of, told, play_runtime):
    play_runtime(PHASES[phase] + f"os.kill(os.getpid(), {number})")
    text = told("extractroads", values_of("extractroads"))
    assert TOLD[number] in text and text.rstrip().endswith(".")


@pytest.mark.parametrize("number", [KILL, SEGFAULT])
def test_a_worker_that_dies_after_its_result_has_done_its_work(number, values_of, place, provider, play_runtime):
    play_runtime(ALL_OUTPUTS + ANSWER + f"os.kill(os.getpid(), {number})")
    result = run("cleannetwork", values_of("cleannetwork"))
    assert QgsVectorLayer(result["OUTPUT"], "roads", "ogr").featureCount() == 300


def test_a_runtime_that_is_deleted_during_the_run_is_told(values_of, told, play_runtime):
    python = play_runtime("""
import shutil
shutil.rmtree(os.path.dirname(os.path.abspath(__file__)))
print("ModuleNotFoundError: No module named 'torch'", file=sys.stderr)
sys.exit(1)
""")
    text = told("segment", values_of("segment"))
    assert "The runtime is incomplete (ModuleNotFoundError: No module named 'torch'). Run Set up runtime." in text
    assert not python.exists()
    assert "does not exist" in told("segment", values_of("segment"))


def test_a_runtime_that_is_deleted_between_preparation_and_work_is_told(values_of, told, play_runtime, tmp_path):
    python = play_runtime(ANSWER)

    class Deleting(Ear):
        def setProgressText(self, text):  # noqa: N802
            shutil.rmtree(python.parent, ignore_errors=True)

        pushInfo = setProgressText  # noqa: N815

    values = values_of("finetune")
    values["ROADS"] = _with_a_width(values["ROADS"])
    assert "python cannot be started" in told("finetune", values, Deleting())


def _with_a_width(definition):
    """Return the layer with a field of which the run tells, while it writes the layer, that it is not used."""
    layer = QgsProject.instance().mapLayer(definition.source.staticValue())
    layer.dataProvider().addAttributes([QgsField("width", QMetaType.Type.Double)])
    layer.updateFields()
    return definition
