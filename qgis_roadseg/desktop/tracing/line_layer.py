"""The line layer in which roads are traced: whether it can take them, what they snap to, and how they are added.

Scope: features and the edit buffer. Independent of the window and of where a line comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from qgis.core import (
    Qgis,
    QgsDistanceArea,
    QgsFeature,
    QgsFeatureRequest,
    QgsGeometry,
    QgsMapLayer,
    QgsPointXY,
    QgsProject,
    QgsRectangle,
    QgsVectorDataProvider,
    QgsVectorLayer,
    QgsVectorLayerUtils,
    QgsVertexId,
)

from ....training_core.errors import LayerError
from ...layers import work_area
from ...translation import tr

# Fields that are filled in where a layer has them.
PROBABILITY, STATUS, WIDTH, LENGTH, TRAVEL_TIME = "road_probability", "status", "width_m", "length_m", "travel_time_s"
DRAWN = "drawn"
_CAN = QgsVectorDataProvider.Capability


def check_line_layer(layer: Optional[QgsMapLayer]) -> QgsVectorLayer:
    """Return a layer of lines that is in editing; raise LayerError if it is none."""
    choose = tr("Select the line layer in which the roads are to be drawn.")
    if layer is None:
        raise LayerError(tr("No layer is selected."), choose)
    if not isinstance(layer, QgsVectorLayer) or layer.geometryType() != Qgis.GeometryType.Line:
        raise LayerError(tr("The layer {layer} has no lines.").format(layer=layer.name()), choose)
    can = layer.dataProvider().capabilities()
    if layer.readOnly() or not (can & _CAN.AddFeatures and can & _CAN.ChangeGeometries):
        raise LayerError(
            tr("The layer {layer} is read-only, so no roads can be drawn in it.").format(layer=layer.name()),
            tr("Export the layer to a GeoPackage (its menu, Export), and draw in the new layer."),
        )
    work_area.check_image_crs(layer)
    if not layer.isEditable():
        raise LayerError(
            tr("The layer {layer} is not being edited.").format(layer=layer.name()),
            tr("Switch its editing on (Toggle Editing), and choose Trace roads again."),
        )
    return layer


def nearest(layer: QgsVectorLayer, place: QgsPointXY, tolerance: float) -> Optional[tuple[bool, int, QgsPointXY]]:
    """Return the nearest end of a line within a tolerance or, if there is none, the nearest place on a line.

    Place and tolerance are in the layer's CRS. The place comes after whether it is not an end, and the line's id.
    """
    box = QgsRectangle(place, place).buffered(tolerance)
    found: list[tuple[bool, int, QgsPointXY]] = []
    for feature in layer.getFeatures(QgsFeatureRequest(box).setNoAttributes()):
        geometry = feature.geometry()
        for part in geometry.constParts():
            found += [(False, feature.id(), QgsPointXY(end)) for end in (part.startPoint(), part.endPoint())]
        found.append((True, feature.id(), geometry.closestSegmentWithContext(place)[1]))
    within = [each for each in found if place.distance(each[2]) <= tolerance]
    return min(within, key=lambda each: (each[0], place.distance(each[2])), default=None)


def add_road(
    layer: QgsVectorLayer,
    points: list[QgsPointXY],
    tolerance: float,
    probability: Optional[float] = None,
    width_m: Optional[float] = None,
) -> None:
    """Add a drawn road to a layer, and split the lines on which it begins and ends; one undo takes all back.

    A line that ends within the tolerance is met just there. Raises LayerError if the layer does not accept the road.
    """
    layer.beginEditCommand(tr("Trace road"))
    try:
        points[0], points[-1] = (_junction(layer, points[end], tolerance) for end in (0, -1))
        line = QgsGeometry.fromPolylineXY(points)
        measure = QgsDistanceArea()
        measure.setSourceCrs(layer.crs(), QgsProject.instance().transformContext())
        measure.setEllipsoid("WGS84")
        length_m = round(measure.measureLength(line), 2)
        _add(layer, line, _fitting(layer, {
            PROBABILITY: probability, STATUS: DRAWN, WIDTH: width_m, LENGTH: length_m,
        }))  # fmt: skip
    except LayerError:
        layer.destroyEditCommand()
        raise
    layer.endEditCommand()
    layer.triggerRepaint()


def _junction(layer: QgsVectorLayer, place: QgsPointXY, tolerance: float) -> QgsPointXY:
    """Return where a road that ends at a place meets a line, which is split there; the place where it meets none."""
    is_inside, line, met = nearest(layer, place, tolerance) or (False, 0, place)
    if not is_inside:
        return met
    feature = layer.getFeature(line)
    geometry, at = feature.geometry(), QgsGeometry.fromPointXY(met)
    parts = geometry.asGeometryCollection()
    part = min(parts, key=lambda each: each.distance(at))
    curve, along = part.constGet().simplifiedTypeRef(), part.lineLocatePoint(at)
    first, second = curve.curveSubstring(0, along), curve.curveSubstring(along, curve.length())
    junction = first.endPoint()
    second.moveVertex(QgsVertexId(0, 0, 0), junction)
    fraction = second.length() / geometry.constGet().length()
    kept = QgsGeometry.collectGeometry([QgsGeometry(first.clone()) if each is part else each for each in parts])
    own = {i: v for i, v in enumerate(feature.attributes()) if i not in layer.primaryKeyAttributes()}
    _add(layer, QgsGeometry(second.clone()), {**own, **_share(feature, layer, fraction)})
    changed = _share(feature, layer, 1 - fraction).items()
    is_done = layer.changeGeometry(line, _as_in(layer, kept))
    if not is_done or not all(layer.changeAttributeValue(line, i, v) for i, v in changed):
        raise _refused(layer)
    return QgsPointXY(junction)


def _share(feature: QgsFeature, layer: QgsVectorLayer, fraction: float) -> dict[int, Any]:
    """Return the values of a line that are in proportion to its length, for a part of it."""
    indexes = [layer.fields().lookupField(name) for name in (LENGTH, TRAVEL_TIME)]
    return {i: feature[i] * fraction for i in indexes if i >= 0 and isinstance(feature[i], (int, float))}


def _fitting(layer: QgsVectorLayer, values: Mapping[str, Any]) -> dict[int, Any]:
    """Return values by the index of their field, where the layer has one of their type."""
    fields = layer.fields()
    found = {fields.lookupField(name): value for name, value in values.items() if value is not None}
    return {i: v for i, v in found.items() if i >= 0 and fields.at(i).isNumeric() != isinstance(v, str)}


def _add(layer: QgsVectorLayer, geometry: QgsGeometry, values: Mapping[int, Any]) -> None:
    shape, context = _as_in(layer, geometry), layer.createExpressionContext()
    feature = QgsVectorLayerUtils.createFeature(layer, shape, dict(values), context)
    if not layer.addFeature(feature):
        raise _refused(layer)


def _as_in(layer: QgsVectorLayer, geometry: QgsGeometry) -> QgsGeometry:
    """Return a geometry of the layer's own type, single or multiple, with heights or without."""
    return geometry.coerceToType(layer.wkbType())[0]


def _refused(layer: QgsVectorLayer) -> LayerError:
    return LayerError(
        tr("The layer {layer} did not accept the road.").format(layer=layer.name()), tr("Draw it by hand.")
    )
