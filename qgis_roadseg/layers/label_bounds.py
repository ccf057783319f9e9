"""Where the labels of an image are: rectangles around them, in the image's CRS.

Scope: geometries of vector layers. Independent of pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qgis.core import QgsFeatureRequest, QgsFeatureSource, QgsGeometry, QgsMapLayer, QgsProcessingContext, QgsRectangle

from .exchange import check_crs
from .snapshot import read


def bounds_of(
    sources: Iterable[QgsFeatureSource], layer: QgsMapLayer, context: QgsProcessingContext
) -> list[QgsRectangle]:
    """Return the bounds of each line or polygon of the sources, in a layer's CRS, where it has such a place.

    Raises LayerError if a source has no CRS, or a geometry is invalid and Processing is set to stop there.
    """
    request = QgsFeatureRequest().setNoAttributes().setDestinationCrs(layer.crs(), context.transformContext())
    bounds = []
    for source in sources:
        check_crs(source)
        for feature in read(source, request):
            bounds += [part.boundingBox() for part in feature.geometry().asGeometryCollection()]
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
