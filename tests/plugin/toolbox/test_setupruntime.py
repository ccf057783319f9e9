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


def test_setupruntime_tells_what_failed(no_runtime, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)  # what pip is told on this machine, such as other wheels
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    (tmp_path / "empty").mkdir()
    told = failure("setupruntime", {"WHEELS": str(tmp_path / "empty"), "REQUIREMENTS": "native"})
    assert "No matching distribution" in told
    assert os.listdir(tmp_path / "data" / "roadseg" / "runtime") == []


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, None),
        ({"REQUIREMENTS": "auto"}, None),
        ({"REQUIREMENTS": "ipex"}, "ipex"),
        ({"REQUIREMENTS": "native"}, "native"),
    ],
)
def test_setupruntime_builds_the_packages_chosen_and_by_default_any_that_fit(values, name, no_runtime, monkeypatch):
    from roadseg.qgis_roadseg.runtime import build

    seen = []
    monkeypatch.setattr(build, "set_up", lambda requirements, *_: seen.append(requirements) or ("python", {}))
    run("setupruntime", values)
    assert [each and each.name for each in seen] == [name]


def test_setupruntime_adds_what_many_machines_need_only_where_it_is_asked_for(no_runtime, monkeypatch):
    from roadseg.qgis_roadseg.runtime import build

    seen = []
    monkeypatch.setattr(build, "set_up", lambda *arguments: seen.append(arguments[-1]) or ("python", {}))
    run("setupruntime", {})
    run("setupruntime", {"FLEET": True})
    assert [[each.name for each in added] for added in seen] == [[], ["fleet"]]
