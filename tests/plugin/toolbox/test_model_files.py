"""Models in dialogs: what these begin with, the starter among them, and what goes to the worker."""

import os

import pytest
from qgis.core import QgsApplication, QgsProcessingContext
from qgis.gui import QgsGui, QgsProcessingGui
from roadseg.qgis_roadseg import settings
from roadseg.qgis_roadseg.settings import Settings
from roadseg.qgis_roadseg.toolbox.model_files import read_resolution_m

from ..support.acting import memory_layer, run, write_model
from ..support.parts import FINETUNE, SEGMENT

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project", "no_settings")


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


def test_what_is_no_file_tells_no_resolution_and_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.safetensors")
    for path in (tmp_path / "none.safetensors", tmp_path, tmp_path / "pipe.safetensors", "", "a\0b", "\ud800"):
        assert read_resolution_m(path) is None


@pytest.mark.parametrize(
    ("given", "base"), [({}, "starter"), ({"BASE_MODEL": "starter"}, "starter"), ({"BASE_MODEL": ""}, "")]
)
def test_learning_starts_from_the_starter_or_where_that_is_cleared_afresh(received, image, tmp_path, given, base):
    options_in_job = received(FINETUNE)
    roads = memory_layer("LineString", "Straßen", "LineString (350001 3059999, 350011 3059999)")
    run("finetune", {"INPUT": [str(image)], "ROADS": roads, "MODEL": str(tmp_path / "model.safetensors"), **given})
    assert options_in_job()["base_model"] == base


@pytest.mark.parametrize("given", [{}, {"MODEL": "starter"}])
def test_the_first_run_needs_no_model(received, image, tmp_path, monkeypatch, given):
    options_in_job = received(SEGMENT)
    monkeypatch.chdir(tmp_path)  # where no file of that name is meant
    run("segment", {"INPUT": str(image), "MASK": "mask.tif", **given})
    assert options_in_job()["model"] == "starter"


def test_a_dialog_shows_the_starter_and_a_person_may_clear_it(provider):
    definition = provider.algorithm("finetune").parameterDefinition("BASE_MODEL")
    registry = QgsGui.processingGuiRegistry()
    wrapper = registry.createParameterWidgetWrapper(definition, QgsProcessingGui.WidgetType.Standard)
    widget = wrapper.createWrappedWidget(QgsProcessingContext())
    assert wrapper.parameterValue() == widget.filePath() == "starter"
    widget.setFilePath("")
    assert wrapper.parameterValue() == "" and definition.checkValueIsAcceptable("")
