"""The threshold by eye in a window: joins a road probability, the panel, the map and a worker that finds lines.

Scope: what follows from what. Independent of how lines are found.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Optional

from qgis.core import (
    Qgis,
    QgsCoordinateTransform,
    QgsCsException,
    QgsGeometry,
    QgsProcessing,
    QgsProcessingOutputLayerDefinition,
    QgsProject,
    QgsRasterLayer,
)
from qgis.gui import QgisInterface
from qgis.PyQt.QtCore import QObject, Qt, QTimer
from qgis.PyQt.QtGui import QColor

from ....training_core.errors import RoadSegError, RuntimeEnvironmentError
from ...translation import tr
from ..dialogs import open_dialog, show_message, show_missing_runtime
from ..probability import Sessions, choose_probability, forget_choice, is_probability
from ..review.painting import PaintingTool
from ..session_client import SessionClient
from ..tasks import run_algorithm
from .choice import Choice, area_layer, keep_choice, polygons, read_choice
from .map_view import ThresholdView
from .panel import EXTRACT, FEWER, MORE, UNDO, ThresholdPanel

# The slider rests, or the map, if nothing has come for so long.
REST_MS = 150
# A smaller area is a slip of the hand. Vertices of a lasso are left out that change it by less than a pixel. A stroke
# that surrounds less of its rectangle goes across it.
_LEAST_PX, _STRAIGHT_PX, _ACROSS = 10, 1, 0.2
_PEN, _PEN_PX = QColor(255, 214, 0), 2


class Threshold:
    """The panel in a window: one probability at a time."""

    def __init__(self, window: QgisInterface) -> None:
        self._window, self._canvas = window, window.mapCanvas()
        self.panel: Optional[ThresholdPanel] = None
        self._sessions = Sessions(self._on_ended)
        self._session: Optional[SessionClient] = None
        self._layer: Optional[QgsRasterLayer] = None
        self._view: Optional[ThresholdView] = None
        self._choice, self._asked, self._is_more = Choice(), 0, True
        self._tool: Optional[PaintingTool] = None
        self._timer = QTimer()
        self._timer.setSingleShot(True)
        self._timer.setInterval(REST_MS)
        self._timer.timeout.connect(self._ask)
        self._connections: list[Any] = []

    def begin(self) -> None:
        """Open the panel on the current layer, or else the project's road probability; or say why that cannot be."""
        active, question = self._window.activeLayer(), tr("Road probability to choose a threshold for:")
        try:
            layer = active if is_probability(active) else choose_probability(self._window, tr("Threshold"), question)
            if layer is not None and layer is not self._layer:
                self.end()
                self._begin(layer)
        except RuntimeEnvironmentError as error:
            show_missing_runtime(self._window, str(error))
        except (RoadSegError, OSError) as error:
            show_message(self._window, str(error), Qgis.MessageLevel.Warning)
        if self._layer is not None:
            self.panel.setUserVisible(True)

    def end(self, why: str = "", is_layer_there: bool = True) -> None:
        """Let go of the layer, which keeps the choice and gets its own style back."""
        if self._layer is None:
            return
        self._lay_tool_down()
        self._timer.stop()
        for connection in self._connections:
            QObject.disconnect(connection)
        self._view.close(is_layer_there)
        self._session.stop()
        self._layer = self._view = self._session = None
        self.panel.show_layer("")
        self.panel.note.setText(why)

    def close(self) -> None:
        """Remove the panel, and wait for the worker: the plugin is unloaded."""
        self.end()
        self._sessions.close()
        if self.panel is not None:
            self._window.removeDockWidget(self.panel)
            self.panel.deleteLater()
            self.panel = None

    def _begin(self, layer: QgsRasterLayer) -> None:
        session = self._sessions.start(layer)
        if self.panel is None:
            self.panel = ThresholdPanel(self._window.mainWindow())
            self.panel.moved.connect(lambda threshold: self._choose(replace(self._choice, threshold=threshold)))
            self.panel.asked.connect(self._on_asked)
            self.panel.closed.connect(self.end)
            self._window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.panel)
        self._layer, self._session, self._view = layer, session, ThresholdView(self._canvas, layer)
        self._connections = [
            session.received.connect(self._hear),
            session.noted.connect(self.panel.note.setText),
            QgsProject.instance().layersWillBeRemoved.connect(self._on_removed),
            layer.crsChanged.connect(self.end),
            layer.dataSourceChanged.connect(self.end),
            self._canvas.extentsChanged.connect(self._timer.start),
            self._canvas.mapToolSet.connect(lambda tool: self._lay_tool_down() if tool is not self._tool else None),
        ]
        self.panel.show_layer(layer.name())
        self._choose(read_choice(layer))

    def _choose(self, choice: Choice) -> None:
        """Show a choice at once, keep it, and have the lines follow."""
        self._choice = choice
        self._view.show_choice(choice)
        self.panel.show_choice(choice.threshold, len(choice.areas))
        keep_choice(self._layer, choice)
        self._timer.start()

    def _on_asked(self, what: str) -> None:
        self.panel.note.setText("")
        if what in (MORE, FEWER):
            self._take_tool_up(what)
        elif what == UNDO:
            self._choose(replace(self._choice, areas=self._choice.areas[:-1]))
        elif what == EXTRACT:
            self._extract()
        else:
            open_dialog(self._window, what, {"THRESHOLD": self._choice.threshold})

    def _take_tool_up(self, what: str) -> None:
        """Take up the lasso; or lay it down where its button is pressed again."""
        is_same = self._tool is not None and self._is_more == (what == MORE)
        self._lay_tool_down()
        if not is_same:
            self._is_more, self._tool = what == MORE, PaintingTool(self._canvas, _PEN, _PEN_PX)
            self._tool.painted.connect(self._draw)
            self._canvas.setMapTool(self._tool)
            self._canvas.setFocus()
            self.panel.check(what)

    def _lay_tool_down(self) -> None:
        tool, self._tool = self._tool, None
        if tool is not None:
            tool.close()
            self.panel.check("")

    def _draw(self, stroke: QgsGeometry) -> None:
        """Add the area that a stroke goes around, or the rectangle that one goes across, in the map's CRS."""
        unit, bounds = self._canvas.mapUnitsPerPixel(), stroke.boundingBox()
        if bounds.width() * bounds.height() < (_LEAST_PX * unit) ** 2:
            return
        around = polygons(QgsGeometry.fromPolygonXY([stroke.simplify(_STRAIGHT_PX * unit).asPolyline()]))
        is_across = around.area() < _ACROSS * bounds.width() * bounds.height()
        shape = polygons(self._in_layer(QgsGeometry.fromRect(bounds) if is_across else around))
        if not shape.isEmpty():
            self._choose(self._choice.stepped(shape, self._is_more))

    def _ask(self) -> None:
        """Ask for the lines of the view."""
        shape = self._in_layer(QgsGeometry.fromRect(self._canvas.extent()))
        if shape.isEmpty():
            return
        view = shape.boundingBox()
        bounds = [view.xMinimum(), view.yMinimum(), view.xMaximum(), view.yMaximum()]
        choice = asdict(self._choice)
        self._asked = self._session.send_numbered(
            "lines", extent=bounds, threshold=choice["threshold"], areas=choice["areas"]
        )

    def _hear(self, event: Any) -> None:
        if event.kind == "warning":
            self.panel.note.setText(event.message)
        elif event.kind == "lines" and event.sequence == self._asked:
            self._view.show_lines(QgsGeometry.fromWkt(event.geometry or ""))
            self.panel.note.setText(tr("Zoom in to see the lines.") if event.geometry is None else "")

    def _extract(self) -> None:
        """Extract the lines of the whole raster in the background."""
        result = QgsProcessingOutputLayerDefinition(QgsProcessing.TEMPORARY_OUTPUT, QgsProject.instance())
        values = {"INPUT": self._layer.id(), "THRESHOLD": self._choice.threshold, "OUTPUT": result}
        if self._choice.areas:
            values["THRESHOLD_AREAS"] = area_layer(self._choice, self._layer)
        self.panel.buttons[EXTRACT].setEnabled(False)
        run_algorithm("vectorize", values, self._on_extracted)
        self.panel.note.setText(tr("The lines of the whole raster are being extracted in the background."))

    def _on_extracted(self, is_done: bool, error_text: str) -> None:
        if error_text:
            show_message(self._window, error_text, Qgis.MessageLevel.Critical)
        if self._layer is not None:
            self.panel.buttons[EXTRACT].setEnabled(True)
            self.panel.note.setText(tr("The lines of the whole raster are in the project.") * is_done)

    def _in_layer(self, shape: QgsGeometry) -> QgsGeometry:
        """Return a shape of the map in the layer's CRS; empty where it has no place there."""
        crs = self._canvas.mapSettings().destinationCrs()
        try:
            shape.transform(QgsCoordinateTransform(crs, self._layer.crs(), QgsProject.instance()))
        except QgsCsException:
            return QgsGeometry()
        return shape

    def _on_removed(self, layer_ids: list[str]) -> None:
        if self._layer.id() in layer_ids:
            self.end(tr("The layer {layer} was removed.").format(layer=self._layer.name()), is_layer_there=False)

    def _on_ended(self, session: SessionClient, end: Any) -> None:
        if session is self._session:  # which was not asked to
            forget_choice()  # so that another can be chosen
            self.end(str(end))
