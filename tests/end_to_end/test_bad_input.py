"""What bad input gets, through QGIS' own command line client: words for a person, a failed exit, and no output."""

import json

import pytest

from scripts import headless

from .conftest import write_image, write_layer

FAR_LINE = "LINESTRING (490002 5819990, 490040 5819980)"
ALGORITHMS = (
    "setupruntime", "createlabellayers", "finetune", "evaluate", "suggestlabels", "exportmodel", "quantize",
    "makescene", "segment", "vectorize", "extractroads", "cleannetwork", "scorenetwork", "exportnetwork",
    "comparenetworks", "profile", "compareprofiles", "mergemodels", "mapregion",
)  # fmt: skip


def fail(algorithm, parameters, **variables):
    """Run what must fail, and return what a person reads."""
    done = headless.qgis_process("run", algorithm, "-", text=json.dumps({"inputs": parameters}), **variables)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "Traceback" not in said
    return said


def assert_nothing_was_written(folder, *kept):
    assert sorted(path.name for path in folder.iterdir()) == sorted(kept)


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_without_a_runtime_all_is_listed_and_a_run_says_what_to_do(tmp_path, out):
    nowhere = {"XDG_DATA_HOME": str(tmp_path / "nowhere"), "ROADSEG_PYTHON": ""}
    listed = headless.qgis_process("list", **nowhere).stdout
    assert all(f"roadseg:{name}" in listed for name in ALGORITHMS)
    assert "Threshold" in headless.qgis_process("help", "roadseg:segment", **nowhere).stdout
    image = write_image(tmp_path / "image.tif")
    said = fail("roadseg:vectorize", {"INPUT": image, "OUTPUT": str(out / "roads.gpkg")}, **nowhere)
    assert "Set up runtime" in said
    assert_nothing_was_written(out)


def test_an_image_that_is_cut_off(ground, tmp_path, out):
    path = tmp_path / "image.tif"
    path.write_bytes(ground.image.read_bytes()[:150_000])
    said = fail("roadseg:segment", {"INPUT": str(path), "MODEL": str(ground.model), "MASK": str(out / "mask.tif")})
    assert "image.tif" in said
    assert_nothing_was_written(out)


@pytest.mark.slow
def test_a_model_file_that_is_none(ground, tmp_path, out):
    model = tmp_path / "bad.safetensors"
    model.write_bytes(b"PK\x03\x04" + b"\0" * 100)
    said = fail(
        "roadseg:extractroads", {"INPUT": str(ground.image), "MODEL": str(model), "OUTPUT": str(out / "r.gpkg")}
    )
    assert "bad.safetensors" in said
    assert_nothing_was_written(out)


@pytest.mark.slow
def test_a_profile_that_is_none(tmp_path, out):
    (tmp_path / "profile.json").write_text('{"format": "roadseg-profile-1"}', encoding="utf-8")
    profile = str(tmp_path / "profile.json")
    said = fail("roadseg:compareprofiles", {"BEFORE": profile, "INPUT": profile, "REPORT": str(out / "report.html")})
    assert "profile.json" in said
    assert_nothing_was_written(out)


def test_labels_that_lie_elsewhere(tmp_path, out):
    parameters = {
        "INPUT": [write_image(tmp_path / "image.tif")],
        "ROADS": write_layer(tmp_path / "roads.gpkg", FAR_LINE),
        "MODEL": str(out / "m.safetensors"),
        "REPORT": str(out / "report.html"),
    }
    assert "touches" in fail("roadseg:finetune", parameters)
    assert_nothing_was_written(out)
