"""What a person of QGIS may expect of every algorithm: ids, words, helps, order and units."""

import configparser
import re

from qgis.core import (
    QgsProcessingAlgorithm,
    QgsProcessingContext,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterField,
    QgsProject,
    QgsVectorLayer,
)
from qgis.gui import QgsGui, QgsProcessingContextGenerator, QgsProcessingGui
from roadseg.algorithms import ALGORITHMS
from roadseg.qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from roadseg.training_core import jobs

from ..conftest import ROOT
from ..support.declared import good_values, make_container

# Ids stay for ever, since models and scripts of other people hold them.
IDS = {
    "runtime": {"setupruntime", "profile", "compareprofiles", "reportproblem"},
    "training": {
        "createlabellayers", "finetune", "evaluate", "suggestlabels", "exportchips", "exportmodel", "quantize",
        "mergemodels", "makescene",
    },
    "roads": {"segment", "vectorize", "extractroads", "mapregion"},
    "network": {
        "cleannetwork", "scorenetwork", "sampleaccuracy", "checkaccuracy", "exportnetwork", "comparenetworks",
        "applyreview", "roadstatus", "getosmdata",
        "makechallenge", "exportchanges",
    },
    "workflows": {"maproads", "finetuneandmap", "learnfromreview", "updateosm", "changedroads"},
}  # fmt: skip
RARE = QgsProcessingParameterDefinition.Flag.FlagAdvanced
SENTENCE = re.compile(r"[A-Z0-9].*[.]", re.DOTALL)
CAPTION = re.compile(r"[A-Z0-9].*[^.:]")


def parameters(provider):
    """Return every parameter of every algorithm, with what it is called in a failure."""
    return [
        (f"{algorithm.name()}:{parameter.name()}", parameter)
        for algorithm in provider.algorithms()
        for parameter in algorithm.parameterDefinitions()
    ]


def test_every_job_but_interactive_ones_is_an_algorithm():
    there = {algorithm.job_type.name for algorithm in ALGORITHMS if issubclass(algorithm, JobAlgorithm)}
    assert set(jobs.JOBS) - set(jobs.INTERACTIVE_JOBS) == there


def test_ids_are_those_that_they_have_always_been(provider):
    found = {group: set() for group in IDS}
    for algorithm in provider.algorithms():
        assert re.fullmatch("[a-z]+", algorithm.name())
        found[algorithm.groupId()].add(algorithm.name())
    assert found == IDS


def test_a_misspelled_parameter_is_refused_by_name(provider, model, tmp_path):
    container = make_container(tmp_path / "town.gpkg")
    for algorithm in provider.algorithms():
        values = {**good_values(algorithm, container, model, tmp_path), "TRESHOLD": 0.5}
        fine, told = algorithm.create().checkParameterValues(values, QgsProcessingContext())
        assert not fine and "There is no parameter TRESHOLD. Choose from " in told, algorithm.name()


def test_the_algorithms_are_there_without_a_runtime_and_hold_up_no_window(provider, no_runtime):
    for algorithm in provider.algorithms():
        able, message = algorithm.canExecute()
        assert able == (algorithm.name() in ("setupruntime", "createlabellayers", "reportproblem"))
        assert able or "Run Set up runtime" in message
        assert not algorithm.flags() & QgsProcessingAlgorithm.Flag.FlagNoThreading


def test_attribute_fields_are_those_of_a_layer_that_is_there(provider):
    for algorithm in provider.algorithms():
        for parameter in algorithm.parameterDefinitions():
            if isinstance(parameter, QgsProcessingParameterField):
                assert algorithm.parameterDefinition(parameter.parentLayerParameterName()), parameter.name()


def test_every_parameter_is_explained(provider):
    for name, parameter in parameters(provider):
        assert CAPTION.fullmatch(parameter.description()), name
        assert SENTENCE.fullmatch(parameter.help()), name
        assert parameter.help() in parameter.toolTip(), name
    for algorithm in provider.algorithms():
        for parameter in algorithm.parameterDefinitions():
            assert f"{parameter.description()}: {parameter.help()}" in algorithm.shortHelpString()


def test_help_leads_to_a_page_in_the_repository(provider):
    metadata = configparser.ConfigParser(interpolation=None)
    metadata.read(ROOT / "metadata.txt", encoding="utf-8")
    repository = metadata["general"]["repository"]
    for algorithm in provider.algorithms():
        address, _, page = algorithm.helpUrl().partition("/blob/main/")
        assert address == repository
        assert (ROOT / page).is_file() and algorithm.name() in page


def test_what_is_needed_comes_first_and_what_is_rare_and_written_last(provider):
    for algorithm in provider.algorithms():
        found = algorithm.parameterDefinitions()
        places = [(parameter.isDestination(), bool(parameter.flags() & RARE)) for parameter in found]
        assert places == sorted(places), algorithm.name()
        if algorithm.name() not in ("setupruntime", "makescene", "reportproblem"):  # which take no layer
            assert found[0].name() == "INPUT", algorithm.name()
        assert sum(not rare and not written for written, rare in places) <= 20, algorithm.name()


def test_meters_are_meters_on_layers_in_degrees_too(provider):
    for name, parameter in parameters(provider):
        # A parameter for distances takes the unit of its layer, which may be degrees.
        assert parameter.type() != "distance", name
        if parameter.name().endswith("_M"):
            assert parameter.type() == "number" and parameter.description().endswith(" (m)"), name


class Project(QgsProcessingContextGenerator):
    """The context that a dialog has: the project's layers."""

    def __init__(self):
        super().__init__()
        self.context = QgsProcessingContext()
        self.context.setProject(QgsProject.instance())

    def processingContext(self):  # noqa: N802
        return self.context


def test_a_dialog_begins_with_the_field_that_a_layer_usually_has(provider):
    line = "LineString?crs=EPSG:4326&field=name:string"
    layers = [QgsVectorLayer(f"{line}&field=width_m:double", "wide", "memory"), QgsVectorLayer(line, "plain", "memory")]
    QgsProject.instance().addMapLayers(layers)
    project, registry = Project(), QgsGui.processingGuiRegistry()
    algorithm = provider.algorithm("finetune")
    definitions = [algorithm.parameterDefinition(name) for name in ("ROADS", "WIDTH_FIELD")]
    of_layer, of_field = wrappers = [
        registry.createParameterWidgetWrapper(definition, QgsProcessingGui.WidgetType.Standard)
        for definition in definitions
    ]
    for wrapper in wrappers:
        wrapper.registerProcessingContextGenerator(project)
    widgets = [wrapper.createWrappedWidget(project.context) for wrapper in wrappers]
    chosen = []
    for layer in layers:
        of_layer.setWidgetValue(layer.id(), project.context)
        of_field.setParentLayerWrapperValue(of_layer)
        chosen.append(of_field.parameterValue() or "")
    assert chosen == ["width_m", ""]
    assert algorithm.parameterDefinition("WIDTH_FIELD").defaultValue() is None  # for scripts, none is chosen
    assert all(widgets)
    QgsProject.instance().clear()
