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
from roadseg.algorithms.cleannetwork import CleanNetwork
from roadseg.algorithms.comparenetworks import CompareNetworks
from roadseg.algorithms.compareprofiles import CompareProfiles
from roadseg.algorithms.evaluate import Evaluate
from roadseg.algorithms.exportmodel import ExportModel
from roadseg.algorithms.exportnetwork import ExportNetwork
from roadseg.algorithms.extractroads import ExtractRoads
from roadseg.algorithms.finetune import FineTune
from roadseg.algorithms.makescene import MakeScene
from roadseg.algorithms.mapregion import MapRegion
from roadseg.algorithms.mergemodels import MergeModels
from roadseg.algorithms.profile import Profile
from roadseg.algorithms.quantize import Quantize
from roadseg.algorithms.scorenetwork import ScoreNetwork
from roadseg.algorithms.segment import Segment
from roadseg.algorithms.suggestlabels import SuggestLabels
from roadseg.algorithms.vectorize import Vectorize
from roadseg.qgis_roadseg.toolbox.parameters import read_plain
from roadseg.training_core import jobs
from roadseg.training_core.errors import JobError

# Those that run a job.
ALGORITHMS = [each for each in algorithms.ALGORITHMS if hasattr(each, "job_type")]
PATHS = (jobs.MODEL, jobs.MODELS, jobs.PROFILE, jobs.FOLDER)

pytestmark = pytest.mark.usefixtures("provider")


_ALIVE = []  # an algorithm takes its parameters along


def definitions(algorithm_type):
    _ALIVE.append(algorithm_type().create())
    return {parameter.name(): parameter for parameter in _ALIVE[-1].parameterDefinitions()}


@pytest.mark.parametrize("algorithm_type", ALGORITHMS)
def test_the_parameters_say_what_the_job_says(algorithm_type):
    parameters = definitions(algorithm_type)
    for field in algorithm_type.job_type.option_fields():
        if field.name not in algorithm_type.omitted:
            name = algorithm_type.renamed.get(field.name, field.name.upper())
            assert_says_the_same(parameters[name], field)


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


@pytest.mark.parametrize("algorithm_type", ALGORITHMS)
def test_what_is_left_alone_has_the_jobs_default(algorithm_type):
    context = QgsProcessingContext()
    found = definitions(algorithm_type)
    for values in ({}, dict.fromkeys(found)):  # as from a script, and as from a dialog
        for field in algorithm_type.job_type.option_fields():
            name = algorithm_type.renamed.get(field.name, field.name.upper())
            if name in found and field.option.kind in (*PATHS, jobs.FIELD, jobs.BANDS, jobs.NUMBERS, ""):
                assert (
                    read_plain(field, found[name], {} if field.option.kind == "" else values, context) == field.default
                )


@pytest.mark.parametrize(
    ("algorithm_type", "types"),
    [
        (FineTune, {"INPUT": "multilayer", "ROADS": "source", "AOI": "source", "BASE_MODEL": "file",
                    "WIDTH_FIELD": "field", "MODEL": "fileDestination", "REPORT": "fileDestination",
                    "RESUME": "boolean", "KEEP_BEST": "boolean"}),
        (Evaluate, {"INPUT": "multilayer", "ROADS": "source", "AOI": "source", "MODEL": "file", "TOLERANCE_M": "number",
                    "REPORT": "fileDestination", "SCORES": "fileDestination"}),
        (SuggestLabels, {"INPUT": "raster", "LABELED": "source", "COUNT": "number", "PATCH_M": "number",
                         "SPREAD": "number", "OUTPUT": "sink"}),
        (ExportModel, {"INPUT": "file", "OUTPUT": "fileDestination", "TILE_PX": "number"}),
        (Quantize, {"INPUT": "multilayer", "MODEL": "file", "ROADS": "source", "AOI": "source", "WIDTH_FIELD": "field",
                    "OUTPUT": "fileDestination"}),
        (MergeModels, {"INPUT": "multilayer", "WEIGHTS": "string", "RASTERS": "multilayer",
                       "OUTPUT": "fileDestination"}),
        (Segment, {"INPUT": "layer", "MODEL": "file", "MASK": "rasterDestination",
                   "PROBABILITY": "rasterDestination", "CLASSES": "rasterDestination"}),
        (Vectorize, {"INPUT": "raster", "CLASSES": "raster", "OUTPUT": "sink", "NODES": "sink"}),
        (ExtractRoads, {"INPUT": "layer", "MODEL": "file", "OUTPUT": "sink", "MASK": "rasterDestination",
                        "CLASSES": "rasterDestination"}),
        (CleanNetwork, {"INPUT": "source", "BRIDGE_FIELD": "field", "OUTPUT": "sink", "NODES": "sink"}),
        (ScoreNetwork, {"INPUT": "source", "TRUTH": "source", "AOI": "source", "TRUTH_BRIDGE_FIELD": "field",
                        "PROPOSAL_SPEED_FIELD": "field", "SPEED_UNIT": "enum", "SNAP_M": "number", "OUTPUT": "sink",
                        "REPORT": "fileDestination", "SCORES": "fileDestination"}),
        (ExportNetwork, {"INPUT": "source", "BRIDGE_FIELD": "field", "ONEWAY_FIELD": "field", "CLASS_FIELD": "field",
                         "SPEED_FIELD": "field", "SPEED_UNIT": "enum", "KEEP": "enum", "GRAPHML": "fileDestination",
                         "GEOPACKAGE": "fileDestination"}),
        (CompareNetworks, {"INPUT": "source", "BEFORE": "source", "AOI": "source", "PLACES": "source",
                           "ORIGINS": "source", "DAMAGE": "source", "PLACES_NAME_FIELD": "field", "ALIGN": "boolean",
                           "ROUTES_ON": "enum", "OUTPUT": "sink", "REACHED": "sink", "REPORT": "fileDestination",
                           "NUMBERS": "fileDestination"}),
        (CompareProfiles, {"INPUT": "file", "BEFORE": "file", "REPORT": "fileDestination",
                           "DIFFERENCES": "fileDestination"}),
    ],
)  # fmt: skip
def test_the_types(algorithm_type, types):
    found = definitions(algorithm_type)
    assert {name: found[name].type() for name in types} == types
    assert next(iter(found)) == "INPUT"
    assert not found["INPUT"].flags() & QgsProcessingParameterDefinition.Flag.FlagOptional


def test_a_scene_is_made_of_nothing_but_numbers_and_choices():
    types = {name: parameter.type() for name, parameter in definitions(MakeScene).items()}
    outputs = {"RASTER": "rasterDestination", "OUTPUT": "sink"}
    numbers = dict.fromkeys(("SIZE_PX", "SEED", "RESOLUTION_M"), "number")
    choices = dict.fromkeys(("LAYOUT", "REGION", "BANDS", "BIT_DEPTH"), "enum")
    assert types == {**outputs, **numbers, **choices}


def test_a_profile_needs_nothing_but_may_be_of_an_image_and_a_model():
    found = definitions(Profile)
    types = {name: found[name].type() for name in ("INPUT", "MODEL", "WHAT", "SECONDS", "REPORT", "PROFILE", "TRACE")}
    outputs = dict.fromkeys(("REPORT", "PROFILE", "TRACE"), "fileDestination")
    assert types == {"INPUT": "raster", "MODEL": "file", "WHAT": "enum", "SECONDS": "number", **outputs}
    assert next(iter(found)) == "INPUT"
    optional = QgsProcessingParameterDefinition.Flag.FlagOptional
    assert all(each.flags() & optional or each.defaultValue() not in (None, "") for each in found.values())


def test_a_region_needs_a_folder_and_takes_scenes_as_layers_or_by_a_source():
    found, optional = definitions(MapRegion), QgsProcessingParameterDefinition.Flag.FlagOptional
    types = {"INPUT": "multilayer", "SOURCE": "string", "MODEL": "file", "AOI": "source", "FOLDER": "file",
             "OUTPUT": "sink", "SCHEDULER": "string", "WORKERS": "number", "BLOCK_PX": "number"}  # fmt: skip
    assert {name: found[name].type() for name in types} == types
    assert next(iter(found)) == "INPUT"
    assert all(found[name].flags() & optional for name in ("INPUT", "SOURCE", "AOI", "SCHEDULER"))
    assert not any(found[name].flags() & optional for name in ("FOLDER", "MODEL", "OUTPUT"))
    assert found["FOLDER"].behavior() == QgsProcessingParameterFile.Behavior.Folder
    assert found["OUTPUT"].dataType() == QgsProcessing.SourceType.TypeVectorLine


def test_geometries_and_parents():
    finetune = definitions(FineTune)
    source = QgsProcessing.SourceType
    assert finetune["ROADS"].dataTypes() == [source.TypeVectorLine, source.TypeVectorPolygon]
    assert finetune["AOI"].dataTypes() == [source.TypeVectorPolygon]
    assert finetune["WIDTH_FIELD"].parentLayerParameterName() == "ROADS"
    suggest = definitions(SuggestLabels)
    assert suggest["LABELED"].dataTypes() == [source.TypeVectorPolygon]
    assert suggest["OUTPUT"].dataType() == source.TypeVectorPolygon
    clean = definitions(CleanNetwork)
    assert clean["INPUT"].dataTypes() == [source.TypeVectorLine]
    assert clean["BRIDGE_FIELD"].parentLayerParameterName() == "INPUT"
    export = definitions(ExportNetwork)
    fields = ("BRIDGE_FIELD", "ONEWAY_FIELD", "CLASS_FIELD", "SPEED_FIELD")
    assert {export[name].parentLayerParameterName() for name in fields} == {"INPUT"}
    vectorize = definitions(Vectorize)
    assert vectorize["OUTPUT"].dataType() == source.TypeVectorLine
    assert vectorize["NODES"].dataType() == source.TypeVectorPoint
    score = definitions(ScoreNetwork)
    assert score["INPUT"].dataTypes() == score["TRUTH"].dataTypes() == [source.TypeVectorLine]
    assert score["OUTPUT"].dataType() == source.TypeVectorLine
    assert score["TRUTH_BRIDGE_FIELD"].parentLayerParameterName() == "TRUTH"
    assert score["PROPOSAL_SPEED_FIELD"].parentLayerParameterName() == "INPUT"
    compare = definitions(CompareNetworks)
    assert compare["INPUT"].dataTypes() == compare["BEFORE"].dataTypes() == [source.TypeVectorLine]
    assert compare["PLACES"].dataTypes() == compare["ORIGINS"].dataTypes() == [source.TypeVectorPoint]
    assert compare["DAMAGE"].dataTypes() == [source.TypeVectorPolygon]
    assert (compare["OUTPUT"].dataType(), compare["REACHED"].dataType()) == (
        source.TypeVectorLine,
        source.TypeVectorPoint,
    )
    assert compare["AFTER_SPEED_FIELD"].parentLayerParameterName() == "INPUT"
    assert compare["ORIGINS_NAME_FIELD"].parentLayerParameterName() == "ORIGINS"


def test_what_is_written_where_nothing_is_said():
    def created(algorithm_type):
        found = definitions(algorithm_type).values()
        return {parameter.name() for parameter in found if parameter.isDestination() and parameter.createByDefault()}

    assert created(FineTune) == {"MODEL", "REPORT"}
    assert created(Evaluate) == {"REPORT"}
    assert created(SuggestLabels) == {"OUTPUT"}
    assert created(ExportModel) == {"OUTPUT"}
    assert created(Quantize) == created(MergeModels) == {"OUTPUT"}
    assert created(MakeScene) == {"RASTER", "OUTPUT"}
    assert created(Segment) == {"MASK"}
    assert created(Vectorize) == {"OUTPUT"}
    assert created(ExtractRoads) == {"OUTPUT"}
    assert created(MapRegion) == {"OUTPUT"}
    assert created(CleanNetwork) == {"OUTPUT"}
    assert created(ScoreNetwork) == {"OUTPUT", "REPORT"}
    assert created(ExportNetwork) == {"GRAPHML"}
    assert created(CompareNetworks) == {"OUTPUT", "REPORT"}
    assert created(Profile) == created(CompareProfiles) == {"REPORT"}


def test_a_folder_is_handed_on_by_its_whole_path():
    folder = definitions(MapRegion)["FOLDER"]
    assert folder.behavior() == QgsProcessingParameterFile.Behavior.Folder
    field = next(field for field in jobs.MapRegion.option_fields() if field.name == "folder")
    assert read_plain(field, folder, {"FOLDER": "masks"}, QgsProcessingContext()) == os.path.abspath("masks")


def test_files_are_named_for_what_is_in_them():
    found = definitions(Evaluate)
    assert found["REPORT"].defaultFileExtension() == "html"
    assert found["SCORES"].defaultFileExtension() == "json"
    assert definitions(FineTune)["MODEL"].defaultFileExtension() == "safetensors"
    assert definitions(ExportModel)["OUTPUT"].defaultFileExtension() == "onnx"
    assert definitions(ExportNetwork)["GRAPHML"].defaultFileExtension() == "graphml"
    assert definitions(ExportNetwork)["GEOPACKAGE"].defaultFileExtension() == "gpkg"


def test_models_to_merge_are_files_and_their_weights_are_numbers():
    found, context = definitions(MergeModels), QgsProcessingContext()
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
    for algorithm_type in (Segment, ExtractRoads, Evaluate):
        assert "*.safetensors *.onnx" in definitions(algorithm_type)["MODEL"].fileFilter()


def test_a_profile_may_have_any_name():
    for name in ("INPUT", "BEFORE"):
        parameter = definitions(CompareProfiles)[name]
        assert parameter.fileFilter().startswith("JSON file (*.json)")
        assert parameter.checkValueIsAcceptable("before the change.txt")


def test_the_engines_are_those_that_can_do_the_job():
    assert definitions(FineTune)["ENGINE"].options() == ["auto", "native", "ipex"]
    assert definitions(Segment)["ENGINE"].options() == ["auto", "native", "ipex", "openvino"]
    assert definitions(Profile)["ENGINE"].options() == ["auto", "native", "ipex", "openvino", "all"]


@pytest.mark.parametrize("algorithm_type", ALGORITHMS)
def test_no_output_bears_the_name_of_a_parameter_that_is_something_else(algorithm_type):
    algorithm = algorithm_type().create()
    _ALIVE.append(algorithm)
    inputs = {parameter.name() for parameter in algorithm.parameterDefinitions() if not parameter.isDestination()}
    clashes = {output.name() for output in algorithm.outputDefinitions()} & inputs
    assert clashes <= {"ENGINE", "PRECISION", "STEPS"}  # what was asked for, and what it came to
    assert algorithm_type is not Evaluate or "PRECISION" not in clashes


def test_several_images_are_for_the_command_line():
    assert not {"RASTERS", "FOLDER"} & set(definitions(Segment))


@pytest.mark.parametrize(("text", "bands"), [("", ()), ("3", (3,)), ("3,2, 1", (3, 2, 1)), ("4 1", (4, 1))])
def test_bands(text, bands):
    field = next(field for field in jobs.FineTune.option_fields() if field.name == "bands")
    assert read_plain(field, definitions(FineTune)["BANDS"], {"BANDS": text}, QgsProcessingContext()) == bands


def test_bands_that_are_none():
    field = next(field for field in jobs.FineTune.option_fields() if field.name == "bands")
    with pytest.raises(JobError, match=r"Bands \(bands\) is 'red'"):
        read_plain(field, definitions(FineTune)["BANDS"], {"BANDS": "red"}, QgsProcessingContext())
