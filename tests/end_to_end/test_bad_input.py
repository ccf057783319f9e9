"""What bad input gets, through QGIS' own command line client: words for a person, a failed exit, and no output."""

import json
from pathlib import Path

import pytest

from scripts import headless
from scripts.algorithm_examples import EXAMPLES

from .conftest import write_image, write_layer

FAR_LINE = "LINESTRING (490002 5819990, 490040 5819980)"


def fail(algorithm, parameters, **variables):
    """Run what must fail, and return what a person reads."""
    done = headless.qgis_process("run", algorithm, "-", text=json.dumps({"inputs": parameters}), **variables)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "Traceback" not in said
    return said


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_without_a_runtime_all_is_listed_and_a_run_says_what_to_do(tmp_path, out):
    nowhere = {"XDG_DATA_HOME": str(tmp_path / "nowhere"), "ROADSEG_PYTHON": ""}
    listed = headless.qgis_process("list", **nowhere).stdout
    assert all(f"roadseg:{name}" in listed for name in EXAMPLES)
    assert "Threshold" in headless.qgis_process("help", "roadseg:segment", **nowhere).stdout
    image = write_image(tmp_path / "image.tif")
    said = fail("roadseg:vectorize", {"INPUT": image, "OUTPUT": str(out / "roads.gpkg")}, **nowhere)
    assert "Set up runtime" in said
    assert list(out.iterdir()) == []
    report = headless.run("roadseg:reportproblem", {"OUTPUT": str(out / "report.txt")}, **nowhere)["OUTPUT"]
    assert "RoadSeg has no runtime yet." in Path(report).read_text(encoding="utf-8")


def cut_image(tmp_path, request):
    ground = request.getfixturevalue("ground")
    (tmp_path / "image.tif").write_bytes(ground.image.read_bytes()[:150_000])
    return {"INPUT": str(tmp_path / "image.tif"), "MODEL": str(ground.model)}


def no_model(tmp_path, request):
    (tmp_path / "bad.safetensors").write_bytes(b"PK\x03\x04" + b"\0" * 100)
    return {"INPUT": write_image(tmp_path / "image.tif"), "MODEL": str(tmp_path / "bad.safetensors")}


def no_profile(tmp_path, request):
    profile = tmp_path / "profile.json"
    profile.write_text('{"format": "roadseg-profile-1"}', encoding="utf-8")
    return {"BEFORE": str(profile), "INPUT": str(profile)}


def far_labels(tmp_path, request):
    return {"INPUT": [write_image(tmp_path / "image.tif")], "ROADS": write_layer(tmp_path / "roads.gpkg", FAR_LINE)}


@pytest.mark.parametrize(
    ("algorithm", "bad", "outputs", "told"),
    [
        pytest.param("segment", cut_image, {"MASK": "mask.tif"}, "image.tif", marks=pytest.mark.slow),
        pytest.param("extractroads", no_model, {"OUTPUT": "r.gpkg"}, "bad.safetensors", marks=pytest.mark.slow),
        pytest.param("compareprofiles", no_profile, {"REPORT": "r.html"}, "profile.json", marks=pytest.mark.slow),
        ("finetune", far_labels, {"MODEL": "m.safetensors", "REPORT": "report.html"}, "area of interest touch"),
    ],
)
def test_bad_input_is_told_and_leaves_nothing(algorithm, bad, outputs, told, tmp_path, out, request):
    written = {name: str(out / file) for name, file in outputs.items()}
    assert told in fail(f"roadseg:{algorithm}", {**bad(tmp_path, request), **written})
    assert list(out.iterdir()) == []
