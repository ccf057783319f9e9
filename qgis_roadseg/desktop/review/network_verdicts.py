"""Verdicts on the lines of a network, in a review layer beside it: the network itself stays as it is.

Scope: features of both layers. Independent of the window.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Optional

from qgis.core import (
    Qgis,
    QgsFeature,
    QgsFeatureRequest,
    QgsGeometry,
    QgsPointXY,
    QgsProject,
    QgsProviderRegistry,
    QgsRectangle,
    QgsSpatialIndex,
    QgsVectorFileWriter,
    QgsVectorLayer,
    QgsVectorLayerUtils,
)

from ....training_core.errors import LayerError, OutputError
from ....training_core.jobs.fields import word_in
from ....training_core.jobs.review import (
    ACCEPTED,
    CHANGE,
    DRAWN,
    REJECTED,
    REVIEW,
    REVIEWED,
    REVIEWED_AT,
    REVIEWER,
    ROAD,
    STATUS,
    VERDICTS,
)
from ...layers import work_area
from ...layers.styles import style_file
from ...translation import tr
from ..live.label_files import file_of, name_in_file
from .review_lines import check_written, signature

# The number of a line in its network.
LINE = "line"
_FIELDS = f"field={CHANGE}:string&field={REVIEW}:string&field={LINE}:int8&field={REVIEWER}:string"
# A line is decided but for this fraction of its length, and verdicts lie on it to within the other one.
_REST, _ROUNDING = 0.01, 1e-4


def verdict_layer(network: QgsVectorLayer) -> QgsVectorLayer:
    """Return the layer of verdicts on a network from the project or its file; made where there is none.

    It lies beside the network's file: roads.gpkg has "roads review.gpkg", with the layer's name where that is another.
    Raises LayerError if the network is in no file, and OutputError if the layer cannot be written or is another one.
    """
    file = file_of(network)
    if not file:
        text = tr("The layer {layer} has no file, so its review cannot be written beside it.")
        raise LayerError(
            text.format(layer=network.name()),
            tr("Save it as a GeoPackage (Make Permanent or Export in its menu), and review that layer."),
        )
    work_area.check_image_crs(network)
    path = _review_path(network, Path(file))
    layers = QgsProject.instance().mapLayers().values()
    known = (each for each in layers if isinstance(each, QgsVectorLayer) and Path(file_of(each)) == path)
    layer = next(known, None)
    if layer is None:
        if not os.path.lexists(path):
            _create(path, network)
        layer = QgsVectorLayer(str(path), tr("Review of {layer}").format(layer=network.name()), "ogr")
        layer.loadNamedStyle(str(style_file("verdicts")))
    has_fields = layer.isValid() and min(map(layer.fields().lookupField, (CHANGE, REVIEW, LINE))) >= 0
    # Another CRS is that of another network, such as roads.geojson beside roads.gpkg.
    if not has_fields or layer.crs() != network.crs():
        raise OutputError(tr("{path} is not the review of this network.").format(path=path), tr("Rename the file."))
    QgsProject.instance().addMapLayer(layer)
    return layer


def _review_path(network: QgsVectorLayer, file: Path) -> Path:
    """Return the file of verdicts on a network in a file, which may have other networks."""
    name = name_in_file(network)
    if not name and network.dataProvider().storageType() == "GPKG":
        name = QgsProviderRegistry.instance().querySublayers(str(file))[0].name()
    own = re.sub(r'[\\/:*?"<>|]', "_", name) if name != file.stem else ""
    return file.with_name(" ".join(filter(None, (file.stem, own, "review.gpkg"))))


def _create(path: Path, network: QgsVectorLayer) -> None:
    empty = QgsVectorLayer(f"MultiLineString?{_FIELDS}&field={REVIEWED_AT}:datetime", "review", "memory")
    empty.setCrs(network.crs())
    options = QgsVectorFileWriter.SaveVectorOptions()
    options.layerName = "review"
    context = QgsProject.instance().transformContext()
    error, reason, *_ = QgsVectorFileWriter.writeAsVectorFormatV3(empty, str(path), context, options)
    if error != QgsVectorFileWriter.WriterError.NoError:
        text = tr("The review cannot be written to {path} ({reason}).").format(path=path, reason=reason)
        raise OutputError(text, tr("Copy the network to a folder in which you can write."))


class NetworkVerdicts:
    """The lines of a network that a person has still to judge, and the verdicts on the others.

    A verdict is a feature of the layer of verdicts, written at once. Shapes and places are in the network's CRS.
    """

    def __init__(self, network: QgsVectorLayer, layer: QgsVectorLayer) -> None:
        self._network, self._layer = network, layer
        self._past: list[tuple[list[int], list[int]]] = []  # verdicts written together, and the lines they decided
        self._skipped: set[int] = set()
        given = QgsSpatialIndex(QgsSpatialIndex.Flag.FlagStoreFeatureGeometries)
        given.addFeatures([each for each in layer.getFeatures() if word_in(each[REVIEW] or None) in VERDICTS])
        wanted = [STATUS] if network.fields().lookupField(STATUS) >= 0 else []
        lines = network.getFeatures(QgsFeatureRequest().setSubsetOfAttributes(wanted, network.fields()))
        self._left = {
            each.id(): each
            for each in lines
            if not (wanted and word_in(each[STATUS] or None) in (REVIEWED, DRAWN))
            and each.geometry().length() > 0
            and not _is_decided(each.geometry(), given)
        }
        self._index = QgsSpatialIndex()
        self._index.addFeatures(list(self._left.values()))

    @property
    def left(self) -> int:
        """How many lines have no verdict for the whole of them."""
        return len(self._left)

    @property
    def can_go_back(self) -> bool:
        """Whether a verdict was given."""
        return bool(self._past)

    def count_in(self, view: QgsRectangle) -> int:
        """Return how many lines of a view are left."""
        return len(self._in(view))

    def accept_in(self, view: QgsRectangle) -> None:
        """Accept the lines of a view that are left, wherever nobody has rejected them; raise OutputError if it fails.

        A rejected part counts as rejected although its line is accepted.
        """
        lines = self._in(view)
        self._write([(self._left[line].geometry(), line) for line in lines], ACCEPTED, lines)

    def reject(self, brush: QgsGeometry) -> bool:
        """Reject the parts of lines under a brush, and return whether there are any; raise OutputError if it fails."""
        parts = [(each.geometry().intersection(brush), each.id()) for each in self._near(brush.boundingBox())]
        parts = [(part, line) for part, line in parts if not part.isEmpty() and part.length() > 0]
        self._write(parts, REJECTED, [])
        return bool(parts)

    def reject_at(self, place: QgsPointXY, tolerance: float) -> bool:
        """Reject the whole line nearest to a place, and return whether there is one within the tolerance."""
        at = QgsGeometry.fromPointXY(place)
        near = list(self._near(QgsRectangle(place, place).buffered(tolerance)))
        line = min(near, key=lambda each: each.geometry().distance(at), default=None)
        if line is None or line.geometry().distance(at) > tolerance:
            return False
        self._write([(line.geometry(), line.id())], REJECTED, [line.id()])
        return True

    def skip(self, view: QgsRectangle) -> None:
        """Leave the lines of a view for later."""
        self._skipped.update(self._in(view))

    def next(self, place: QgsPointXY) -> Optional[QgsPointXY]:
        """Return the middle of the nearest line that is left; skipped ones come when there is no other."""
        for skipped in (self._skipped, set()):
            for line in self._index.nearestNeighbor(place, 1 + len(skipped)):
                if line not in skipped:
                    return self._left[line].geometry().boundingBox().center()
            self._skipped = set()
        return None

    def back(self) -> None:
        """Take the verdicts back that were written last; raise OutputError if that fails."""
        written, lines = self._past[-1]
        request = QgsFeatureRequest().setFilterFids(written).setNoAttributes()
        there = [each.id() for each in self._layer.getFeatures(request)]  # a person may have deleted some
        check_written(self._layer, not there or self._layer.dataProvider().deleteFeatures(there))
        self._past.pop()
        for line in self._network.getFeatures(QgsFeatureRequest().setFilterFids(lines).setNoAttributes()):
            self._left[line.id()] = line
            self._index.addFeature(line)
        self._layer.triggerRepaint()

    def _in(self, view: QgsRectangle) -> list[int]:
        """Return the lines that are left with their middle in a view."""
        return [
            line
            for line in self._index.intersects(view)
            if view.contains(self._left[line].geometry().boundingBox().center())
        ]

    def _near(self, box: QgsRectangle) -> Iterator[QgsFeature]:
        return self._network.getFeatures(QgsFeatureRequest(box).setNoAttributes())

    def _write(self, shapes: Iterable[tuple[QgsGeometry, int]], verdict: str, decided: list[int]) -> None:
        fields = self._layer.fields()
        values = {CHANGE: ROAD, REVIEW: verdict, **signature(fields, is_answered=True)}
        features = []
        for shape, line in shapes:
            own = {fields.lookupField(name): value for name, value in {**values, LINE: line}.items()}
            shape.convertToMultiType()
            features.append(QgsVectorLayerUtils.createFeature(self._layer, shape, own))
        if not features:
            return
        is_written, features = self._layer.dataProvider().addFeatures(features)
        check_written(self._layer, is_written)
        decided = [line for line in decided if line in self._left]
        self._past.append(([each.id() for each in features], decided))
        for line in decided:
            self._index.deleteFeature(self._left.pop(line))
        self._layer.updateExtents()
        self._layer.triggerRepaint()


def _is_decided(line: QgsGeometry, given: QgsSpatialIndex) -> bool:
    """Return whether verdicts were given for all of a line, by their places: numbers of lines change with the file."""
    bounds, length = line.boundingBox(), line.length()
    shapes = [given.geometry(each) for each in given.intersects(bounds)]
    if not shapes or any(each.boundingBox() == bounds and each.isGeosEqual(line) for each in shapes):
        return bool(shapes)
    around = QgsGeometry.unaryUnion(shapes).buffer(_ROUNDING * length, 2)
    return line.difference(around).length() < _REST * length


def is_network(layer: Any) -> bool:
    """Return whether a layer is one of lines without kinds of places: a network that may be reviewed as a whole."""
    is_lines = isinstance(layer, QgsVectorLayer) and layer.geometryType() == Qgis.GeometryType.Line
    return bool(is_lines and layer.fields().lookupField(CHANGE) < 0)
