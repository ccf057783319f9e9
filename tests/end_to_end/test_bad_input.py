"""What bad input gets, through QGIS' own command line client: words for a person, a failed exit, and no output."""

import json

import pytest

import headless

from .conftest import write_image, write_layer

ON_IMAGE = "LINESTRING (390002 5819990, 390040 5819980)"
FAR_LINE = "LINESTRING (490002 5819990, 490040 5819980)"
FAR_AREA = "POLYGON ((490000 5819900, 490100 5819900, 490100 5820000, 490000 5819900))"


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
    assert "roadseg:segment" in headless.qgis_process("list", **nowhere).stdout
    assert "Threshold" in headless.qgis_process("help", "roadseg:segment", **nowhere).stdout
    image = write_image(tmp_path / "image.tif")
    said = fail("roadseg:vectorize", {"INPUT": image, "OUTPUT": str(out / "roads.gpkg")}, **nowhere)
    assert "Set up runtime" in said
    assert_nothing_was_written(out)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        ("truncated", "image.tif"),
        ("no crs", "coordinate reference system"),
        ("all nodata", "no data"),
        ("other bands", "bands"),
    ],
)
def test_an_image_that_cannot_be_segmented(ground, tmp_path, out, problem, words):
    path = tmp_path / "image.tif"
    if problem == "truncated":
        path.write_bytes(ground.image.read_bytes()[:150_000])
    else:
        write_image(
            path,
            epsg=None if problem == "no crs" else 32633,
            count=2 if problem == "other bands" else 3,
            nodata=100 if problem == "all nodata" else None,
        )
    said = fail("roadseg:segment", {"INPUT": str(path), "MODEL": str(ground.model), "MASK": str(out / "mask.tif")})
    assert words in said
    assert_nothing_was_written(out)


@pytest.mark.parametrize("problem", ["truncated", "pickle", "missing"])
def test_a_model_file_that_is_none(ground, tmp_path, out, problem):
    model = tmp_path / "bad.safetensors"
    if problem == "truncated":
        model.write_bytes(ground.model.read_bytes()[:1_000_000])
    elif problem == "pickle":
        model.write_bytes(b"PK\x03\x04" + b"\0" * 100)
    said = fail(
        "roadseg:extractroads", {"INPUT": str(ground.image), "MODEL": str(model), "OUTPUT": str(out / "r.gpkg")}
    )
    assert "bad.safetensors" in said
    assert_nothing_was_written(out)


@pytest.mark.parametrize(
    ("roads", "aoi", "words"),
    [
        (FAR_LINE, None, "touches"),
        (None, None, "no features"),
        (ON_IMAGE, FAR_AREA, "touches"),
    ],
    ids=["labels elsewhere", "empty labels", "area elsewhere"],
)
def test_labels_that_cannot_be_learned_from(tmp_path, out, roads, aoi, words):
    parameters = {
        "INPUT": [write_image(tmp_path / "image.tif")],
        "ROADS": write_layer(tmp_path / "roads.gpkg", roads),
        "BASE_MODEL": "",
        "MODEL": str(out / "m.safetensors"),
        "REPORT": str(out / "report.html"),
    }
    if aoi:
        parameters["AOI"] = write_layer(tmp_path / "aoi.gpkg", aoi)
    assert words in fail("roadseg:finetune", parameters)
    assert_nothing_was_written(out)


def test_an_area_outside_the_image(ground, tmp_path, out):
    aoi = write_layer(tmp_path / "aoi.gpkg", FAR_AREA)
    parameters = {"INPUT": str(ground.image), "MODEL": str(ground.model), "AOI": aoi, "MASK": str(out / "mask.tif")}
    assert "outside the image" in fail("roadseg:segment", parameters)
    assert_nothing_was_written(out)


def test_a_folder_that_cannot_be_written_to(ground):
    parameters = {"INPUT": str(ground.image), "MODEL": str(ground.model), "MASK": "/proc/roadseg/mask.tif"}
    assert "/proc" in fail("roadseg:segment", parameters)
