"""Set up runtime through Processing."""

import os

import pytest

from ..support.acting import failure, run

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")


def test_setupruntime_finds_the_one_that_is_named_and_tells_the_window(play_runtime, provider):
    play_runtime('print(json.dumps({"python": "3.11.2", "torch": "2.8.0"}))')
    told = []
    provider.runtime_ready.connect(lambda: told.append("ready"))
    result = run("setupruntime", {})
    assert told == ["ready"]
    assert result["PYTHON"] == os.environ["ROADSEG_PYTHON"]
    assert result["VERSION"] == "python 3.11.2, torch 2.8.0"
    run("setupruntime", {"ALSO_INSTALL": ["osm"]})  # as a job asks for it
    assert told == ["ready"]


def test_setupruntime_tells_what_failed(no_runtime, provider, monkeypatch):
    from roadseg.qgis_roadseg.runtime import build
    from roadseg.training_core.errors import RuntimeEnvironmentError

    def fail(*_):
        raise RuntimeEnvironmentError("No matching distribution.", "Fill the folder.")

    monkeypatch.setattr(build, "set_up", fail)
    assert "No matching distribution. Fill the folder." in failure("setupruntime", {})


def test_setupruntime_builds_the_packages_chosen_and_by_default_any_that_fit(no_runtime, monkeypatch):
    from roadseg.qgis_roadseg.runtime import build

    seen = []
    monkeypatch.setattr(build, "set_up", lambda *given: seen.append((given[0], given[-1])) or ("python", {}))
    for values in (
        {},
        {"REQUIREMENTS": "auto"},
        {"REQUIREMENTS": "ipex"},
        {"REQUIREMENTS": "native", "ALSO_INSTALL": ["osm", "fleet"]},
    ):
        run("setupruntime", values)
    assert [chosen and chosen.name for chosen, _ in seen] == [None, None, "ipex", "native"]
    assert [[each.name for each in added] for _, added in seen] == [[], [], [], ["osm", "fleet"]]
