"""Profiles and their comparison through Processing, with a worker that only plays its part."""

import os

import pytest

from ..support.acting import failure, run

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")

PROFILE = """
options = job()["options"]
for name in ("report", "profile", "trace"):
    if options[name]:
        open(options[name], "w").close()
send("result", result={"step_s": 0.25, "images_per_s": 16.0, "peak_share": 0.5, "unaccounted_share": 0.01,
                       "overhead_share": 0.02, "engine": "native", "precision": "bf16"})
"""
NUMBERS = {
    "STEP_S": 0.25, "IMAGES_PER_S": 16, "PEAK_SHARE": 0.5, "UNACCOUNTED_SHARE": 0.01, "OVERHEAD_SHARE": 0.02,
    "ENGINE": "native", "PRECISION": "bf16",
}  # fmt: skip
COMPARE = """
options = job()["options"]
for name in ("report", "differences"):
    if options[name]:
        open(options[name], "w").close()
send("result", result={"step_before_s": 0.5, "step_after_s": 0.25, "ratio": 0.5})
"""


def test_this_computer_is_profiled_with_nothing_given(received, tmp_path):
    options = received(PROFILE)
    report = str(tmp_path / "Bericht ß.html")
    assert run("profile", {"REPORT": report}) == {"REPORT": report, **NUMBERS}
    found = options()
    assert (found["what"], found["raster"], found["model"], found["seconds"]) == ("both", "", "starter", 60)
    assert (found["report"], found["profile"], found["trace"]) == (report, "", "")


def test_an_image_or_a_model_that_is_left_empty_is_none_and_a_missing_image_is_named(received, tmp_path):
    options = received(PROFILE)
    for image in (None, ""):
        run("profile", {"INPUT": image, "MODEL": ""})
        assert (options()["raster"], options()["model"]) == ("", "")
    assert "none.tif" in failure("profile", {"INPUT": str(tmp_path / "none.tif")})


def test_what_cannot_be_profiled_is_refused_before_the_run(received):
    received(PROFILE)
    assert "The engine openvino does not train." in failure("profile", {"ENGINE": "openvino"})
    assert "Chip size (chip_px) is 9." in failure("profile", {"CHIP_PX": 9})


def test_two_profiles_are_compared(received, profile, tmp_path, monkeypatch):
    options = received(COMPARE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "before.json").touch()
    outputs = {"REPORT": str(tmp_path / "ß.html"), "DIFFERENCES": str(tmp_path / "differences.json")}
    result = run("compareprofiles", {"BEFORE": "before.json", "INPUT": profile, **outputs})
    assert result == {**outputs, "STEP_BEFORE_S": 0.5, "STEP_AFTER_S": 0.25, "RATIO": 0.5}
    found = options()
    assert (found["before"], found["after"]) == (str(tmp_path / "before.json"), profile)
    assert (found["report"], found["differences"]) == (outputs["REPORT"], outputs["DIFFERENCES"])


def test_qgis_opens_no_profile_as_a_layer(received, tmp_path):
    """Since that may be a large GeoJSON file, or a pipe, of which the reading never ends."""
    options, pipe = received(COMPARE), str(tmp_path / "pipe.json")
    os.mkfifo(pipe)
    run("compareprofiles", {"BEFORE": pipe, "INPUT": pipe})
    assert options()["after"] == pipe
