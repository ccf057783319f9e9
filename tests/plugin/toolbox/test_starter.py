"""The starter model in QGIS: what dialogs begin with, and what goes to the worker."""

import pytest
from qgis.core import QgsProcessingContext
from qgis.gui import QgsGui, QgsProcessingGui

from ..support.acting import memory_layer, run
from ..support.parts import FINETUNE, SEGMENT

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")


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
