"""The starter model in QGIS: what dialogs begin with, and what goes to the worker."""

import pytest
from qgis.core import QgsProcessingContext
from qgis.gui import QgsGui, QgsProcessingGui

from ..support.acting import memory_layer, options_in, run, saved_job
from ..support.parts import FINETUNE, NETWORK, SEGMENT

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")

FIRST_RUNS = {"segment": (SEGMENT, {"MASK": "mask.tif"}), "extractroads": (NETWORK, {"OUTPUT": "TEMPORARY_OUTPUT"})}


@pytest.mark.parametrize(
    ("given", "received"), [({}, "starter"), ({"BASE_MODEL": "starter"}, "starter"), ({"BASE_MODEL": ""}, "")]
)
def test_learning_starts_from_the_starter_or_where_that_is_cleared_afresh(
    play_runtime, image, tmp_path, given, received
):
    lines, job = saved_job(FINETUNE, tmp_path)
    play_runtime(lines)
    roads = memory_layer("LineString", "Straßen", "LineString (350001 3059999, 350011 3059999)")
    run("finetune", {"INPUT": [str(image)], "ROADS": roads, "MODEL": str(tmp_path / "model.safetensors"), **given})
    assert options_in(job)["base_model"] == received


@pytest.mark.parametrize("algorithm", FIRST_RUNS)
@pytest.mark.parametrize("given", [{}, {"MODEL": "starter"}])
def test_the_first_run_needs_no_model(play_runtime, image, tmp_path, monkeypatch, algorithm, given):
    part, outputs = FIRST_RUNS[algorithm]
    lines, job = saved_job(part, tmp_path)
    play_runtime(lines)
    monkeypatch.chdir(tmp_path)  # where no file of that name is meant
    run(algorithm, {"INPUT": str(image), **outputs, **given})
    assert options_in(job)["model"] == "starter"


def test_a_dialog_shows_the_starter_and_a_person_may_clear_it(provider):
    definition = provider.algorithm("finetune").parameterDefinition("BASE_MODEL")
    registry = QgsGui.processingGuiRegistry()
    wrapper = registry.createParameterWidgetWrapper(definition, QgsProcessingGui.WidgetType.Standard)
    widget = wrapper.createWrappedWidget(QgsProcessingContext())
    assert wrapper.parameterValue() == widget.filePath() == "starter"
    widget.setFilePath("")
    assert wrapper.parameterValue() == "" and definition.checkValueIsAcceptable("")
