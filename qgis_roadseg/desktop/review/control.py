"""The review of a layer: joins its lines, the panel and the map.

Scope: what follows from what. Independent of how lines are read and written.
"""

from __future__ import annotations

from typing import Any, Optional

from qgis.core import Qgis, QgsDistanceArea, QgsFeature, QgsPointXY, QgsProject, QgsVectorLayer
from qgis.gui import QgisInterface
from qgis.PyQt.QtCore import QObject, Qt

from ....training_core.errors import RoadSegError
from ....training_core.jobs.fields import word_in
from ....training_core.jobs.review import (
    ACCEPTED,
    ANSWERS,
    CHANGE,
    CROSSING,
    DISPLACED,
    LOST,
    NEW,
    REJECTED,
    ROAD,
    SAMPLED,
)
from ...translation import tr
from ..dialogs import show_message
from ..tracing.control import Tracing
from .map_view import LineView
from .network_review import NetworkReview
from .network_verdicts import is_network
from .panel import BACK, SKIP, ZOOM, ReviewPanel
from .review_lines import ReviewLines, check_layer, note_for


class Review:
    """The review in a window: one layer at a time."""

    def __init__(self, window: QgisInterface, tracing: Tracing) -> None:
        self._window, self._tracing = window, tracing
        self.panel: Optional[ReviewPanel] = None
        self._view: Optional[LineView] = None
        self._layer: Optional[QgsVectorLayer] = None
        self._lines: Optional[ReviewLines] = None
        self._line: Optional[int] = None
        self._network: Optional[NetworkReview] = None
        self._place = QgsPointXY()
        self._connections: list[Any] = []

    def begin(self) -> None:
        """Review the current layer from the middle of the map on; or say why that cannot be."""
        layer = self._window.activeLayer()
        try:
            if is_network(layer):
                self._begin_network(layer)
                return
            layer = check_layer(layer)
        except RoadSegError as error:
            show_message(self._window, str(error), Qgis.MessageLevel.Warning)
            return
        self.end()
        self._open_panel()
        self._layer = layer
        self._connections = [
            QgsProject.instance().layersWillBeRemoved.connect(self._on_removed),
            layer.editingStarted.connect(self._read),
            layer.editingStopped.connect(self._read),
            layer.dataSourceChanged.connect(self._read),
            self._window.mapCanvas().destinationCrsChanged.connect(self._read),
        ]
        self._read()
        self._window.mapCanvas().setFocus()

    def _begin_network(self, layer: QgsVectorLayer) -> None:
        self.end()
        self._open_panel()
        self._network = NetworkReview(self._window, self.panel, layer, self._tracing)
        self._connections = [
            QgsProject.instance().layersWillBeRemoved.connect(self._on_removed),
            layer.dataSourceChanged.connect(self.end),
            layer.crsChanged.connect(self.end),
        ]
        self._window.mapCanvas().setFocus()

    def end(self) -> None:
        """Let go of the layer; the next review of it goes on with the lines that are left."""
        if self._network is not None:
            self._network.end()
            self._network = None
        for connection in self._connections:
            QObject.disconnect(connection)
        self._connections = []
        self._layer = self._lines = self._line = None
        if self.panel is not None:
            self._view.clear()
            self.panel.show_layer("")
            self.panel.show_line("")

    def close(self) -> None:
        """Remove the panel: the plugin is unloaded."""
        self.end()
        if self.panel is not None:
            self.panel.close_for_good()
            self._view.close()
            self._window.removeDockWidget(self.panel)
            self.panel.deleteLater()
            self.panel = self._view = None

    def _open_panel(self) -> None:
        if self.panel is None:
            canvas = self._window.mapCanvas()
            self.panel, self._view = ReviewPanel(canvas, self._window.mainWindow()), LineView(canvas)
            self.panel.asked.connect(self._on_asked)
            self.panel.closed.connect(self.end)
            self._window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.panel)
        self.panel.setUserVisible(True)

    def _read(self) -> None:
        """Read the lines as they are now, and begin where the map is; wait while someone edits the layer."""
        canvas = self._window.mapCanvas()
        try:
            layer = check_layer(self._layer)  # which may have got another source
        except RoadSegError as error:
            self.end()
            self.panel.tell(str(error))
            return
        self.panel.show_layer(layer.name(), note_for(layer))
        self._lines = self._line = None
        if layer.isEditable():
            self._view.clear()
            self.panel.show_line(tr("The layer is being edited. Save or discard its edits to continue the review."))
            return
        self._lines = ReviewLines(layer, canvas.mapSettings().destinationCrs())
        self._place = canvas.center()
        self._go_on()

    def _on_asked(self, what: str) -> None:
        self.panel.tell("")
        try:
            if self._network is not None:
                self._network.act(what)
            elif what == BACK:
                self._show(self._lines.back())
            elif not self._lines.feature(self._line).isValid():
                self._read_again()
            elif self._lines.take_over(self._line):
                self._go_on()
                self.panel.tell(tr("The line was reviewed elsewhere in the meantime. Its answer stays."))
            elif what == SKIP:
                self._lines.skip(self._line)
                self._go_on()
            elif what == ZOOM:
                self._view.zoom()
            else:
                self._lines.decide(self._line, what)
                self._go_on()
        except RoadSegError as error:
            self.panel.tell(str(error))

    def _go_on(self) -> None:
        """Show the next line that is left, those near this one first: so one neighborhood comes after the other."""
        line = self._lines.next(self._place)
        while line is not None and self._lines.take_over(line):
            line = self._lines.next(self._place)
        if line is not None:
            self._show(line)
            return
        self._line = None
        self._view.clear()
        if self._lines.answers:
            text = tr("The review is complete: {accepted} accepted, {rejected} rejected.")
            text = text.format(accepted=self._lines.count(ACCEPTED), rejected=self._lines.count(REJECTED))
        else:
            text = tr("The layer has no lines of a kind that is reviewed, so there is nothing to review.")
        self._offer(text)

    def _show(self, line: int) -> None:
        """Show a line on the map, and what is asked about it."""
        feature = self._lines.feature(line)
        if not feature.isValid():
            self._read_again()
            return
        self._line = line
        geometry = feature.geometry()
        geometry.transform(self._window.mapCanvas().mapSettings().layerTransform(self._layer))
        self._view.show(geometry)
        self._place = geometry.boundingBox().center()
        kind = word_in(feature[CHANGE])
        self._offer(self._question(feature), (*ANSWERS[kind], ZOOM))

    def _read_again(self) -> None:
        self._read()
        self.panel.tell(tr("Some lines were deleted in the meantime. They are left out."))

    def _offer(self, text: str, answers: tuple[str, ...] = ()) -> None:
        self.panel.show_line(text, answers, self._lines.can_go_back)
        total = len(self._lines.answers)
        self.panel.show_progress(total - self._lines.left, total, self._lines.sample.summary())

    def _question(self, feature: QgsFeature) -> str:
        measure = QgsDistanceArea()
        measure.setSourceCrs(self._layer.crs(), QgsProject.instance().transformContext())
        measure.setEllipsoid("WGS84")
        words = {
            NEW: tr("<b>New road</b>, {length}. Accept if the image shows a road here."),
            LOST: tr("<b>Lost road</b>, {length}. Accept if the image shows that the road no longer exists."),
            DISPLACED: tr("<b>Displaced road</b>, {length}. Accept if the image shows the road beside the line."),
            ROAD: tr("<b>Road</b>, {length}. Accept if the image shows a road here."),
            SAMPLED: tr("<b>Sampled road</b>, {length}. Accept if most of it lies on a road."),
            CROSSING: tr("<b>Transect</b>, {length}. How many roads cross it that the network lacks?"),
        }
        return words[word_in(feature[CHANGE])].format(length=f"{measure.measureLength(feature.geometry()):,.0f} m")

    def _on_removed(self, layer_ids: list[str]) -> None:
        own = (self._layer.id(),) if self._network is None else self._network.layer_ids
        gone = [QgsProject.instance().mapLayer(each) for each in own if each in layer_ids]
        if gone:
            text = tr("The layer {layer} was removed. The review has ended.").format(layer=gone[0].name())
            self.end()
            self.panel.tell(text)
