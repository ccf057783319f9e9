"""Image parameters of algorithms: raster and mesh layers, and an extent on them.

Scope: Processing's parameters and their values. Independent of the layers' pixels.
"""

from __future__ import annotations

from typing import Any, Optional

from qgis.core import (
    Qgis,
    QgsGeometry,
    QgsMapLayer,
    QgsMeshLayer,
    QgsProcessing,
    QgsProcessingAlgorithm,
    QgsProcessingContext,
    QgsProcessingParameterMapLayer,
    QgsRasterLayer,
    QgsRasterLayerTemporalProperties,
)
from qgis.PyQt.QtCore import Qt

from ...training_core.errors import ImageryError
from . import exchange, work_area

_KINDS = {
    Qgis.LayerType.Vector: "a vector layer",
    Qgis.LayerType.VectorTile: "a layer of vector tiles",
    Qgis.LayerType.PointCloud: "a point cloud",
    Qgis.LayerType.Annotation: "an annotation layer",
    Qgis.LayerType.Group: "a group",
    Qgis.LayerType.TiledScene: "a tiled scene",
}


def image_parameter(name: str, label: str, help_text: str) -> QgsProcessingParameterMapLayer:
    """Return a parameter that takes raster and mesh layers."""
    kinds = [QgsProcessing.SourceType.TypeRaster, QgsProcessing.SourceType.TypeMesh]
    parameter = QgsProcessingParameterMapLayer(name, label, types=kinds)
    parameter.setHelp(help_text)
    return parameter


def image_layer(
    algorithm: QgsProcessingAlgorithm, name: str, parameters: dict[str, Any], context: QgsProcessingContext
) -> QgsMapLayer:
    """Return the raster or mesh layer that is the value of a parameter.

    A file that holds one raster beside layers of other kinds means the raster. Raises ImageryError if QGIS cannot open
    the value, or it is a layer of another kind, or a file that holds several rasters.
    """
    layer: QgsMapLayer = algorithm.parameterAsRasterLayer(parameters, name, context)
    if layer is not None and layer.isValid():
        return layer
    if layer is not None:
        raise ImageryError(
            f"The layer {layer.name()} cannot be shown.", "Check that its file exists or its server can be reached."
        )
    value = parameters.get(name)
    exchange.check_no_container(str(value))  # which might be opened as something else
    layer = algorithm.parameterAsLayer(parameters, name, context)
    if layer is None:
        raise ImageryError(
            f"{value} cannot be opened as an image.", "Check that it exists and is a raster that QGIS can show."
        )
    if not isinstance(layer, QgsMeshLayer):
        raise ImageryError(
            f"The layer {layer.name()} is {_KINDS.get(layer.type(), 'of another kind')}, not an image.",
            "Choose a raster or mesh layer.",
        )
    return layer


def takes_areas(definition: QgsProcessingParameterMapLayer) -> bool:
    """Return whether a parameter takes polygons, too, in place of a raster."""
    return QgsProcessing.SourceType.TypeVectorPolygon in definition.dataTypes()


def is_raster(
    algorithm: QgsProcessingAlgorithm, name: str, parameters: dict[str, Any], context: QgsProcessingContext
) -> bool:
    """Return whether the value of a parameter is a raster layer."""
    return isinstance(algorithm.parameterAsLayer(parameters, name, context), QgsRasterLayer)


def image_layers(
    algorithm: QgsProcessingAlgorithm, name: str, parameters: dict[str, Any], context: QgsProcessingContext
) -> list[QgsMapLayer]:
    """Return the raster and mesh layers that are the value of a parameter, one or a list; see `image_layer`."""
    given = parameters.get(name)
    values = given if isinstance(given, (list, tuple)) else [given]
    return [image_layer(algorithm, name, {name: each}, context) for each in values if each not in (None, "")]


def taken_on(layer: QgsMapLayer) -> str:
    """Return the date, as in ISO 8601, from which a temporal layer shows the ground; empty for any other one."""
    properties = layer.temporalProperties()
    if not isinstance(properties, QgsRasterLayerTemporalProperties) or not properties.isActive():
        return ""
    is_fixed = properties.mode() == Qgis.RasterTemporalMode.FixedTemporalRange
    return properties.fixedTemporalRange().begin().toString(Qt.DateFormat.ISODate) if is_fixed else ""


def extent_on(
    layer: QgsMapLayer,
    algorithm: QgsProcessingAlgorithm,
    name: str,
    parameters: dict[str, Any],
    context: QgsProcessingContext,
) -> Optional[QgsGeometry]:
    """Return the value of an extent parameter as a polygon in a layer's CRS; None if no extent is given.

    Raises JobError if the extent is infinite or empty.
    """
    if parameters.get(name) in (None, ""):
        return None
    work_area.check_extent(algorithm.parameterAsExtent(parameters, name, context))
    return algorithm.parameterAsExtentGeometry(parameters, name, context, layer.crs())
