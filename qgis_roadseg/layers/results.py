"""Results: layers that the worker has written, copied to Processing's sinks, all or none.

Scope: fields, features, and whether a format can hold them. Independent of what the results mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from qgis.core import (
    Qgis,
    QgsCoordinateReferenceSystem,
    QgsFeature,
    QgsFeatureRequest,
    QgsFeatureSink,
    QgsField,
    QgsFields,
    QgsGeometry,
    QgsMemoryProviderUtils,
    QgsProcessing,
    QgsProcessingAlgorithm,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingFeedback,
    QgsProcessingOutputLayerDefinition,
    QgsProcessingUtils,
    QgsProperty,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QMetaType

from ...training_core.errors import Cancelled, OutputError, WorkerError
from ...training_core.jobs.fields import describe_renamed
from ..translation import tr
from .destinations import Destination, destination_of
from .drafts import Draft, draft_of
from .exchange import renamed_fields, restored
from .places import OGR

# A feature of each type of sink, like those of results, to try a format with.
_SAMPLES = {
    QgsProcessing.SourceType.TypeVectorPoint: (Qgis.WkbType.Point, "Point (1 1)"),
    QgsProcessing.SourceType.TypeVectorLine: (Qgis.WkbType.LineString, "LineString (1 1, 2 2)"),
    QgsProcessing.SourceType.TypeVectorPolygon: (Qgis.WkbType.Polygon, "Polygon ((1 1, 2 1, 2 2, 1 1))"),
}
_ANOTHER = "Choose another destination, or close the program that uses it."
_MAKE_ROOM = "Make room, or choose another folder."
_SAMPLE_FIELDS = {
    "name": QMetaType.Type.QString,
    "length_m": QMetaType.Type.Double,
    "count": QMetaType.Type.LongLong,
    "sure": QMetaType.Type.Bool,
}


def open_result(path: Path) -> QgsVectorLayer:
    """Open a layer that the worker has written; raise WorkerError if it did not write the layer."""
    layer = QgsVectorLayer(str(path), path.stem, OGR)
    if not layer.isValid():
        raise WorkerError(f"The worker reported the layer {path.stem} but did not write it.")
    return layer


def result_fields(layer: QgsVectorLayer) -> QgsFields:
    """Return a layer's fields without the primary key that its file format has added."""
    fields = QgsFields(layer.fields())
    for index in sorted(layer.primaryKeyAttributes(), reverse=True):
        fields.remove(index)
    return fields


def sink_destination(value: Any, context: QgsProcessingContext) -> Destination:
    """Return the destination that is the value of an output parameter; a temporary one if none is given."""
    if isinstance(value, QgsProcessingOutputLayerDefinition):
        value = value.sink
    if isinstance(value, QgsProperty):
        value = value.valueAsString(context.expressionContext(), "")[0]
    return destination_of(value if isinstance(value, str) else "")


def fill_sinks(
    algorithm: QgsProcessingAlgorithm,
    layers: Mapping[str, QgsVectorLayer],
    parameters: dict[str, Any],
    context: QgsProcessingContext,
    feedback: QgsProcessingFeedback,
) -> dict[str, str]:
    """Copy layers to the sinks of an algorithm, by parameter, and return the names of the layers there.

    All destinations hold their whole results or, where one cannot be written, are as they were before. A warning names
    the fields that a format has renamed. Raises OutputError if a sink cannot be made or written. Raises Cancelled if
    the user stopped it.
    """
    with ExitStack() as stack, ExitStack() as undo:
        drafts = {name: stack.enter_context(_draft_of(parameters[name], context)) for name in layers}
        written = {
            name: _fill(algorithm, name, layer, drafts[name], parameters, context, feedback.isCanceled)
            for name, layer in layers.items()
        }
        placed = {name: draft.put_in_place(undo, written[name]) for name, draft in drafts.items()}
        undo.pop_all()  # nothing is to be undone any more
        for draft in drafts.values():
            draft.finish()
    for name, layer_name in placed.items():
        if not (drafts[name].destination.is_temporary or _appends(parameters[name])):
            _tell_of_renamed(layers[name], layer_name, feedback)
        if layer_name != written[name]:
            _load_on_completion(algorithm, name, layer_name, parameters[name], context)
    return placed


def try_sink(
    algorithm: QgsProcessingAlgorithm, name: str, parameters: dict[str, Any], context: QgsProcessingContext
) -> None:
    """Write a feature before the work, and read it back; raise OutputError if the destination cannot hold it."""
    value, kind = parameters.get(name), algorithm.parameterDefinition(name).dataType()
    destination = sink_destination(value, context)
    if destination.is_temporary or destination.provider == OGR or _appends(value):
        return
    with _draft_of(value, context) as draft:
        try:
            written = _fill(algorithm, name, _sample(*_SAMPLES[kind]), draft, parameters, context, lambda: False)
        except OutputError as error:
            raise _unfit(destination, error.message) from error
        if destination.path and not QgsVectorLayer(written, name, OGR).isSpatial():
            raise _unfit(destination, "It would lose their geometry.")


def _unfit(destination: Destination, reason: str) -> OutputError:
    return OutputError(f"{destination.text} cannot hold the results. {reason}", "Choose a GeoPackage (.gpkg).")


def _sample(kind: Qgis.WkbType, shape: str) -> QgsVectorLayer:
    fields = QgsFields()
    for name, field_type in _SAMPLE_FIELDS.items():
        fields.append(QgsField(name, field_type))
    system = QgsCoordinateReferenceSystem("EPSG:4326")
    layer = QgsMemoryProviderUtils.createMemoryLayer("sample", fields, kind, system)
    feature = QgsFeature(fields)
    feature.setGeometry(QgsGeometry.fromWkt(shape))
    feature.setAttributes(["a", 1.5, 1, True])
    layer.dataProvider().addFeature(feature)
    return layer


def _draft_of(value: Any, context: QgsProcessingContext) -> Draft:
    return draft_of(sink_destination(value, context), _appends(value))


def _appends(value: Any) -> bool:
    """Whether features are appended to a layer that is there, which only scripts can ask for."""
    return isinstance(value, QgsProcessingOutputLayerDefinition) and value.useRemapping()


def _fill(
    algorithm: QgsProcessingAlgorithm,
    name: str,
    layer: QgsVectorLayer,
    draft: Draft,
    parameters: dict[str, Any],
    context: QgsProcessingContext,
    is_cancelled: Callable[[], bool],
) -> str:
    """Copy a layer to a draft of its sink, and return the name of the draft's layer."""
    names, appends = result_fields(layer).names(), _appends(parameters[name])
    fields = _stored_fields(layer, draft.destination, parameters[name])
    former_count = _count(draft.text) if appends and draft.is_apart else 0
    values = {**parameters, name: _draft_value(parameters[name], draft)}
    context.expressionContext().setFields(fields)  # by which QGIS maps them where it appends to a table
    try:
        crs = restored(layer.sourceCrs())
        sink, written = algorithm.parameterAsSink(values, name, context, fields, layer.wkbType(), crs)
    except QgsProcessingException as error:
        message = str(error).replace(draft.text, draft.destination.text)
        raise OutputError(message, _ANOTHER) from error
    if sink is None:
        raise OutputError(algorithm.invalidSinkError(parameters, name), _ANOTHER)
    all_at_once = appends and not draft.is_apart  # what is added there stays
    is_whole = _copy(layer, names, fields, sink, all_at_once, is_cancelled)
    message = "" if is_whole else algorithm.writeFeatureError(sink, parameters, name)
    del sink  # which closes the file
    if not is_whole and is_cancelled():
        raise Cancelled("Stopped while writing the results. No layer was changed.")
    if not is_whole:
        raise OutputError(message.replace(draft.text, draft.destination.text), _MAKE_ROOM)
    if draft.is_apart and _count(written) != former_count + layer.featureCount():
        raise OutputError(f"{draft.destination.text} could not be written completely.", _MAKE_ROOM)
    return written


def _copy(
    layer: QgsVectorLayer,
    names: Sequence[str],
    fields: QgsFields,
    sink: QgsFeatureSink,
    all_at_once: bool,
    is_cancelled: Callable[[], bool],
) -> bool:
    """Copy the features of a layer, and return whether all were written; all or none where they go in at once."""
    flag, features = QgsFeatureSink.Flag.FastInsert, _copies(layer, names, fields)
    if all_at_once:
        is_whole = not is_cancelled() and sink.addFeatures(list(features), flag)
    else:
        is_whole = all(not is_cancelled() and sink.addFeature(each, flag) for each in features)
    return is_whole and sink.flushBuffer()


def _count(name: str) -> int:
    """Count the features of a layer by reading them, since not every driver of GDAL reports a full disk on closing."""
    context = QgsProcessingContext()  # which owns the layer
    layer = QgsProcessingUtils.mapLayerFromString(name, context)
    if layer is None:
        return 0
    return len([True for _ in layer.getFeatures(QgsFeatureRequest().setNoAttributes())])


def _draft_value(value: Any, draft: Draft) -> Any:
    """Return the value of a sink's parameter for its draft, which is not loaded into a project."""
    if not draft.is_apart:
        return value
    definition = QgsProcessingOutputLayerDefinition(draft.text)
    if isinstance(value, QgsProcessingOutputLayerDefinition):
        definition.createOptions = value.createOptions
        if value.useRemapping():
            definition.setRemappingDefinition(value.remappingDefinition())
    return definition


def _load_on_completion(
    algorithm: QgsProcessingAlgorithm, name: str, layer: str, value: Any, context: QgsProcessingContext
) -> None:
    """Have a layer that has been put in place loaded, where its parameter's value says so."""
    if isinstance(value, QgsProcessingOutputLayerDefinition) and value.destinationProject is not None:
        title = value.destinationName or algorithm.parameterDefinition(name).description()
        hint = QgsProcessingUtils.LayerHint.Vector
        details = QgsProcessingContext.LayerDetails(title, value.destinationProject, name, hint)
        context.addLayerToLoadOnCompletion(layer, details)


def _stored_fields(layer: QgsVectorLayer, destination: Destination, value: Any) -> QgsFields:
    """Return the fields of a result with the names that its destination keeps; an append has names for its own."""
    fields = result_fields(layer)
    return fields if _appends(value) else renamed_fields(fields, destination.stored_names(fields.names()).values())


def _tell_of_renamed(layer: QgsVectorLayer, name: str, feedback: QgsProcessingFeedback) -> None:
    """Tell which fields of a result have another name in the layer of a name, also by the format's own rules."""
    context = QgsProcessingContext()  # which owns the layer
    there = QgsProcessingUtils.mapLayerFromString(name, context)
    names = result_fields(layer).names()
    kept = names if there is None else result_fields(there).names()
    # Some formats, such as KML, have fields of their own, and leave out those of which they do not know the type.
    by_order = dict(zip(names, kept)) if len(names) == len(kept) else {}
    stored = {field: field if field in kept else by_order.get(field, "-") for field in names}
    if describe_renamed(stored):
        message = tr("Fields were renamed in {layer}: {renamed}")
        feedback.pushWarning(message.format(layer=name, renamed=describe_renamed(stored)))


def _copies(layer: QgsVectorLayer, names: Sequence[str], fields: QgsFields) -> Iterator[QgsFeature]:
    for feature in layer.getFeatures():
        copied = QgsFeature(fields)
        copied.setGeometry(feature.geometry())
        copied.setAttributes([feature[name] for name in names])
        yield copied
