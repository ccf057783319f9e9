"""A profile of this computer and its comparison, through QGIS' own command line client."""

import json
import re

import pytest

from scripts import headless


@pytest.mark.slow  # its job and its algorithm are shown by core/pipelines and plugin/toolbox
def test_this_computer_is_profiled_and_is_as_fast_as_itself(tmp_path):
    profile, trace, report, differences = (
        str(tmp_path / name) for name in ("Profil ß.json", "trace.json", "report.html", "differences.html")
    )
    tile = {"WHAT": "inference", "SECONDS": 1, "TILE_PX": 64, "MODEL": ""}
    measured = headless.run("roadseg:profile", {**tile, "REPORT": report, "PROFILE": profile, "TRACE": trace})
    assert measured["STEP_S"] > 0 and measured["IMAGES_PER_S"] > 0 and measured["PEAK_SHARE"] > 0
    document = json.loads((tmp_path / "Profil ß.json").read_text(encoding="utf-8"))
    for name in ("step_s", "unaccounted_share", "overhead_share", "engine", "precision"):
        assert document[name] == measured[name.upper()], name
    assert sum(row["time_s"] for row in document["phases"]) == pytest.approx(document["step_s"], rel=0.03)
    assert json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]

    compared = headless.run("roadseg:compareprofiles", {"BEFORE": profile, "INPUT": profile, "REPORT": differences})
    assert compared["STEP_BEFORE_S"] == compared["STEP_AFTER_S"] == measured["STEP_S"] and compared["RATIO"] == 1
    pages = [(tmp_path / path).read_text(encoding="utf-8") for path in (report, differences)]
    assert "encoder.layer" in pages[0] and document["hardware"] in pages[1]
    assert not any("://" in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page) for page in pages)
