"""The ground to work on: an extent and an area of interest, taken together as one shape in an image's CRS.

Knows geometries, and which extents make no sense; knows nothing of pixels.
"""

from __future__ import annotations

from typing import Optional

from qgis.core import (
    Qgis,
    QgsFeatureRequest,
    QgsFeatureSource,
    QgsGeometry,
    QgsMapLayer,
    QgsProcessingContext,
    QgsRectangle,
)

from ...training_core.errors import ImageryError, JobError, LabelError
from .exchange import check_crs

_CHOOSE_EXTENT = "Choose an extent on the layer, such as that of the map."


def check_extent(extent: QgsRectangle) -> None:
    """Raise JobError where an extent, in whatever CRS, is infinite or empty."""
    if not extent.isFinite():
        raise JobError("The extent (EXTENT) is infinite.", _CHOOSE_EXTENT)
    if extent.isEmpty():
        raise JobError("The extent (EXTENT) is empty.", _CHOOSE_EXTENT)


def check_image_crs(layer: QgsMapLayer) -> None:
    """Raise ImageryError where an image has no coordinate reference system."""
    if not layer.crs().isValid():
        raise ImageryError(f"The layer {layer.name()} has no coordinate reference system.", "Set the layer's CRS.")


def common_shape(
    extent: Optional[QgsGeometry],
    source: Optional[QgsFeatureSource],
    layer: QgsMapLayer,
    context: QgsProcessingContext,
) -> QgsGeometry:
    """Return the ground that lies in the extent and in the area of interest, where both are given.

    Parameters
    ----------
    extent : QgsGeometry, optional
        In the layer's CRS.
    source : QgsFeatureSource, optional
        The area of interest: polygons in any CRS.
    layer : QgsMapLayer
        The image that the work is about.
    context : QgsProcessingContext
        Processing's context.

    Returns
    -------
    QgsGeometry
        One polygon or several, in the layer's CRS.

    Raises
    ------
    ImageryError
        The layer has no CRS.
    JobError, LabelError
        Extent and area of interest, or the two and the layer, have no ground in common.
    """
    check_image_crs(layer)
    shapes = [] if extent is None else [extent]
    if source is not None:
        shapes.append(_shape_of(source, layer, context))
    shape = shapes[0] if len(shapes) == 1 else _polygons(shapes[0].intersection(shapes[1]))
    if shape.isEmpty():
        raise LabelError(
            "The extent and the area of interest do not overlap.", "Leave one of them out, or choose another extent."
        )
    _check_bounds(shape.boundingBox(), layer, source)
    return shape


def _shape_of(source: QgsFeatureSource, layer: QgsMapLayer, context: QgsProcessingContext) -> QgsGeometry:
    check_crs(source)
    request = QgsFeatureRequest().setNoAttributes().setDestinationCrs(layer.crs(), context.transformContext())
    geometries = [feature.geometry().makeValid() for feature in source.getFeatures(request)]
    shape = _polygons(QgsGeometry.unaryUnion(geometries))
    if shape.isEmpty():
        raise LabelError(f"The layer {source.sourceName()} has no polygons.", "Draw the area of interest.")
    return shape


def _polygons(geometry: QgsGeometry) -> QgsGeometry:
    """Return the polygons of a geometry without the points and lines at which shapes may touch."""
    parts = geometry.asGeometryCollection()
    return QgsGeometry.collectGeometry([part for part in parts if part.type() == Qgis.GeometryType.Polygon])


def on_layer(bounds: QgsRectangle, layer: QgsMapLayer) -> QgsRectangle:
    """Return the part of bounds, in a layer's CRS, that the layer covers as far as it is known."""
    whole = layer.extent()
    return bounds.intersect(whole) if whole.isFinite() and not whole.isEmpty() else bounds


def _check_bounds(bounds: QgsRectangle, layer: QgsMapLayer, source: Optional[QgsFeatureSource]) -> None:
    what = "extent (EXTENT)" if source is None else f"area of interest ({source.sourceName()})"
    if not bounds.isFinite():
        raise JobError(f"The {what} has no place in the CRS of the layer {layer.name()}.", _CHOOSE_EXTENT)
    if on_layer(bounds, layer).isEmpty():
        raise JobError(
            f"The {what} lies outside of the layer {layer.name()}.", "Check both coordinate systems, or choose another."
        )
