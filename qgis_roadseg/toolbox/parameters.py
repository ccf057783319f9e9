"""A job's fields as Processing parameters, and parameter values as options of the job.

Scope: kinds of fields and the parameter types that fit them. Independent of single jobs but the names of their fields.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from typing import Any

from qgis.core import (
    QgsProcessing,
    QgsProcessingContext,
    QgsProcessingParameterBoolean,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterEnum,
    QgsProcessingParameterFeatureSink,
    QgsProcessingParameterFeatureSource,
    QgsProcessingParameterField,
    QgsProcessingParameterFile,
    QgsProcessingParameterFileDestination,
    QgsProcessingParameterFolderDestination,
    QgsProcessingParameterMapLayer,
    QgsProcessingParameterMultipleLayers,
    QgsProcessingParameterNumber,
    QgsProcessingParameterRasterDestination,
    QgsProcessingParameterRasterLayer,
    QgsProcessingParameters,
    QgsProcessingParameterString,
)

from ...training_core import jobs
from ...training_core.errors import JobError
from ...training_core.jobs import OptionField

INPUT = "INPUT"
MODEL_FILTER = "RoadSeg model (*.safetensors)"
ANY_MODEL_FILTER = "RoadSeg model (*.safetensors *.onnx)"
ANY_FILTER = "Any file (*)"  # for another file, the worker's message says more than Processing's
JSON_FILTER = "JSON file (*.json)"
CHALLENGE_FILTER = "Line-by-line GeoJSON (*.geojson)"
OSM_FILTER = "OpenStreetMap file (*.osm *.osm.pbf)"

_Type = Callable[..., QgsProcessingParameterDefinition]

# Kinds of fields whose value is a path that Processing does not open.
_PATHS = (jobs.MODEL, jobs.MODELS, jobs.PROFILE, jobs.CHALLENGE, jobs.OSM_EXTRACT, jobs.FOLDER)
# Kinds of lists of numbers, which are typed as text.
_NUMBERS = (jobs.BANDS, jobs.NUMBERS)
# Geometry types of vector fields by name, as the job does not state them.
_POLYGON, _LINE, _POINT = (
    QgsProcessing.SourceType.TypeVectorPolygon,
    QgsProcessing.SourceType.TypeVectorLine,
    QgsProcessing.SourceType.TypeVectorPoint,
)
_SOURCE_TYPES = {
    **dict.fromkeys(("truth", "proposal", "lines", "bridges", "before", "after", "changes", "sample"), (_LINE,)),
    **dict.fromkeys(("review", "other_review", "extracted_anew"), (_LINE,)),
    **dict.fromkeys(("aoi", "threshold_areas", "labeled", "districts", "damage", "hazards"), (_POLYGON,)),
    **dict.fromkeys(("places", "origins", "sites"), (_POINT,)),
    **dict.fromkeys(("roads", "no_road"), (_LINE, _POLYGON)),
    "layer": (_LINE, _POINT),
}
_SINK_TYPES = {
    **dict.fromkeys(("roads", "links", "errors", "changes", "status", "sample", "arrows"), _LINE),
    **dict.fromkeys(("drawn", "bridges", "rails"), _LINE),
    **dict.fromkeys(("suggestions", "no_road", "aoi", "water", "runways"), _POLYGON),
    **dict.fromkeys(("nodes", "breaks", "reached"), _POINT),
}
_INPUT_FILTERS = {jobs.PROFILE: JSON_FILTER, jobs.CHALLENGE: CHALLENGE_FILTER, jobs.OSM_EXTRACT: OSM_FILTER}
_FILE_FILTERS = {
    jobs.MODEL_OUTPUT: MODEL_FILTER,
    jobs.ONNX_OUTPUT: "ONNX model (*.onnx)",
    jobs.HTML_OUTPUT: "HTML file (*.html)",
    jobs.JSON_OUTPUT: JSON_FILTER,
    jobs.GRAPHML_OUTPUT: "GraphML file (*.graphml)",
    jobs.GEOPACKAGE_OUTPUT: "GeoPackage (*.gpkg)",
    jobs.CHALLENGE_OUTPUT: CHALLENGE_FILTER,
    jobs.OSM_OUTPUT: OSM_FILTER,
    jobs.OSC_OUTPUT: "OsmChange file (*.osc)",
}


def parameter_name(field_name: str, renamed: Mapping[str, str]) -> str:
    """Return the parameter's name: the field's in capitals, unless renamed."""
    return renamed.get(field_name, field_name.upper())


def make_parameters(
    fields: Collection[OptionField],
    renamed: Mapping[str, str],
    created: Collection[str] = (),
    translate: Callable[[str], str] = str,
) -> list[QgsProcessingParameterDefinition]:
    """Return a parameter for each field, the main input first and the outputs last.

    Optional outputs are created by default if their fields are among `created`.
    """
    # The layer of attribute fields that do not name it.
    roads = "roads" if any(field.name == "roads" and field.option.kind == jobs.VECTOR for field in fields) else "lines"
    parameters = [_make_parameter(field, renamed, field.name in created, roads, translate) for field in fields]
    return sorted(parameters, key=lambda parameter: (parameter.isDestination(), parameter.name() != INPUT))


def _make_parameter(
    field: OptionField, renamed: Mapping[str, str], created: bool, roads: str, translate: Callable[[str], str]
) -> QgsProcessingParameterDefinition:
    option = field.option
    name = parameter_name(field.name, renamed)
    parameter_type, values = _made_with(field, renamed, roads)
    if option.kind:
        values["optional"] = not option.required
    parameter = parameter_type(name=name, description=translate(option.caption), **values)
    parameter.setHelp(translate(option.help))
    if option.kind in jobs.OUTPUT_KINDS:
        parameter.setCreateByDefault(option.required or created)
    if option.usual:
        parameter.setGuiDefaultValueOverride(option.usual)
    if option.advanced:
        parameter.setFlags(parameter.flags() | QgsProcessingParameterDefinition.Flag.FlagAdvanced)
    return parameter


def _plain(field: OptionField) -> tuple[_Type, dict[str, Any]]:
    """Return the type of parameter of a number or a text, and what it is made with."""
    option, own = field.option, {"defaultValue": field.default}
    if option.choices:
        return QgsProcessingParameterEnum, {**own, "options": list(option.choices), "usesStaticStrings": True}
    if field.item_type is bool:
        return QgsProcessingParameterBoolean, own
    if field.item_type is str:
        return QgsProcessingParameterString, {**own, "optional": not field.default}
    kinds, limits = QgsProcessingParameterNumber.Type, {"minValue": option.minimum, "maxValue": option.maximum}
    own["type"] = kinds.Integer if field.item_type is int else kinds.Double
    return QgsProcessingParameterNumber, {**own, **{end: limit for end, limit in limits.items() if limit is not None}}


def _layer_of(field_name: str, roads: str) -> str:
    """Return the layer field that an attribute field belongs to: the prefix of its name, or else that of the roads."""
    owner = field_name.partition("_")[0]
    return owner if owner in _SOURCE_TYPES else roads


def _made_with(field: OptionField, renamed: Mapping[str, str], roads: str) -> tuple[_Type, dict[str, Any]]:
    """Return the type of parameter that fits a field, and what it is made with beside name and label."""
    kind, source = field.option.kind, QgsProcessing.SourceType
    if not kind:
        return _plain(field)
    if kind in _FILE_FILTERS:
        return QgsProcessingParameterFileDestination, {"fileFilter": _FILE_FILTERS[kind]}
    if kind in _INPUT_FILTERS:
        return QgsProcessingParameterFile, {"fileFilter": f"{_INPUT_FILTERS[kind]};;{ANY_FILTER}"}
    if kind == jobs.VECTOR:
        return QgsProcessingParameterFeatureSource, {"types": list(_SOURCE_TYPES[field.name])}
    if kind == jobs.VECTOR_OUTPUT:
        return QgsProcessingParameterFeatureSink, {"type": _SINK_TYPES[field.name]}
    if kind == jobs.FIELD:
        parent = parameter_name(_layer_of(field.name, roads), renamed)
        return QgsProcessingParameterField, {"parentLayerParameterName": parent}
    if kind == jobs.MODEL:  # its value "starter" has no file extension, so the filter must allow any
        file_filter = f"{ANY_MODEL_FILTER};;{ANY_FILTER}"
        return QgsProcessingParameterFile, {"fileFilter": file_filter, "defaultValue": field.default or None}
    return {
        jobs.RASTER: (QgsProcessingParameterRasterLayer, {}),
        jobs.AREAS: (QgsProcessingParameterMapLayer, {"types": [_POLYGON, source.TypeRaster]}),
        jobs.RASTERS: (QgsProcessingParameterMultipleLayers, {"layerType": source.TypeRaster}),
        # A Band parameter belongs to one raster layer; with several it stays empty and is invalid.
        **dict.fromkeys(_NUMBERS, (QgsProcessingParameterString, {})),
        jobs.MODELS: (QgsProcessingParameterMultipleLayers, {"layerType": source.TypeFile}),
        # An existing folder for logs; as a destination, it would be a new one each time.
        jobs.FOLDER: (QgsProcessingParameterFile, {"behavior": QgsProcessingParameterFile.Behavior.Folder}),
        jobs.RASTER_OUTPUT: (QgsProcessingParameterRasterDestination, {}),
        jobs.FOLDER_OUTPUT: (QgsProcessingParameterFolderDestination, {}),
    }[kind]


def usual_names(field: OptionField) -> set[str]:
    """Return usual names, in lower case, of the attribute that a field chooses: width_m, width, road_width."""
    name = field.option.usual
    bare = name.removesuffix("_m")
    return {name, bare, f"road_{bare}"} if name else set()


def is_plain(field: OptionField) -> bool:
    """Return whether the field's value is a number or a text, neither a layer nor an output."""
    return field.option.kind in ("", jobs.FIELD, *_NUMBERS, *_PATHS)


def read_plain(
    field: OptionField,
    definition: QgsProcessingParameterDefinition,
    values: dict[str, Any],
    context: QgsProcessingContext,
) -> Any:
    """Return a plain field's value in the job's type; raise JobError if a list of numbers is invalid."""
    read = QgsProcessingParameters
    if field.option.choices:
        return read.parameterAsEnumString(definition, values, context)
    if field.option.kind in _NUMBERS:
        return _numbers(field, read.parameterAsString(definition, values, context))
    if field.option.kind == jobs.MODELS:
        paths = read.parameterAsFileList(definition, values.get(definition.name()), context)
        return tuple(map(os.path.abspath, filter(None, paths)))
    if field.item_type is bool:
        return read.parameterAsBoolean(definition, values, context)
    if field.item_type is int:
        return read.parameterAsInt(definition, values, context)
    if field.item_type is float:
        return read.parameterAsDouble(definition, values, context)
    text = read.parameterAsString(definition, values, context)
    is_path = field.option.kind in _PATHS and text not in ("", *jobs.STARTERS, jobs.IMAGENET)
    return os.path.abspath(text) if is_path else text


def _numbers(field: OptionField, text: str) -> tuple[int, ...]:
    try:
        return tuple(map(field.item_type, text.replace(",", " ").split()))
    except ValueError:
        kind = "whole numbers" if field.item_type is int else "numbers"
        raise JobError(
            f"{field.option.label} ({field.name}) cannot be {text!r}.", f"Give {kind}, such as 1, 2, 3."
        ) from None
