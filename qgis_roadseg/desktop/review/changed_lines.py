"""The lines of a layer of changes that a person checks: which are left, the nearest, and the field `review`.

Scope: features and their values. Independent of the window.
"""

from __future__ import annotations

from typing import Optional

from qgis.core import (
    Qgis,
    QgsCoordinateReferenceSystem,
    QgsFeature,
    QgsFeatureRequest,
    QgsField,
    QgsMapLayer,
    QgsPointXY,
    QgsProject,
    QgsVectorDataProvider,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QMetaType

from ....training_core.errors import LayerError, OutputError
from ....training_core.jobs.fields import word_in
from ....training_core.jobs.review import (
    ACCEPTED,
    CHANGE,
    DISPLACED,
    LOST,
    NEW,
    REJECTED,
    REVIEW,
    verdict_of,
)
from ...translation import tr

CHECKED = (NEW, LOST, DISPLACED)
VERDICTS = (ACCEPTED, REJECTED)

_CAN = QgsVectorDataProvider.Capability


def check_layer(layer: Optional[QgsMapLayer]) -> QgsVectorLayer:
    """Return a layer of changes; raise LayerError if it is none, or its review cannot be written."""
    choose = tr("Select the result of Compare road networks in the layer panel.")
    if layer is None:
        raise LayerError(tr("No layer is selected."), choose)
    is_lines = isinstance(layer, QgsVectorLayer) and layer.geometryType() == Qgis.GeometryType.Line
    if not is_lines or layer.fields().lookupField(CHANGE) < 0:
        text = tr("The layer {layer} is not a layer of changes: it needs lines with the field “{field}”.")
        raise LayerError(text.format(layer=layer.name(), field=CHANGE), choose)
    provider = layer.dataProvider()
    field = provider.fields().lookupField(REVIEW)
    needed = _CAN.ChangeAttributeValues if field >= 0 else _CAN.ChangeAttributeValues | _CAN.AddAttributes
    if layer.readOnly() or provider.capabilities() & needed != needed:
        raise LayerError(
            tr("The layer {layer} is read-only, so the review cannot be written to it.").format(layer=layer.name()),
            tr("Export the layer to a GeoPackage (its menu, Export), and review the new layer."),
        )
    if field >= 0 and provider.fields().at(field).type() != QMetaType.Type.QString:
        raise LayerError(
            tr("The field “{field}” of the layer {layer} is not a text field.").format(
                field=REVIEW, layer=layer.name()
            ),
            tr("Rename the field, so that the review gets its own field."),
        )
    return layer


class ChangedLines:
    """The lines of a layer whose change a person has to check, each with a verdict or none.

    Verdicts are written at once, by the layer's data provider: nothing waits for a Save, which a crash would lose. The
    layer must not be editable meanwhile, since its edit buffer would not know of them.

    Parameters
    ----------
    layer : QgsVectorLayer
        Must stay until this is dropped.
    crs : QgsCoordinateReferenceSystem
        That of the map, in which places are near each other.
    """

    def __init__(self, layer: QgsVectorLayer, crs: QgsCoordinateReferenceSystem) -> None:
        self._layer = layer
        self.verdicts: dict[int, str] = {}
        self._places: dict[int, QgsPointXY] = {}
        self._skipped: set[int] = set()
        self._past: list[tuple[int, str]] = []  # a line's verdict before it was decided or skipped
        has_review = layer.fields().lookupField(REVIEW) >= 0
        request = QgsFeatureRequest().setDestinationCrs(crs, QgsProject.instance().transformContext())
        request.setSubsetOfAttributes([CHANGE, *([REVIEW] if has_review else [])], layer.fields())
        for line in layer.getFeatures(request):
            bounds = line.geometry().boundingBox()
            if word_in(line[CHANGE]) in CHECKED and not line.geometry().isEmpty() and bounds.isFinite():
                self.verdicts[line.id()] = verdict_of(line[REVIEW] or None) if has_review else ""
                self._places[line.id()] = bounds.center()

    @property
    def left(self) -> int:
        """How many lines have no verdict."""
        return sum(verdict not in VERDICTS for verdict in self.verdicts.values())

    @property
    def can_go_back(self) -> bool:
        """Whether a line was decided or skipped."""
        return bool(self._past)

    def nearest(self, place: QgsPointXY) -> Optional[int]:
        """Return the id of the nearest line without a verdict; skipped ones come when there is no other."""
        left = [line for line, verdict in self.verdicts.items() if verdict not in VERDICTS]
        waiting = [line for line in left if line not in self._skipped]
        if not waiting:
            self._skipped.clear()
        return min(waiting or left, key=lambda line: self._places[line].sqrDist(place), default=None)

    def feature(self, line: int) -> QgsFeature:
        """Return a line of the layer with all attributes; an invalid one where it has been deleted."""
        return self._layer.getFeature(line)

    def decide(self, line: int, verdict: str) -> None:
        """Write a line's verdict; raise OutputError if that fails."""
        earlier = self.verdicts[line]
        self._write(line, verdict)
        self._past.append((line, earlier))

    def skip(self, line: int) -> None:
        """Leave a line for later."""
        self._skipped.add(line)
        self._past.append((line, self.verdicts[line]))

    def back(self) -> int:
        """Return the line that was decided or skipped last, without its verdict; raise OutputError if that fails."""
        line, earlier = self._past[-1]
        if self.verdicts[line] != earlier:
            self._write(line, earlier)
        self._past.pop()
        self._skipped.discard(line)
        return line

    def _write(self, line: int, verdict: str) -> None:
        provider = self._layer.dataProvider()
        if provider.fields().lookupField(REVIEW) < 0:
            self._check(provider.addAttributes([QgsField(REVIEW, QMetaType.Type.QString)]), provider)
            self._layer.updateFields()
        field = provider.fields().lookupField(REVIEW)
        self._check(provider.changeAttributeValues({line: {field: verdict or None}}), provider)
        self.verdicts[line] = verdict
        shown = self._layer.fields().lookupField(REVIEW)
        self._layer.attributeValueChanged.emit(line, shown, verdict or None)  # for an attribute table that is open
        self._layer.triggerRepaint()

    def _check(self, is_written: bool, provider: QgsVectorDataProvider) -> None:
        if not is_written:
            reason = "; ".join(provider.errors())
            provider.clearErrors()
            text = tr("The review cannot be written to the layer {layer} ({reason}).")
            raise OutputError(
                text.format(layer=self._layer.name(), reason=reason),
                tr("Close other programs that use its file, and make room on the disk."),
            )
