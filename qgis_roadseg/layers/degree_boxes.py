"""Boxes in degrees around an extent or polygons in any CRS, as services on the web take them.

Scope: places in QGIS' terms, also across the antimeridian. Independent of what is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransform,
    QgsCsException,
    QgsFeatureRequest,
    QgsFeatureSource,
    QgsProcessingContext,
    QgsRectangle,
)

from ...training_core.errors import JobError
from ...training_core.jobs.overpass import Box, boxes_between
from . import work_area
from .exchange import check_crs
from .snapshot import read

_DEGREES = "EPSG:4326"


def boxes_of_extent(
    extent: QgsRectangle, crs: QgsCoordinateReferenceSystem, context: QgsProcessingContext
) -> list[Box]:
    """Return one box, or two across the antimeridian; raise JobError if the extent has no place there."""
    return _boxes([extent], crs, context)


def boxes_of_source(source: QgsFeatureSource, context: QgsProcessingContext) -> list[Box]:
    """Return boxes that do not overlap around the parts of polygons.

    Raises LayerError if the source has no CRS, or JobError if a polygon has no place in degrees.
    """
    check_crs(source)
    shapes = (feature.geometry() for feature in read(source, QgsFeatureRequest().setNoAttributes()))
    bounds = [part.boundingBox() for shape in shapes for part in shape.asGeometryCollection()]
    return _boxes([each for each in bounds if not each.isEmpty()], source.sourceCrs(), context)


def _boxes(
    rectangles: Iterable[QgsRectangle], crs: QgsCoordinateReferenceSystem, context: QgsProcessingContext
) -> list[Box]:
    degrees = QgsCoordinateReferenceSystem(_DEGREES)
    to_degrees = QgsCoordinateTransform(crs, degrees, context.transformContext())
    try:
        moved = [to_degrees.transformBoundingBox(each, handle180Crossover=True) for each in rectangles]
    except QgsCsException as error:
        raise JobError(
            f"The area has no place in degrees: it is not within the bounds of {crs.authid() or 'its CRS'}.",
            "Choose an extent on the map, or set the layer's correct coordinate reference system.",
        ) from error
    parts = [
        box
        for each in moved
        for box in boxes_between(
            each.xMinimum(),
            each.yMinimum(),
            each.xMaximum() + 360 * (each.xMaximum() < each.xMinimum()),
            each.yMaximum(),
        )
    ]
    joined = work_area.join([QgsRectangle(box.west, box.south, box.east, box.north) for box in parts])
    return [Box(each.yMinimum(), each.xMinimum(), each.yMaximum(), each.xMaximum()) for each in joined]
