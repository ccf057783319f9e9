"""Runs through Processing that cannot be, or that fail: the message, and that no output is left."""

import os
from pathlib import Path

import pytest
from qgis.core import QgsProcessingException

from ..support.acting import failure, memory_layer, run
from ..support.parts import ANSWER, NETWORK, SEGMENT

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")


def test_the_workers_error_and_warnings_are_told_with_its_remedy_and_the_layers_name(play_runtime, image, tmp_path):
    play_runtime("""
send("warning", message=f"{job()['options']['roads']} is flat.")
send("error", code="labels", message=f"{job()['options']['roads']} is empty.", remedy="Draw some roads.")
sys.exit(1)
""")
    roads = memory_layer("LineString", "Straßen", "LineString (350001 3059999, 350011 3059999)")
    values = {"INPUT": [str(image)], "ROADS": roads, "MODEL": str(tmp_path / "model.safetensors")}
    told = failure("finetune", values)
    assert "Straßen is flat." in told and "Straßen is empty. Draw some roads." in told
    assert not (tmp_path / "model.safetensors").exists()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"HALO": "much"}, r"Halo (halo) cannot be 'much'"),
        ({"MASK": None}, "There is nothing to write"),
        ({"INPUT": "/no/such/image.tif"}, "/no/such/image.tif"),
        ({"MASK": "/tmp/mask.png"}, "png"),
        ({"THREADS": -1}, "THREADS"),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(play_runtime, image, tmp_path, model, values, told):
    play_runtime(SEGMENT)
    good = {"INPUT": str(image), "MODEL": model, "MASK": str(tmp_path / "mask.tif")}
    with pytest.raises(QgsProcessingException) as caught:
        run("segment", {**good, **values})
    assert told in str(caught.value)


def test_a_csv_without_geometry_is_called_what_it_is(play_runtime, tmp_path):
    play_runtime(NETWORK)
    (tmp_path / "wege.csv").write_text("id,breite\n1,5\n")
    values = {"INPUT": str(tmp_path / "wege.csv"), "OUTPUT": str(tmp_path / "roads.gpkg")}
    assert "The layer wege is a table without geometry" in failure("cleannetwork", values)


def test_a_worker_that_forgets_its_lines(play_runtime, image, tmp_path):
    play_runtime(ANSWER)
    told = failure("vectorize", {"INPUT": str(image), "OUTPUT": str(tmp_path / "roads.gpkg")})
    assert "the layer roads but did not write it" in told
    assert not (tmp_path / "roads.gpkg").exists()


def test_a_run_that_fails_leaves_no_file_open(play_runtime, image, tmp_path):
    play_runtime(NETWORK)
    (tmp_path / "roads.gpkg").mkdir()  # so that the worker's layer is opened, and its copy cannot be written
    failure("vectorize", {"INPUT": str(image), "OUTPUT": str(tmp_path / "roads.gpkg")})
    opened = [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert [path for path in opened if "roadseg-run" in path] == []
