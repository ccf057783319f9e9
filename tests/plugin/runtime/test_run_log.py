import os
import subprocess
import sys

import pytest
from qgis.core import QgsApplication, QgsProcessingContext, QgsRasterLayer
from roadseg.qgis_roadseg.runtime import run_log
from roadseg.qgis_roadseg.runtime.run_log import MAX_BYTES, LoggedFeedback, RunLog, log_file

from ..support.acting import Ear, failure, run

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project", "no_runtime")


def test_a_run_leaves_what_it_told_and_its_error(play_runtime, image, tmp_path):
    play_runtime("""
send("log", message="Of town.tif")
send("warning", message="It is dark; token=T0KEN.")
print("printed by a library", file=sys.stderr, flush=True)
send("error", code="imagery", message="The image is damaged.", remedy="Copy it again.")
""")
    values = {"INPUT": str(image), "OUTPUT": str(tmp_path / "roads.gpkg")}
    failure("vectorize", values)
    log = log_file().read_text(encoding="utf-8")
    first, *_, last = log.splitlines()
    assert "roadseg:vectorize" in first and str(image) in first
    assert "Of town.tif\n" in log and "Warning: It is dark; token=***" in log and "printed by a library" in log
    assert last.endswith("Error: The image is damaged. Copy it again.")
    assert log_file().stat().st_mode & 0o77 == 0
    play_runtime('print(json.dumps({"python": "3.11.2"}))', "other")
    run("setupruntime", {})
    assert log_file().read_text(encoding="utf-8").splitlines()[-1].endswith("Done.")
    unread = {**values, "INPUT": QgsRasterLayer(f"{image}|option:NUM_THREADS=2", "Bild")}
    algorithm = QgsApplication.processingRegistry().createAlgorithmById("roadseg:vectorize")
    algorithm.run(unread, QgsProcessingContext(), Ear())  # as a script does, which checks no values
    assert "Error: The layer Bild is opened with extra" in log_file().read_text(encoding="utf-8").splitlines()[-1]


def test_a_log_is_whole_when_its_process_is_killed(tmp_path):
    program = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from roadseg.qgis_roadseg.runtime.run_log import RunLog
RunLog("roadseg:segment").write("Tile 5 of 12")
os.kill(os.getpid(), signal.SIGKILL)
"""
    from ..conftest import PLUGINS

    subprocess.run([sys.executable, "-c", program, PLUGINS], env=os.environ, check=False)
    assert log_file().read_text(encoding="utf-8").endswith(" Tile 5 of 12\n")


def test_a_long_log_keeps_its_beginning_and_its_end():
    with RunLog("begins") as log:
        for number in range(20_000):
            log.write(f"line {number} {'x' * 40}")
    lines = log_file().read_text(encoding="utf-8").splitlines()
    assert log_file().stat().st_size <= MAX_BYTES + 200
    assert "begins" in lines[0] and "line 19999 x" in lines[-1]
    assert sum("omitted" in line for line in lines) == 1


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(run_log, "log_file", lambda: tmp_path / "file" / "last_run.log")
    with RunLog("roadseg:segment") as log:
        log.write("goes nowhere")


def test_a_run_that_is_canceled_is_canceled_within(ear):
    with RunLog("roadseg:segment") as log:
        inner = LoggedFeedback(log, ear)
        ear.cancel()
        assert inner.isCanceled()
        early = Ear()
        early.cancel()
        assert LoggedFeedback(log, early).isCanceled()


def test_the_error_of_a_bug_is_logged_with_its_place():
    with pytest.raises(ZeroDivisionError), RunLog("roadseg:segment"):
        1 / 0  # noqa: B018
    log = log_file().read_text(encoding="utf-8")
    assert "ZeroDivisionError" in log and "test_run_log.py" in log
