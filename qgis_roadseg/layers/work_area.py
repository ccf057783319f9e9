"""Areas in an image's CRS: the intersection of extent and area of interest, and rectangles around labels.

Scope: geometries, and the validation of extents. Independent of pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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

from ...training_core.errors import ImageryError, JobError, LayerError
from .exchange import check_crs
from .snapshot import read

# By projection, after how many units of x the map begins again.
_TURNS = {"longlat": 360.0, **dict.fromkeys(("merc", "webmerc"), 2 * math.pi * 6378137)}
_CHOOSE_EXTENT = "Choose an extent on the layer, such as that of the map."


def check_extent(extent: QgsRectangle) -> None:
    """Raise JobError if an extent, in any CRS, is infinite or empty."""
    if not extent.isFinite():
        raise JobError("The extent (EXTENT) is infinite.", _CHOOSE_EXTENT)
    if extent.isEmpty():
        raise JobError("The extent (EXTENT) is empty.", _CHOOSE_EXTENT)


def check_image_crs(layer: QgsMapLayer) -> None:
    """Raise ImageryError if an image, or another layer, has no coordinate reference system."""
    if not layer.crs().isValid():
        raise ImageryError(f"The layer {layer.name()} has no coordinate reference system.", "Set the layer's CRS.")


def intersection(
    extent: Optional[QgsGeometry], source: Optional[QgsFeatureSource], layer: QgsMapLayer, context: QgsProcessingContext
) -> QgsGeometry:
    """Return the extent, the area of interest, or the intersection of both, as given.

    The area of interest are polygons in any CRS, and the result is a polygon or multipolygon in the layer's CRS. Raises
    ImageryError if the layer has no CRS. Raises JobError or LayerError if extent, area of interest and layer do not
    overlap, or the area of interest has no polygons.
    """
    check_image_crs(layer)
    shapes = [] if extent is None else [_beside(extent, layer)]
    if source is not None:
        shapes.append(_shape_of(source, layer, context))
    shape = shapes[0] if len(shapes) == 1 else _polygons(shapes[0].intersection(shapes[1]))
    if shape.isEmpty():
        raise LayerError(
            "The extent and the area of interest do not overlap.", "Leave one of them out, or choose another extent."
        )
    _check_bounds(shape.boundingBox(), layer, source)
    return shape


def _shape_of(source: QgsFeatureSource, layer: QgsMapLayer, context: QgsProcessingContext) -> QgsGeometry:
    shape = _polygons(QgsGeometry.unaryUnion([each.makeValid() for each in _geometries(source, layer, context)]))
    if shape.isEmpty():
        raise LayerError(f"The layer {source.sourceName()} has no polygons.", "Draw the area of interest.")
    return shape


def _geometries(source: QgsFeatureSource, layer: QgsMapLayer, context: QgsProcessingContext) -> list[QgsGeometry]:
    check_crs(source)
    request = QgsFeatureRequest().setNoAttributes().setDestinationCrs(layer.crs(), context.transformContext())
    return [_beside(feature.geometry(), layer) for feature in read(source, request)]


def _beside(geometry: QgsGeometry, layer: QgsMapLayer) -> QgsGeometry:
    """Return a geometry in a layer's CRS, its parts moved around the world to where the layer writes its places.

    In degrees and in Mercator projections, places at the antimeridian may be written on either side of the map.
    """
    turn, whole = _TURNS.get(layer.crs().projectionAcronym(), 0.0), layer.extent()
    parts = geometry.asGeometryCollection() if 0 < whole.width() < turn / 2 else []  # not of a map of the world
    turns = [round((whole.center().x() - part.boundingBox().center().x()) / turn) for part in parts]
    if not any(turns):
        return geometry
    for part, by in zip(parts, turns):
        part.translate(by * turn, 0)
    return QgsGeometry.collectGeometry(parts)


def _polygons(geometry: QgsGeometry) -> QgsGeometry:
    """Return the polygons of a geometry, without points and lines where shapes only touch."""
    parts = geometry.asGeometryCollection()
    return QgsGeometry.collectGeometry([part for part in parts if part.type() == Qgis.GeometryType.Polygon])


def clip_to_layer(bounds: QgsRectangle, layer: QgsMapLayer) -> QgsRectangle:
    """Return bounds, in a layer's CRS, clipped to the layer's extent, where that is finite."""
    whole = layer.extent()
    return bounds.intersect(whole) if whole.isFinite() and not whole.isEmpty() else bounds


def _check_bounds(bounds: QgsRectangle, layer: QgsMapLayer, source: Optional[QgsFeatureSource]) -> None:
    what = "extent (EXTENT)" if source is None else f"area of interest ({source.sourceName()})"
    if not bounds.isFinite():
        raise JobError(f"The {what} cannot be transformed to the CRS of the layer {layer.name()}.", _CHOOSE_EXTENT)
    if clip_to_layer(bounds, layer).isEmpty():
        raise JobError(
            f"The {what} lies outside the layer {layer.name()}.", "Check both coordinate systems, or choose another."
        )


def bounds_of(
    sources: Iterable[QgsFeatureSource], layer: QgsMapLayer, context: QgsProcessingContext
) -> list[QgsRectangle]:
    """Return the bounds of each line or polygon of the sources, in a layer's CRS, where it has such a place.

    Raises LayerError if a source has no CRS, or a geometry is invalid and Processing is set to stop there.
    """
    geometries = (each for source in sources for each in _geometries(source, layer, context))
    bounds = [part.boundingBox() for each in geometries for part in each.asGeometryCollection()]
    return [each for each in bounds if each.isFinite() and max(each.width(), each.height()) > 0]


def around(rectangles: Iterable[QgsRectangle]) -> QgsRectangle:
    """Return a rectangle about all others, which is not flat where they are, as about a road due north."""
    whole = QgsRectangle()
    for each in rectangles:
        whole.combineExtentWith(each)
    return whole.buffered(max(whole.width(), whole.height()))


def join(rectangles: Sequence[QgsRectangle]) -> list[QgsRectangle]:
    """Return the fewest rectangles that cover the given ones and do not overlap, from north to south."""
    union = QgsGeometry.unaryUnion([QgsGeometry.fromRect(each) for each in rectangles])
    joined = [part.boundingBox() for part in union.asGeometryCollection()]
    if len(joined) < len(rectangles):
        return join(joined)
    return sorted(joined, key=lambda each: (-each.yMaximum(), each.xMinimum()))
