"""Features of a live session in the label layers: added through the edit buffer, so that undo takes them back.

Scope: edit buffers, CRS. Independent of the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Optional

from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransform,
    QgsCsException,
    QgsGeometry,
    QgsProject,
    QgsVectorLayer,
    QgsVectorLayerUtils,
)

from ....training_core.errors import LayerError


def add_features(
    layer: QgsVectorLayer,
    wkt: str,
    crs: QgsCoordinateReferenceSystem,
    words: str,
    values: Optional[Mapping[str, Any]] = None,
) -> int:
    """Add a geometry to a layer through its edit buffer, and return how many features it became.

    A layer of single parts takes one for each part. One undo takes all back. Fields without a value in `values` get the
    layer's defaults. Raises LayerError if the geometry is empty, or the layer cannot be edited.
    """
    geometry = QgsGeometry.fromWkt(wkt)
    try:
        geometry.transform(QgsCoordinateTransform(crs, layer.crs(), QgsProject.instance()))
    except QgsCsException:
        geometry = QgsGeometry()
    if geometry.isNull() or geometry.isEmpty():
        raise LayerError("The correction has no shape in the layer's coordinate system.", "Draw it by hand.")
    if not layer.isEditable() and not layer.startEditing():
        raise LayerError(
            f"The layer {layer.name()} cannot be edited, so the correction was not added.",
            "Choose a layer that can be edited.",
        )
    fields, context = layer.fields(), layer.createExpressionContext()
    own = {fields.lookupField(name): value for name, value in (values or {}).items() if fields.lookupField(name) >= 0}
    layer.beginEditCommand(words)
    shapes = geometry.coerceToType(layer.wkbType())
    added = [layer.addFeature(QgsVectorLayerUtils.createFeature(layer, shape, own, context)) for shape in shapes]
    if not all(added) or not added:
        layer.destroyEditCommand()
        raise LayerError(f"The layer {layer.name()} did not accept the correction.", "Draw it by hand.")
    layer.endEditCommand()
    layer.triggerRepaint()
    return len(shapes)


def edit(layer_id: str) -> None:
    """Make a layer of the project editable, where it can be edited."""
    layer = QgsProject.instance().mapLayer(layer_id)
    if isinstance(layer, QgsVectorLayer) and not layer.isEditable():
        layer.startEditing()


def save_edits(layer_ids: Iterable[str]) -> None:
    """Save the edits of layers of the project, and leave them editable; unsavable edits stay in the buffer."""
    for layer_id in layer_ids:
        layer = QgsProject.instance().mapLayer(layer_id)
        if isinstance(layer, QgsVectorLayer) and layer.isModified():
            layer.commitChanges(False)
