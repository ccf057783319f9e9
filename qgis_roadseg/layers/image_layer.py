"""Image parameters of algorithms: raster and mesh layers, and an extent on them.

Scope: Processing's parameters and their values. Independent of the layers' pixels.
"""

from __future__ import annotations

from typing import Any, Optional

from qgis.core import (
    QgsGeometry,
    QgsMapLayer,
    QgsMeshLayer,
    QgsProcessing,
    QgsProcessingAlgorithm,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingParameterMapLayer,
)

from ...training_core.errors import ImageryError
from . import exchange, work_area


def image_parameter(name: str, label: str, help_text: str) -> QgsProcessingParameterMapLayer:
    """Return a parameter that takes raster and mesh layers."""
    kinds = [QgsProcessing.SourceType.TypeRaster, QgsProcessing.SourceType.TypeMesh]
    parameter = QgsProcessingParameterMapLayer(name, label, types=kinds)
    parameter.setHelp(help_text)
    return parameter


def image_layer(
    algorithm: QgsProcessingAlgorithm, name: str, parameters: dict[str, Any], context: QgsProcessingContext
) -> QgsMapLayer:
    """Return the raster or mesh layer that is the value of an image parameter.

    Raises
    ------
    QgsProcessingException
        QGIS cannot open the value as a layer.
    ImageryError
        It is a layer of another type, or a file that holds several rasters.
    """
    layer = algorithm.parameterAsRasterLayer(parameters, name, context)
    if layer is not None:
        return layer
    exchange.check_no_container(str(parameters.get(name)))  # which might be opened as something else
    layer = algorithm.parameterAsLayer(parameters, name, context)
    if layer is None:
        raise QgsProcessingException(algorithm.invalidRasterError(parameters, name))
    if not isinstance(layer, QgsMeshLayer):
        raise ImageryError(f"The layer {layer.name()} is not an image.", "Choose a raster or mesh layer.")
    return layer


def extent_on(
    layer: QgsMapLayer,
    algorithm: QgsProcessingAlgorithm,
    name: str,
    parameters: dict[str, Any],
    context: QgsProcessingContext,
) -> Optional[QgsGeometry]:
    """Return the value of an extent parameter, transformed to a layer's CRS.

    Returns
    -------
    QgsGeometry or None
        A polygon; None if no extent is given.

    Raises
    ------
    JobError
        The extent is infinite or empty; see `work_area.check_extent`.
    """
    if parameters.get(name) in (None, ""):
        return None
    work_area.check_extent(algorithm.parameterAsExtent(parameters, name, context))
    return algorithm.parameterAsExtentGeometry(parameters, name, context, layer.crs())
