"""Checks of outputs before the work: whether they can be written, and no input or other output is overwritten.

Scope: Processing's declarations, so that no algorithm can forget an input or output. Independent of jobs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from qgis.core import (
    Qgis,
    QgsMapLayer,
    QgsProcessingAlgorithm,
    QgsProcessingContext,
    QgsProcessingFeatureSourceDefinition,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterFeatureSink,
    QgsProcessingParameterFeatureSource,
    QgsProcessingParameterFile,
    QgsProcessingUtils,
    QgsProperty,
    QgsProviderRegistry,
)

from ...training_core.errors import OutputError
from ..layers.destinations import GEOPACKAGE, Destination, check_destination
from ..layers.places import Place, places_of_layer, places_of_text
from ..layers.results import sink_destination, try_sink


def check_outputs(algorithm: QgsProcessingAlgorithm, parameters: dict[str, Any], context: QgsProcessingContext) -> None:
    """Check that layers can be written where they are wanted, and that no output touches an input or another output.

    Raises OutputError if a destination cannot be written to, is an input, or is that of two outputs, or its format
    cannot hold results.
    """
    kept = _outputs(algorithm, parameters, context)
    sinks = {each.name(): to for each, to in kept if isinstance(each, QgsProcessingParameterFeatureSink)}
    for destination in sinks.values():
        check_destination(destination)
    for (first, one), (second, other) in combinations(kept, 2):
        if one.place().overlaps(other.place()):
            both = " and ".join(f"{each.description()} ({each.name()})" for each in (first, second))
            raise OutputError(f"{both} are the same file, {other.text}.", "Give each a file of its own.")
    there = [destination for _, destination in kept if destination.exists()]
    inputs = list(_input_places(algorithm, parameters, context)) if there else []
    for destination in there:
        place = destination.place()
        if any(place.overlaps(each) for each in inputs):
            raise OutputError(
                f"{destination.text} is an input of this job and would be overwritten.", "Choose another name."
            )
    for name in sinks:
        try_sink(algorithm, name, parameters, context)


def _outputs(
    algorithm: QgsProcessingAlgorithm, parameters: dict[str, Any], context: QgsProcessingContext
) -> list[tuple[QgsProcessingParameterDefinition, Destination]]:
    """Return the destinations that are wanted and kept, with their parameters."""
    found = []
    for definition in algorithm.destinationParameterDefinitions():
        destination = sink_destination(parameters.get(definition.name()), context)
        if destination.is_temporary:
            continue
        if not isinstance(definition, QgsProcessingParameterFeatureSink):  # a file of the very name
            destination = Destination(destination.text, os.path.abspath(destination.text))
        found.append((definition, destination))
    return found


def _input_places(
    algorithm: QgsProcessingAlgorithm, parameters: dict[str, Any], context: QgsProcessingContext
) -> Iterator[Place]:
    """Yield where the inputs are: those of layers, and of all texts, which may be paths."""
    for definition in algorithm.parameterDefinitions():
        if definition.isDestination() or _is_work_folder(definition):
            continue
        for value in _flat(parameters.get(definition.name()), context):
            layer = value
            if isinstance(value, str):
                layer = QgsProcessingUtils.mapLayerFromString(value, context, False)
            yield from places_of_text(value) if layer is None else places_of_layer(layer)
            folder = value if isinstance(value, str) else layer.source()
            folder = folder.partition("|")[0]
            if os.path.isdir(folder):
                is_layer = isinstance(definition, QgsProcessingParameterFeatureSource)
                for file in _files_in(folder) if is_layer else _containers_in(folder):
                    yield from places_of_text(file)


def _is_work_folder(definition: QgsProcessingParameterDefinition) -> bool:
    """Whether a parameter is a folder that a job keeps its files in."""
    folder = QgsProcessingParameterFile.Behavior.Folder
    return isinstance(definition, QgsProcessingParameterFile) and definition.behavior() == folder


def _flat(value: Any, context: QgsProcessingContext) -> Iterator[Any]:
    """Yield the layers and texts that a parameter's value holds."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _flat(each, context)
    elif isinstance(value, QgsProcessingFeatureSourceDefinition):
        yield from _flat(value.source, context)
    elif isinstance(value, QgsProperty):
        yield value.valueAsString(context.expressionContext(), "")[0]
    elif isinstance(value, (str, QgsMapLayer)):
        yield value


def _files_in(folder: str) -> Iterator[str]:
    yield from (entry.path for entry in os.scandir(folder) if entry.is_file())


def _containers_in(folder: str) -> Iterator[str]:
    """Yield the files of a folder of images that can hold layers besides images, so that a layer may replace them."""
    registry = QgsProviderRegistry.instance()
    for path in (entry.path for entry in os.scandir(folder) if entry.name.lower().endswith(GEOPACKAGE)):
        if any(each.type() == Qgis.LayerType.Raster for each in registry.querySublayers(path)):
            yield path
