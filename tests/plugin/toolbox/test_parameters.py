import os

import pytest
from qgis.core import (
    QgsProcessing,
    QgsProcessingContext,
    QgsProcessingParameterDefinition,
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


def test_paths_are_whole_and_numbers_are_typed_as_text():
    field = next(field for field in jobs.MapRegion.option_fields() if field.name == "folder")
    context = QgsProcessingContext()
    folder = definitions("mapregion")["FOLDER"]
    assert read_plain(field, folder, {"FOLDER": "masks"}, context) == os.path.abspath("masks")
    found = definitions("mergemodels")
    assert found["INPUT"].layerType() == QgsProcessing.SourceType.TypeFile
    assert found["RASTERS"].layerType() == QgsProcessing.SourceType.TypeRaster
    fields = {field.name: field for field in jobs.MergeModels.option_fields()}
    values = {"INPUT": ["west.safetensors", "/east.safetensors"], "WEIGHTS": "2, 0.5 1"}
    models = read_plain(fields["models"], found["INPUT"], values, context)
    assert models == (os.path.abspath("west.safetensors"), "/east.safetensors")
    assert read_plain(fields["weights"], found["WEIGHTS"], values, context) == (2.0, 0.5, 1.0)
    with pytest.raises(JobError, match=r"\(weights\) cannot be 'half'.*Give numbers"):
        read_plain(fields["weights"], found["WEIGHTS"], {"WEIGHTS": "half"}, context)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_output_bears_the_name_of_a_parameter_that_is_something_else(algorithm):
    inputs = {name for name, parameter in definitions(algorithm).items() if not parameter.isDestination()}
    clashes = {output.name() for output in _ALIVE[-1].outputDefinitions()} & inputs
    assert clashes <= {"ENGINE", "PRECISION", "STEPS"}  # what was asked for, and what it came to
    assert algorithm != "evaluate" or "PRECISION" not in clashes
