"""A profile of this computer and its comparison, through QGIS' own command line client."""

import json
import re

import pytest

import headless


def test_this_computer_is_profiled_and_is_as_fast_as_itself(tmp_path):
    profile, trace, report, differences = (
        str(tmp_path / name) for name in ("Profil ß.json", "trace.json", "report.html", "differences.html")
    )
    tile = {"WHAT": "inference", "SECONDS": 5, "TILE_PX": 64, "MODEL": ""}
    measured = headless.run("roadseg:profile", {**tile, "REPORT": report, "PROFILE": profile, "TRACE": trace})
    assert measured["STEP_S"] > 0 and measured["PEAK_SHARE"] > 0 and 0 <= measured["UNACCOUNTED_SHARE"] < 1
    assert measured["IMAGES_PER_S"] == pytest.approx(1 / measured["STEP_S"])  # a step is a tile
    document = json.loads((tmp_path / "Profil ß.json").read_text(encoding="utf-8"))
    assert (document["step_s"], document["what"]) == (measured["STEP_S"], "inference")
    assert sum(row["time_s"] for row in document["phases"]) == pytest.approx(document["step_s"], rel=0.03)
    assert json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]

    compared = headless.run("roadseg:compareprofiles", {"BEFORE": profile, "INPUT": profile, "REPORT": differences})
    assert compared["STEP_BEFORE_S"] == compared["STEP_AFTER_S"] == measured["STEP_S"] and compared["RATIO"] == 1
    for path in (report, differences):
        page = (tmp_path / path).read_text(encoding="utf-8")
        assert "encoder.layer1" in page and "://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
