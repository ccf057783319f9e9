"""The lines of a review layer: which are left, which comes next, and the answers that are written.

Scope: features and their values. Independent of the window.
"""

from __future__ import annotations

from math import floor, inf, isfinite
from typing import Any, Optional

from qgis.core import (
    Qgis,
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsFeature,
    QgsFeatureRequest,
    QgsField,
    QgsFields,
    QgsMapLayer,
    QgsPointXY,
    QgsProject,
    QgsUnitTypes,
    QgsVectorDataProvider,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QDateTime, QMetaType, Qt

from ....training_core.errors import LayerError, OutputError
from ....training_core.jobs.accuracy import SAMPLE_FIELDS
from ....training_core.jobs.fields import number_in, word_in
from ....training_core.jobs.review import ANSWERS, CHANGE, PRIORITY, REVIEW, REVIEWED_AT, REVIEWER, answer_of
from ...layers import work_area
from ...translation import tr
from .sample import KINDS, Sample

# A place in another view takes about twice the time: one has to find one's way there. So it counts half.
VIEW_M = 300.0

_CAN = QgsVectorDataProvider.Capability


def check_layer(layer: Optional[QgsMapLayer]) -> QgsVectorLayer:
    """Return a review layer; raise LayerError if it is none, or its review cannot be written."""
    choose = tr("Select the result of Find places to review or Compare road networks in the layer panel.")
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
        raise LayerError(
            tr("The field “{field}” of the layer {layer} is not a text field.").format(
                field=REVIEW, layer=layer.name()
            ),
            tr("Rename the field, so that the review gets its own field."),
        )
    return layer


class ReviewLines:
    """The lines of a layer that a person has to judge, each with an answer or none.

    Answers are written at once, by the layer's data provider: nothing waits for a Save, which a crash would lose. The
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
        self.answers: dict[int, str] = {}
        self._kinds: dict[int, str] = {}
        self._places: dict[int, QgsPointXY] = {}
        self._priorities: dict[int, float] = {}
        self._meters = QgsUnitTypes.fromUnitToUnitFactor(crs.mapUnits(), Qgis.DistanceUnit.Meters)
        self._skipped: set[int] = set()
        self._past: list[tuple[int, str]] = []  # a line's answer before it was decided or skipped
        wanted = (CHANGE, REVIEW, PRIORITY, *SAMPLE_FIELDS)
        names = [name for name in dict.fromkeys(wanted) if layer.fields().lookupField(name) >= 0]
        has_review, has_priority = REVIEW in names, PRIORITY in names
        request = QgsFeatureRequest().setDestinationCrs(crs, QgsProject.instance().transformContext())
        request.setSubsetOfAttributes(names, layer.fields())
        of_sample: dict[int, dict[str, Any]] = {}
        for line in layer.getFeatures(request):
            bounds, kind = line.geometry().boundingBox(), word_in(line[CHANGE])
            if kind in ANSWERS and not line.geometry().isEmpty() and bounds.isFinite():
                self._kinds[line.id()] = kind
                self.answers[line.id()] = word_in(line[REVIEW] or None) if has_review else ""
                self._places[line.id()] = bounds.center()
                priority = number_in(line[PRIORITY]) if has_priority else 0.0
                self._priorities[line.id()] = priority if isfinite(priority) else 0.0
                if kind in KINDS:
                    word = answer_of(kind, self.answers[line.id()])
                    values = {name: (line[name] or None) if name in names else None for name in SAMPLE_FIELDS}
                    of_sample[line.id()] = {**values, REVIEW: word}
        self.sample = Sample(of_sample)
        self._far_share = 1.0 if of_sample else 0.5
        # Those of one priority are in the order of the layer.
        self._order = sorted(self.answers, key=lambda line: -self._priorities[line])
        self._left = {line for line, word in self.answers.items() if not answer_of(self._kinds[line], word)}
        self._cells: dict[tuple[int, int], list[int]] = {}
        for line in self._places.keys() - of_sample.keys():
            self._cells.setdefault(self._cell(self._places[line]), []).append(line)

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
        """Return the id of the line without an answer that pays most from a place on, or is nearest to it.

        Places of an accuracy sample come in its order wherever they are: the first ones are a random sample, too.
        Skipped ones come when there is no other.
        """
        if len(self._skipped) == len(self._left):
            self._skipped.clear()
        column, row = self._cell(place)
        near = [each for x in range(column - 1, column + 2) for y in range(row - 1, row + 2)
                for each in self._cells.get((x, y), ()) if self._waits(each)]  # fmt: skip
        found = max(near, key=lambda line: self._worth(line, place), default=None)
        best = (-inf, -inf) if found is None else self._worth(found, place)
        for line in self._order:
            most = self._priorities[line] * self._far_share
            if most < best[0] or (most == best[0] and (near or self._kinds[line] in KINDS)):
                break  # No other is worth more, or comes earlier.
            if self._waits(line) and self._worth(line, place) > best:
                best, found = self._worth(line, place), line
        return found

    def _cell(self, place: QgsPointXY) -> tuple[int, int]:
        """Return the square of VIEW_M in which a place lies: what is in view of it lies there, or in those around."""
        return floor(place.x() * self._meters / VIEW_M), floor(place.y() * self._meters / VIEW_M)

    def _waits(self, line: int) -> bool:
        return line in self._left and line not in self._skipped

    def _worth(self, line: int, place: QgsPointXY) -> tuple[float, float]:
        """Return how much a line pays from a place on, and its nearness, which orders those that pay the same."""
        distance = 0.0 if self._kinds[line] in KINDS else self._places[line].distance(place)
        return self._priorities[line] / (1 + min(distance * self._meters / VIEW_M, 1)), -distance

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
        (self._left.discard if answer_of(self._kinds[line], answer) else self._left.add)(line)
        self.sample.answer(line, answer)


def check_written(layer: QgsVectorLayer, is_written: bool) -> None:
    """Raise OutputError if a layer's data provider has not written what it was asked to."""
    if not is_written:
        provider = layer.dataProvider()
        reason = "; ".join(provider.errors())
        provider.clearErrors()
        raise OutputError(
            tr("The review cannot be written to the layer {layer} ({reason}).").format(
                layer=layer.name(), reason=reason
            ),
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
