import os
import struct

import pytest
from qgis.core import QgsApplication
from roadseg.qgis_roadseg import settings
from roadseg.qgis_roadseg.settings import Settings
from roadseg.qgis_roadseg.toolbox import model_files
from roadseg.qgis_roadseg.toolbox.model_files import read_resolution_m

from ..support.acting import write_model

pytestmark = pytest.mark.usefixtures("provider", "no_settings")


def starts(algorithm):
    """Return what an algorithm's dialog begins with, of its model files."""
    made = QgsApplication.processingRegistry().createAlgorithmById(f"roadseg:{algorithm}")
    values = {each.name(): (each.defaultValueForGui(), each.defaultValue()) for each in made.parameterDefinitions()}
    defaults = {default for name, (_, default) in values.items() if "MODEL" in name}
    assert defaults <= {None, "starter"}  # scripts see nothing of the folder
    return {name: start and os.path.basename(start) for name, (start, _) in values.items() if "MODEL" in name}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "Modelle ß"
    folder.mkdir()
    settings.save(Settings(models_folder=str(folder)))
    return folder


def write(folder, name, age_s):
    path = folder / name
    path.touch()
    time_s = path.stat().st_mtime - age_s
    os.utime(path, (time_s, time_s))


def test_without_a_models_folder_dialogs_begin_with_the_starter():
    assert starts("segment") == starts("extractroads") == {"MODEL": "starter"}
    assert starts("evaluate") == {"MODEL": None}
    assert starts("finetune") == {"BASE_MODEL": "starter", "MODEL": None}


def test_dialogs_begin_with_the_newest_model_and_a_new_name(folder):
    assert starts("segment") == {"MODEL": "starter"}
    assert starts("finetune") == {"BASE_MODEL": "starter", "MODEL": "model.safetensors"}
    write(folder, "town.safetensors", 10)
    write(folder, "model.safetensors", 20)
    write(folder, "newer.onnx", 0)
    assert starts("segment") == starts("extractroads") == starts("evaluate") == {"MODEL": "town.safetensors"}
    assert starts("finetune") == {"BASE_MODEL": "starter", "MODEL": "model 2.safetensors"}


def test_a_models_folder_that_has_gone_is_none(folder):
    write(folder, "town.safetensors", 0)
    assert starts("segment") == {"MODEL": "town.safetensors"}
    (folder / "town.safetensors").unlink()
    folder.rmdir()
    assert starts("segment") == {"MODEL": "starter"} and starts("finetune")["MODEL"] is None


def test_the_resolution_is_read(tmp_path):
    assert read_resolution_m(write_model(tmp_path / "Modell ß.safetensors", 0.25)) == 0.25
    assert read_resolution_m(write_model(tmp_path / "one.safetensors", 1)) == 1.0


@pytest.mark.parametrize(
    "value", [0, -1, None, "much", "0.5", True, [], float("nan"), float("inf"), 10**400, 1e300, 1e-300, {}]
)
def test_what_is_no_resolution_is_none(tmp_path, value):
    assert read_resolution_m(write_model(tmp_path / "model.safetensors", value)) is None


def with_header(header):
    return struct.pack("<Q", len(header)) + header


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x02\x00\x00",
        with_header(b"{}"),
        with_header(b"[]"),
        with_header(b'{"__metadata__": {"roadseg": 5}}'),
        with_header(b'{"__metadata__": {"roadseg": "[1]"}}'),
        with_header(b"\xff\xfe"),
        with_header(b"[" * 100_000),
        with_header(b'{"a":' * 900 + b"1" + b"}" * 900),
        with_header(b'{"__metadata__": {"roadseg": "{\\"roadseg:resolution_m\\": 1, \\"roadseg:resolution_m\\": 2}"}}'),
        with_header(b'{"__metadata__": {"roadseg": "' + b"[" * 50_000 + b'"}}'),
        struct.pack("<Q", 1000) + b"{}",
        struct.pack("<Q", 2**63) + b"{}",
        b"PK\x03\x04" + b"\0" * 100,
        b"\x08\x07\x12\x07pytorch" + b"\0" * 100,  # as an ONNX file begins
    ],
)
def test_what_is_no_model_tells_no_resolution(tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert read_resolution_m(path) is None


def test_a_header_that_is_too_long_is_not_read(tmp_path, monkeypatch):
    path = write_model(tmp_path / "model.safetensors", 0.5)
    monkeypatch.setattr(model_files, "MAX_HEADER_BYTES", 20)
    assert read_resolution_m(path) is None


def test_a_model_that_is_not_there_tells_no_resolution(tmp_path):
    assert read_resolution_m(tmp_path / "none.safetensors") is None
    assert read_resolution_m(tmp_path) is None
    assert read_resolution_m("") is None


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model.safetensors")
    assert read_resolution_m(tmp_path / "model.safetensors") is None


def test_a_path_that_no_path_can_be_tells_no_resolution():
    assert read_resolution_m("a\0b") is None
    assert read_resolution_m("\ud800") is None
