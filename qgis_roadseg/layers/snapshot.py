"""Snapshots of vector layers: a run reads a layer as it was when the run began, despite later changes.

Scope: Processing's feature sources, layers that are edited, filtered or removed. Independent of the features.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Optional

from qgis.core import (
    Qgis,
    QgsCoordinateReferenceSystem,
    QgsFeature,
    QgsFeatureIterator,
    QgsFeatureRequest,
    QgsFeatureSource,
    QgsFields,
    QgsProcessingAlgorithm,
    QgsProcessingContext,
    QgsProcessingFeatureSource,
    QgsProcessingFeatureSourceDefinition,
    QgsVectorLayer,
    QgsVectorLayerFeatureSource,
    QgsVectorLayerSelectedFeatureSource,
)

from ...training_core.errors import LayerError


class LayerSnapshot(QgsFeatureSource):
    """A layer's features as they are now, unsaved edits included; may be read in any thread, and without the layer."""

    def __init__(self, layer: QgsVectorLayer, selected_only: bool) -> None:
        super().__init__()
        kind = QgsVectorLayerSelectedFeatureSource if selected_only else QgsVectorLayerFeatureSource
        self._features = kind(layer)
        self._count = layer.selectedFeatureCount() if selected_only else layer.featureCount()
        self._name, self._crs, self._fields, self._type = layer.name(), layer.crs(), layer.fields(), layer.wkbType()
        self._invalid: list[int] = []
        self._note = lambda feature: self._invalid.append(feature.id())  # QGIS keeps its address alone

    def getFeatures(self, request: Optional[QgsFeatureRequest] = None) -> QgsFeatureIterator:
        """Return an iterator over the features, which ends at an invalid geometry where the request says so."""
        request = QgsFeatureRequest() if request is None else QgsFeatureRequest(request)
        if request.invalidGeometryCheck() == QgsFeatureRequest.InvalidGeometryCheck.GeometryAbortOnInvalid:
            request.setInvalidGeometryCallback(self._note)
        return self._features.getFeatures(request)

    def check_geometries(self) -> None:
        """Raise LayerError if an iterator ended at an invalid geometry."""
        if self._invalid:
            raise LayerError(
                f"The feature {self._invalid[0]} of the layer {self._name} has an invalid geometry.",
                "Repair it (Fix geometries in the toolbox), or change Invalid features filtering for this input or in "
                "the settings of Processing.",
            )

    def sourceName(self) -> str:
        return self._name

    def sourceCrs(self) -> QgsCoordinateReferenceSystem:
        return self._crs

    def fields(self) -> QgsFields:
        return self._fields

    def wkbType(self) -> Qgis.WkbType:
        return self._type

    def featureCount(self) -> int:
        """Return the number of features; negative where it is unknown."""
        return self._count


class ParameterSnapshot(QgsProcessingFeatureSource):
    """The snapshot of a parameter's layer, with Processing's filters and checks of geometries."""

    def __init__(
        self, snapshot: LayerSnapshot, context: QgsProcessingContext, definition: QgsProcessingFeatureSourceDefinition
    ) -> None:
        super().__init__(snapshot, context, False, definition.featureLimit, definition.filterExpression)
        self._snapshot = snapshot  # which the base class holds by its address alone
        if definition.flags & QgsProcessingFeatureSourceDefinition.Flag.FlagOverrideDefaultGeometryCheck:
            self.setInvalidGeometryCheck(definition.geometryCheck)

    def check_geometries(self) -> None:
        """See LayerSnapshot."""
        self._snapshot.check_geometries()


def read(source: QgsFeatureSource, request: QgsFeatureRequest) -> Iterator[QgsFeature]:
    """Yield a source's features.

    Where Processing is set to stop at invalid geometries, its own sources throw a C++ exception, which crashes QGIS as
    it passes through Python. Raises LayerError if a geometry is invalid, and Processing is set to stop there.
    """
    yield from source.getFeatures(request)
    if isinstance(source, ParameterSnapshot):
        source.check_geometries()


def take_source(
    algorithm: QgsProcessingAlgorithm, name: str, parameters: dict[str, Any], context: QgsProcessingContext
) -> Optional[QgsProcessingFeatureSource]:
    """Return the source that is the value of a parameter, as it is now, or None; call it in the main thread.

    The source that Processing itself returns holds the layer by its address: reading it after the user has removed the
    layer would crash QGIS. Raises LayerError if the value is no vector layer, one that cannot be read, or a table
    without geometry.
    """
    source = algorithm.parameterAsSource(parameters, name, context)
    value = parameters.get(name)
    is_defined = isinstance(value, QgsProcessingFeatureSourceDefinition)
    definition = value if is_defined else QgsProcessingFeatureSourceDefinition()
    its_layer = {name: definition.source if is_defined else value}
    layer = algorithm.parameterAsVectorLayer(its_layer, name, context)
    if source is None and value not in (None, ""):
        other = algorithm.parameterAsLayer(its_layer, name, context)
        text = definition.source.valueAsString(context.expressionContext(), "")[0] if is_defined else value
        named = text if other is None else f"The layer {other.name()}"
        raise LayerError(f"{named} is not a vector layer.", "Choose a layer of points, lines or polygons.")
    if layer is not None and not layer.isValid():
        raise LayerError(
            f"The layer {layer.name()} cannot be read.", "Check that its file exists or its database can be reached."
        )
    if source is not None and source.wkbType() == Qgis.WkbType.NoGeometry:
        raise LayerError(
            f"The layer {source.sourceName()} is a table without geometry.",
            "Choose a layer of points, lines or polygons. Add a CSV file as a layer with Layer > Add Layer > Add "
            "Delimited Text Layer.",
        )
    if source is None or layer is None:
        return source
    return ParameterSnapshot(LayerSnapshot(layer, definition.selectedFeaturesOnly), context, definition)
