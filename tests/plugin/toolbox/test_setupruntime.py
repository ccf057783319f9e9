"""Set up runtime through Processing."""

import os

import pytest

from ..support.acting import failure, run

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")


def test_setupruntime_finds_the_one_that_is_named(play_runtime, monkeypatch):
    play_runtime('print(json.dumps({"python": "3.11.2", "torch": "2.8.0"}))')
    result = run("setupruntime", {})
    assert result["PYTHON"] == os.environ["ROADSEG_PYTHON"]
    assert result["VERSION"] == "python 3.11.2, torch 2.8.0"


def test_setupruntime_tells_what_failed(no_runtime, tmp_path):
    (tmp_path / "empty").mkdir()
    told = failure("setupruntime", {"WHEELS": str(tmp_path / "empty"), "REQUIREMENTS": "native"})
    assert "No matching distribution" in told
    assert os.listdir(tmp_path / "data" / "roadseg" / "runtime") == []
