import os

import pytest
from qgis.core import (
    QgsProcessing,
    QgsProcessingContext,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterFile,
    QgsProcessingParameterNumber,
)
from roadseg import algorithms
from roadseg.qgis_roadseg.toolbox.parameters import read_plain
from roadseg.training_core import jobs
from roadseg.training_core.errors import JobError

# Those that run a job.
ALGORITHMS = {each.job_type.name: each for each in algorithms.ALGORITHMS if hasattr(each, "job_type")}
PATHS = (jobs.MODEL, jobs.MODELS, jobs.PROFILE, jobs.CHALLENGE, jobs.OSM_EXTRACT, jobs.FOLDER)

pytestmark = pytest.mark.usefixtures("provider")


_ALIVE = []  # an algorithm takes its parameters along


def definitions(algorithm):
    _ALIVE.append(ALGORITHMS[algorithm]().create())
    return {parameter.name(): parameter for parameter in _ALIVE[-1].parameterDefinitions()}


def fields_and_parameters(algorithm):
    """Return the fields of an algorithm's job that it has parameters for, each with its parameter."""
    found, algorithm_type = definitions(algorithm), ALGORITHMS[algorithm]
    return [
        (field, found[algorithm_type.renamed.get(field.name, field.name.upper())])
        for field in algorithm_type.job_type.option_fields()
        if field.name not in algorithm_type.omitted
    ]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_parameters_say_what_the_job_says(algorithm):
    for field, parameter in fields_and_parameters(algorithm):
        assert_says_the_same(parameter, field)


def assert_says_the_same(parameter, field):
    option = field.option
    assert option.label in parameter.description()
    assert option.unit in parameter.description()
    assert parameter.help() == option.help
    assert bool(parameter.flags() & QgsProcessingParameterDefinition.Flag.FlagAdvanced) == option.advanced
    if option.choices:
        assert tuple(parameter.options()) == option.choices
        assert parameter.usesStaticStrings()
    if not option.kind:
        assert parameter.defaultValue() == field.default
    if isinstance(parameter, QgsProcessingParameterNumber):
        assert (option.minimum is None) or parameter.minimum() == option.minimum
        assert (option.maximum is None) or parameter.maximum() == option.maximum
        whole = parameter.dataType() == QgsProcessingParameterNumber.Type.Integer
        assert whole == (field.item_type is int)
    if option.kind and option.required:
        assert not parameter.flags() & QgsProcessingParameterDefinition.Flag.FlagOptional


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_left_alone_has_the_jobs_default(algorithm):
    context = QgsProcessingContext()
    for field, parameter in fields_and_parameters(algorithm):
        if field.option.kind in (*PATHS, jobs.FIELD, jobs.BANDS, jobs.NUMBERS, ""):
            assert read_plain(field, parameter, {}, context) == field.default  # as from a script
            if field.option.kind:  # as from a dialog
                assert read_plain(field, parameter, {parameter.name(): None}, context) == field.default


# By kind, or by the type of a field without one; docs/algorithms has them by name, which test_pages.py compares.
TYPES = {
    jobs.RASTER: ("layer", "raster"), jobs.RASTERS: "multilayer", jobs.MODELS: "multilayer",
    jobs.VECTOR: "source", jobs.FIELD: "field",
    **dict.fromkeys((jobs.MODEL, jobs.PROFILE, jobs.CHALLENGE, jobs.OSM_EXTRACT, jobs.FOLDER), "file"),
    **dict.fromkeys((jobs.BANDS, jobs.NUMBERS, str), "string"),
    jobs.RASTER_OUTPUT: "rasterDestination", jobs.VECTOR_OUTPUT: "sink", jobs.FOLDER_OUTPUT: "folderDestination",
    **dict.fromkeys(jobs.FILE_OUTPUTS, "fileDestination"),
    bool: "boolean", int: "number", float: "number",
}  # fmt: skip


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_type_of_a_parameter_is_that_of_its_kind(algorithm):
    for field, parameter in fields_and_parameters(algorithm):
        expected = "enum" if field.option.choices else TYPES[field.option.kind or field.item_type]
        assert parameter.type() in expected if isinstance(expected, tuple) else parameter.type() == expected


def test_the_input_comes_first_and_is_needed_but_where_it_can_be_done_without():
    optional = QgsProcessingParameterDefinition.Flag.FlagOptional
    for algorithm in set(ALGORITHMS) - {"makescene"}:
        found = definitions(algorithm)
        assert next(iter(found)) == "INPUT"
        assert bool(found["INPUT"].flags() & optional) == (algorithm in ("profile", "mapregion"))
    assert all(
        each.flags() & optional or each.defaultValue() not in (None, "") for each in definitions("profile").values()
    )


@pytest.mark.parametrize(
    ("algorithm", "layer", "fields"),
    [
        ("finetune", "ROADS", ["WIDTH_FIELD"]),
        ("cleannetwork", "INPUT", ["BRIDGE_FIELD"]),
        ("exportnetwork", "INPUT", ["BRIDGE_FIELD", "ONEWAY_FIELD", "CLASS_FIELD", "SPEED_FIELD"]),
        ("scorenetwork", "TRUTH", ["TRUTH_BRIDGE_FIELD"]),
        ("scorenetwork", "INPUT", ["PROPOSAL_SPEED_FIELD"]),
        ("comparenetworks", "INPUT", ["AFTER_SPEED_FIELD"]),
        ("comparenetworks", "ORIGINS", ["ORIGINS_NAME_FIELD"]),
    ],
)
def test_fields_are_those_of_their_layer(algorithm, layer, fields):
    found = definitions(algorithm)
    assert {found[name].parentLayerParameterName() for name in fields} == {layer}


def test_what_is_written_where_nothing_is_said():
    def created(algorithm):
        found = definitions(algorithm).values()
        return {parameter.name() for parameter in found if parameter.isDestination() and parameter.createByDefault()}

    expected = {
        **{name: {"OUTPUT"} for name in ALGORITHMS},
        **{name: {"REPORT"} for name in ("evaluate", "profile", "compareprofiles")},
        **{name: {"OUTPUT", "REPORT"} for name in ("scorenetwork", "comparenetworks")},
        "finetune": {"MODEL", "REPORT"},
        "makescene": {"RASTER", "OUTPUT"},
        "segment": {"MASK"},
        "exportnetwork": {"GRAPHML"},
    }
    assert {name: created(name) for name in ALGORITHMS} == expected


def test_a_folder_is_handed_on_by_its_whole_path():
    folder = definitions("mapregion")["FOLDER"]
    assert folder.behavior() == QgsProcessingParameterFile.Behavior.Folder
    field = next(field for field in jobs.MapRegion.option_fields() if field.name == "folder")
    assert read_plain(field, folder, {"FOLDER": "masks"}, QgsProcessingContext()) == os.path.abspath("masks")


def test_files_are_named_for_what_is_in_them():
    found = definitions("evaluate")
    assert found["REPORT"].defaultFileExtension() == "html"
    assert found["SCORES"].defaultFileExtension() == "json"
    assert definitions("finetune")["MODEL"].defaultFileExtension() == "safetensors"
    assert definitions("exportmodel")["OUTPUT"].defaultFileExtension() == "onnx"
    assert definitions("exportnetwork")["GRAPHML"].defaultFileExtension() == "graphml"
    assert definitions("exportnetwork")["GEOPACKAGE"].defaultFileExtension() == "gpkg"
    assert definitions("makechallenge")["OUTPUT"].defaultFileExtension() == "geojson"
    assert definitions("exportchanges")["OUTPUT"].defaultFileExtension() == "osc"


def test_models_to_merge_are_files_and_their_weights_are_numbers():
    found, context = definitions("mergemodels"), QgsProcessingContext()
    assert found["INPUT"].layerType() == QgsProcessing.SourceType.TypeFile
    assert found["RASTERS"].layerType() == QgsProcessing.SourceType.TypeRaster
    fields = {field.name: field for field in jobs.MergeModels.option_fields()}
    values = {"INPUT": ["west.safetensors", "/east.safetensors"], "WEIGHTS": "2, 0.5 1"}
    models = read_plain(fields["models"], found["INPUT"], values, context)
    assert models == (os.path.abspath("west.safetensors"), "/east.safetensors")
    assert read_plain(fields["weights"], found["WEIGHTS"], values, context) == (2.0, 0.5, 1.0)
    with pytest.raises(JobError, match=r"\(weights\) is 'half'.*Give numbers"):
        read_plain(fields["weights"], found["WEIGHTS"], {"WEIGHTS": "half"}, context)


def test_a_model_may_be_of_either_kind():
    for algorithm in ("segment", "extractroads", "evaluate"):
        assert "*.safetensors *.onnx" in definitions(algorithm)["MODEL"].fileFilter()


def test_a_profile_may_have_any_name():
    for name in ("INPUT", "BEFORE"):
        parameter = definitions("compareprofiles")[name]
        assert parameter.fileFilter().startswith("JSON file (*.json)")
        assert parameter.checkValueIsAcceptable("before the change.txt")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_output_bears_the_name_of_a_parameter_that_is_something_else(algorithm):
    inputs = {name for name, parameter in definitions(algorithm).items() if not parameter.isDestination()}
    clashes = {output.name() for output in _ALIVE[-1].outputDefinitions()} & inputs
    assert clashes <= {"ENGINE", "PRECISION", "STEPS"}  # what was asked for, and what it came to
    assert algorithm != "evaluate" or "PRECISION" not in clashes


def test_several_images_are_for_the_command_line():
    assert not {"RASTERS", "FOLDER"} & set(definitions("segment"))


@pytest.mark.parametrize(("text", "bands"), [("", ()), ("3", (3,)), ("3,2, 1", (3, 2, 1)), ("4 1", (4, 1))])
def test_bands(text, bands):
    field = next(field for field in jobs.FineTune.option_fields() if field.name == "bands")
    assert read_plain(field, definitions("finetune")["BANDS"], {"BANDS": text}, QgsProcessingContext()) == bands


def test_bands_that_are_none():
    field = next(field for field in jobs.FineTune.option_fields() if field.name == "bands")
    with pytest.raises(JobError, match=r"Bands \(bands\) is 'red'"):
        read_plain(field, definitions("finetune")["BANDS"], {"BANDS": "red"}, QgsProcessingContext())
