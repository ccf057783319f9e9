"""Label layers of a live session, watched: which features were drawn, changed or erased since the last message.

Scope: vector layers, edit buffers, CRS. Independent of the worker. Unsaved edits count; a feature that only gets
another id, as it is saved, has not changed.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import Any, NamedTuple, Optional

from qgis.core import (
    NULL,
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransform,
    QgsCsException,
    QgsFeature,
    QgsFeatureRequest,
    QgsGeometry,
    QgsProject,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QObject, QTimer, pyqtSignal

from ....training_core.jobs.fields import METERS, NO, number_in, word_in
from ...layers.label_layers import AOI, NO_ROAD, ROADS, SURE_FIELD, WIDTH_FIELD
from ...layers.snapshot import LayerSnapshot
from ...translation import tr

# Changes within this time are sent together.
COALESCE_MS = 150
# A layer is read in slices of this time, between which QGIS answers.
SLICE_S = 0.015
# Features of a layer that are read one by one; more are found quicker by reading all.
MAX_SINGLE = 500
# Decimals of coordinates in meters, and in degrees.
METER_DECIMALS, DEGREE_DECIMALS = 3, 9


class Content(NamedTuple):
    """A feature as the worker gets it; see the contract."""

    geometry: str
    width_m: Optional[float]
    sure: bool


@dataclass(frozen=True)
class Label:
    """A feature that the worker knows, of the label layer roads, aoi or no_road."""

    layer: str
    key: str
    content: Content


def decimals_of(crs: QgsCoordinateReferenceSystem) -> int:
    """Return the number of decimals of coordinates in a CRS."""
    return DEGREE_DECIMALS if crs.isGeographic() else METER_DECIMALS


class LabelWatcher(QObject):
    """Watches the three label layers, and reports changes that the worker does not know yet.

    Signals
    -------
    changed(list)
        Changes as the contract has them: dictionaries.
    forgotten(list)
        Labels that the worker of an earlier session knows, and no layer has any more.
    lost(str, str)
        A watched layer was removed: which one, and its name.
    failed(str)
        A layer cannot be read; the message says why.
    """

    changed = pyqtSignal(list)
    forgotten = pyqtSignal(list)
    lost = pyqtSignal(str, str)
    failed = pyqtSignal(str)

    def __init__(self, crs: QgsCoordinateReferenceSystem, known: Iterable[Label] = ()) -> None:
        super().__init__()
        self._crs = crs
        self._known: dict[str, dict[Hashable, tuple[str, Content]]] = {ROADS: {}, AOI: {}, NO_ROAD: {}}
        self._earlier: dict[str, set[str]] = {name: set() for name in self._known}  # until the layer was first read
        largest = 0
        for label in known:
            self._known[label.layer][("known", label.key)] = (label.key, label.content)
            self._earlier[label.layer].add(label.key)
            largest = max(largest, int(label.key) if label.key.isdecimal() else 0)
        self._keys = map(str, count(largest + 1))
        self._watched: dict[str, _WatchedLayer] = {}
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._collect)

    def watch(self, name: str, layer: Optional[QgsVectorLayer]) -> None:
        """Watch a layer in place of the former one; with None, the worker keeps the known features."""
        former = self._watched.pop(name, None)
        if former is not None:
            former.close()
        # The ids of another layer mean other features.
        self._known[name] = {("known", key): (key, content) for key, content in self._known[name].values()}
        if layer is not None:
            self._watched[name] = _WatchedLayer(layer, self._crs, self._wake, lambda: self._on_lost(name))
            self._timer.start(0)

    def layer(self, name: str) -> Optional[QgsVectorLayer]:
        """Return the layer that is watched as this one; None without one."""
        watched = self._watched.get(name)
        return None if watched is None else watched.layer

    def count(self, name: str) -> int:
        """Return how many features of a label layer the worker knows."""
        return len(self._known[name])

    def close(self) -> None:
        """Watch nothing any more."""
        self._timer.stop()
        for watched in self._watched.values():
            watched.close()
        self._watched = {}

    def _wake(self) -> None:
        if not self._timer.isActive():
            self._timer.start(COALESCE_MS)

    def _on_lost(self, name: str) -> None:
        layer_name = self._watched.pop(name).name  # of the layer itself nothing is left in Python
        self.watch(name, None)
        self.lost.emit(name, layer_name)

    def _collect(self) -> None:
        """Read changes for one time slice, report them, and schedule the rest."""
        end_s = monotonic() + SLICE_S
        for name, watched in list(self._watched.items()):
            if not watched.is_dirty:
                continue
            if not watched.read_until(end_s):
                self._timer.start(0)
                return
            for message in watched.take_problems():
                self.failed.emit(message)
            candidates: Iterable[Hashable] = list(self._known[name]) if watched.is_complete else watched.asked
            changes = self._reconcile(name, watched.take_found(), candidates)
            if changes:
                self.changed.emit(changes)
            if any(each.is_dirty for each in self._watched.values()):
                self._timer.start(0)  # the next layer in another turn of the event loop
            return

    def _reconcile(
        self, name: str, found: Mapping[Hashable, Content], candidates: Iterable[Hashable]
    ) -> list[dict[str, Any]]:
        """Return the differences from the worker's knowledge, and record them as known."""
        known = self._known[name]
        gone = [feature_id for feature_id in candidates if feature_id in known and feature_id not in found]
        same: dict[Content, list[Hashable]] = {}
        for feature_id in gone:
            same.setdefault(known[feature_id][1], []).append(feature_id)
        changes = []
        for feature_id, content in found.items():
            key, former = known.get(feature_id, ("", None))
            if content == former:
                continue
            if former is None and same.get(content):  # it has only got another id
                known[feature_id] = known.pop(same[content].pop())
                continue
            known[feature_id] = (key or next(self._keys), content)
            changes.append({"layer": name, "id": known[feature_id][0], **content._asdict()})
        left = [known.pop(feature_id) for feature_id in gone if feature_id in known]
        earlier = [Label(name, key, content) for key, content in left if key in self._earlier[name]]
        self._earlier[name] = set()
        if earlier:
            self.forgotten.emit(earlier)
        return [{"layer": name, "id": key, "geometry": None} for key, _ in left] + changes


class _WatchedLayer:
    """A layer, its unread changes, and the features read so far."""

    def __init__(self, layer: QgsVectorLayer, crs: QgsCoordinateReferenceSystem, wake: Any, on_lost: Any) -> None:
        self.layer, self.name = layer, layer.name()
        # What is read: the whole layer, or the features that were asked for.
        self.is_complete, self.asked = False, set[int]()
        self._crs, self._wake = crs, wake
        self._is_all_dirty = True
        self._dirty: set[int] = set()
        self._reading: Optional[Iterator[QgsFeature]] = None
        self._found: dict[Hashable, Content] = {}
        self._problems: list[str] = []
        self._connections = [
            layer.featureAdded.connect(self._mark),
            layer.featureDeleted.connect(self._mark),
            layer.featuresDeleted.connect(self._mark_several),
            layer.geometryChanged.connect(self._mark),
            layer.attributeValueChanged.connect(self._mark),
            layer.afterCommitChanges.connect(self._mark_all),
            layer.afterRollBack.connect(self._mark_all),
            layer.dataChanged.connect(self._mark_all),
            layer.subsetStringChanged.connect(self._mark_all),
            layer.updatedFields.connect(self._mark_all),
            layer.crsChanged.connect(self._mark_all),
            layer.dataSourceChanged.connect(self._mark_all),
            layer.willBeDeleted.connect(on_lost),
        ]

    @property
    def is_dirty(self) -> bool:
        """Whether there is something to read."""
        return self._is_all_dirty or bool(self._dirty) or self._reading is not None

    def close(self) -> None:
        """Watch no more."""
        for connection in self._connections:
            QObject.disconnect(connection)
        self._connections, self._reading = [], None

    def read_until(self, end_s: float) -> bool:
        """Read what has to be read, or go on with it; return whether it is done by then."""
        if self._reading is None:
            self._begin()
        for feature in self._reading:
            content = self._content(feature)
            if content is not None:
                self._found[feature.id()] = content
            if monotonic() > end_s:
                return False
        self._reading = None
        return True

    def take_found(self) -> dict[Hashable, Content]:
        """Return the read features, by id."""
        found, self._found = self._found, {}
        return found

    def take_problems(self) -> list[str]:
        """Return why features could not be read."""
        problems, self._problems = self._problems, []
        return problems

    def _mark(self, feature_id: int, *_: Any) -> None:
        self._dirty.add(feature_id)
        self._wake()

    def _mark_several(self, feature_ids: Iterable[int]) -> None:
        self._dirty.update(feature_ids)
        self._wake()

    def _mark_all(self, *_: Any) -> None:
        self._is_all_dirty = True
        self._wake()

    def _begin(self) -> None:
        self.is_complete = self._is_all_dirty or len(self._dirty) > MAX_SINGLE
        self.asked, self._dirty, self._is_all_dirty = self._dirty, set(), False
        fields = self.layer.fields()
        self._width, self._sure = fields.lookupField(WIDTH_FIELD), fields.lookupField(SURE_FIELD)
        self._decimals = decimals_of(self._crs)
        self._transform = QgsCoordinateTransform(self.layer.crs(), self._crs, QgsProject.instance())
        if not self.layer.crs().isValid():
            self._note(tr("The layer {layer} has no coordinate reference system. The image's is assumed."))
        request = QgsFeatureRequest().setSubsetOfAttributes([each for each in (self._width, self._sure) if each >= 0])
        if not self.is_complete:
            request.setFilterFids(list(self.asked))
        self._snapshot = LayerSnapshot(self.layer, False)
        self._reading = self._snapshot.getFeatures(request)

    def _content(self, feature: QgsFeature) -> Optional[Content]:
        """Return a feature's content; None where its geometry is missing or cannot be transformed."""
        geometry = QgsGeometry(feature.geometry())
        if geometry.isNull() or geometry.isEmpty():
            return None
        geometry.convertToStraightSegment()
        geometry.get().dropZValue()
        geometry.get().dropMValue()
        try:
            geometry.transform(self._transform)
        except QgsCsException:
            geometry = QgsGeometry()
        if geometry.isNull() or not geometry.boundingBox().isFinite():
            self._note(tr("Features of the layer {layer} cannot be transformed to the image's CRS and are left out."))
            return None
        sure = self._sure < 0 or word_in(feature.attribute(self._sure)) not in NO
        return Content(geometry.asWkt(self._decimals), self._width_m(feature), sure)

    def _width_m(self, feature: QgsFeature) -> Optional[float]:
        """Return a road's width, read as the core reads it; None where there is none."""
        value = feature.attribute(self._width) if self._width >= 0 else NULL
        text = "" if value is None or value == NULL else str(value).strip()
        width_m = number_in(text, METERS)
        if text and math.isnan(width_m):
            self._note(tr("Some road widths in the layer {layer} are not numbers. These roads get the common width."))
        return width_m if 0 < width_m < math.inf else None

    def _note(self, text: str) -> None:
        """Note a problem of the layer, which the text names, once."""
        problem = text.format(layer=self.layer.name())
        if problem not in self._problems:
            self._problems.append(problem)
