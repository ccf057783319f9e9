"""The lines of a review layer: which are left, which comes next, and the answers that are written.

Scope: features and their values. Independent of the window.
"""

from __future__ import annotations

from typing import Any, Optional

from qgis.core import (
    Qgis,
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsFeature,
    QgsFeatureRequest,
    QgsField,
    QgsFields,
    QgsGeometry,
    QgsMapLayer,
    QgsPointXY,
    QgsProject,
    QgsSpatialIndex,
    QgsVectorDataProvider,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QDateTime, QMetaType, Qt

from ....training_core.errors import LayerError, OutputError
from ....training_core.jobs.accuracy import NUMBER, SAMPLE_FIELDS
from ....training_core.jobs.fields import number_in, word_in
from ....training_core.jobs.review import ANSWERS, CHANGE, REVIEW, REVIEWED_AT, REVIEWER, answer_of
from ...layers import work_area
from ...translation import tr
from .sample import KINDS, Sample

_CAN = QgsVectorDataProvider.Capability


def check_layer(layer: Optional[QgsMapLayer]) -> QgsVectorLayer:
    """Return a review layer; raise LayerError if it is none, or its review cannot be written."""
    choose = tr("Select a road network, or the result of Compare road networks or Draw an accuracy sample.")
    if layer is None:
        raise LayerError(tr("No layer is selected."), choose)
    is_lines = isinstance(layer, QgsVectorLayer) and layer.geometryType() == Qgis.GeometryType.Line
    if not is_lines or layer.fields().lookupField(CHANGE) < 0:
        text = tr("The layer {layer} is not a review layer: it needs lines with the field “{field}”.")
        raise LayerError(text.format(layer=layer.name(), field=CHANGE), choose)
    provider = layer.dataProvider()
    field = provider.fields().lookupField(REVIEW)
    needed = _CAN.ChangeAttributeValues if field >= 0 else _CAN.ChangeAttributeValues | _CAN.AddAttributes
    if layer.readOnly() or provider.capabilities() & needed != needed:
        raise LayerError(
            tr("The layer {layer} is read-only, so the review cannot be written to it.").format(layer=layer.name()),
            tr("Export the layer to a GeoPackage (its menu, Export), and review the new layer."),
        )
    work_area.check_image_crs(layer)
    if field >= 0 and provider.fields().at(field).type() != QMetaType.Type.QString:
        text = tr("The field “{field}” of the layer {layer} is not a text field.")
        raise LayerError(
            text.format(field=REVIEW, layer=layer.name()),
            tr("Rename the field, so that the review gets its own field."),
        )
    return layer


class ReviewLines:
    """The lines of a layer that a person has to judge, each with an answer or none.

    Answers are written at once, by the layer's data provider: nothing waits for a Save, which a crash would lose. The
    layer must not be editable meanwhile, since its edit buffer would not know of them. It must stay until this is
    dropped. Places are near each other in `crs`, that of the map.
    """

    def __init__(self, layer: QgsVectorLayer, crs: QgsCoordinateReferenceSystem) -> None:
        self._layer = layer
        self.answers: dict[int, str] = {}
        self._kinds: dict[int, str] = {}
        self._places: dict[int, QgsPointXY] = {}
        self._skipped: set[int] = set()
        self._past: list[tuple[int, str]] = []  # a line's answer before it was decided or skipped
        names = [name for name in (*SAMPLE_FIELDS, NUMBER) if layer.fields().lookupField(name) >= 0]
        has_review = REVIEW in names
        request = QgsFeatureRequest().setDestinationCrs(crs, QgsProject.instance().transformContext())
        request.setSubsetOfAttributes(names, layer.fields())
        of_sample: dict[int, dict[str, Any]] = {}
        numbers: dict[int, float] = {}
        for line in layer.getFeatures(request):
            bounds, kind = line.geometry().boundingBox(), word_in(line[CHANGE])
            if kind in ANSWERS and not line.geometry().isEmpty() and bounds.isFinite():
                self._kinds[line.id()] = kind
                self.answers[line.id()] = word_in(line[REVIEW] or None) if has_review else ""
                self._places[line.id()] = bounds.center()
                if kind in KINDS:
                    word = answer_of(kind, self.answers[line.id()])
                    values = {name: (line[name] or None) if name in names else None for name in SAMPLE_FIELDS}
                    of_sample[line.id()] = {**values, REVIEW: word}
                    numbers[line.id()] = number_in(line[NUMBER]) if NUMBER in names else 0.0
        self.sample = Sample(of_sample)
        self._left = {line for line, word in self.answers.items() if not answer_of(self._kinds[line], word)}
        # Without numbers, that of the layer.
        self._in_order = sorted(numbers, key=lambda line: numbers[line])
        self._index = QgsSpatialIndex()
        self._index.addFeatures([self._point(line) for line in self._left - of_sample.keys()])

    @property
    def left(self) -> int:
        """How many lines have no answer."""
        return len(self._left)

    def count(self, answer: str) -> int:
        """Return how many lines have an answer."""
        return sum(answer_of(self._kinds[line], word) == answer for line, word in self.answers.items())

    @property
    def can_go_back(self) -> bool:
        """Whether a line was decided or skipped."""
        return bool(self._past)

    def next(self, place: QgsPointXY) -> Optional[int]:
        """Return the id of the line without an answer that is nearest to a place.

        Places of an accuracy sample come in its order wherever they are: the first ones are a random sample, too.
        Skipped ones come when there is no other.
        """
        if len(self._skipped) == len(self._left):
            self._skipped.clear()
        near = self._index.nearestNeighbor(place, 1 + len(self._skipped))
        waiting = (line for line in (*self._in_order, *near) if line in self._left and line not in self._skipped)
        return next(waiting, None)

    def _point(self, line: int) -> QgsFeature:
        feature = QgsFeature(line)
        feature.setGeometry(QgsGeometry.fromPointXY(self._places[line]))
        return feature

    def feature(self, line: int) -> QgsFeature:
        """Return a line of the layer with all attributes; an invalid one where it has been deleted."""
        return self._layer.getFeature(line)

    def take_over(self, line: int) -> bool:
        """Note the answer that a line has got elsewhere, as in another QGIS; return whether it has one."""
        if self._layer.fields().lookupField(REVIEW) < 0:  # which may have been added there, too
            self._layer.dataProvider().reloadData()
            self._layer.updateFields()
        feature = self.feature(line)
        word = word_in(feature[REVIEW] or None) if feature.fields().lookupField(REVIEW) >= 0 else ""
        if answer_of(self._kinds[line], word):
            self._note(line, word)
        return line not in self._left

    def decide(self, line: int, answer: str) -> None:
        """Write a line's answer; raise OutputError if that fails."""
        earlier = self.answers[line]
        self._write(line, answer)
        self._past.append((line, earlier))

    def skip(self, line: int) -> None:
        """Leave a line for later."""
        self._skipped.add(line)
        self._past.append((line, self.answers[line]))

    def back(self) -> int:
        """Return the line that was decided or skipped last, without its answer; raise OutputError if that fails."""
        line, earlier = self._past[-1]
        if self.answers[line] != earlier and self.feature(line).isValid():
            self._write(line, earlier)
        self._past.pop()
        self._skipped.discard(line)
        return line

    def _write(self, line: int, answer: str) -> None:
        provider = self._layer.dataProvider()
        if provider.fields().lookupField(REVIEW) < 0:
            check_written(self._layer, provider.addAttributes([QgsField(REVIEW, QMetaType.Type.QString)]))
            self._layer.updateFields()
        values = {REVIEW: answer or None, **signature(provider.fields(), bool(answer))}
        fields = {provider.fields().lookupField(name): value for name, value in values.items()}
        check_written(self._layer, provider.changeAttributeValues({line: fields}))
        self._note(line, answer)
        for name, value in values.items():  # for an attribute table that is open
            self._layer.attributeValueChanged.emit(line, self._layer.fields().lookupField(name), value)
        self._layer.triggerRepaint()

    def _note(self, line: int, answer: str) -> None:
        self.answers[line] = answer
        is_left = not answer_of(self._kinds[line], answer)
        if is_left != (line in self._left):
            (self._left.add if is_left else self._left.discard)(line)
            if self._kinds[line] not in KINDS:
                (self._index.addFeature if is_left else self._index.deleteFeature)(self._point(line))
        self.sample.answer(line, answer)


def note_for(layer: QgsVectorLayer) -> str:
    """Return a warning that verdicts on a layer can be lost; empty where they cannot."""
    note = tr("This layer is temporary, so its review can be lost. Save the layer with Make Permanent in its menu.")
    return note if layer.isTemporary() else ""


def check_written(layer: QgsVectorLayer, is_written: bool) -> None:
    """Raise OutputError if a layer's data provider has not written what it was asked to."""
    if not is_written:
        provider = layer.dataProvider()
        reason = "; ".join(dict.fromkeys(provider.errors()))
        provider.clearErrors()
        text = tr("The review cannot be written to the layer {layer} ({reason}).")
        raise OutputError(
            text.format(layer=layer.name(), reason=reason),
            tr("Close other programs that use its file, and make room on the disk."),
        )


def signature(fields: QgsFields, is_answered: bool) -> dict[str, Any]:
    """Return who answers, and when, for the fields of a layer that take it; nobody without an answer."""
    kinds, now = QMetaType.Type, QDateTime.currentDateTimeUtc()
    name = QgsApplication.userFullName() or QgsApplication.userLoginName()
    values = {
        (REVIEWER, kinds.QString): name,
        (REVIEWED_AT, kinds.QDateTime): now,
        (REVIEWED_AT, kinds.QString): now.toString(Qt.DateFormat.ISODate),
    }
    return {
        field: value if is_answered else None
        for (field, kind), value in values.items()
        if (index := fields.lookupField(field)) >= 0 and fields.at(index).type() == kind
    }
