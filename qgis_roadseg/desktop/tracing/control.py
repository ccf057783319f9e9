"""Tracing in a window: joins the current line layer, the project's road probability, a worker and the map tool.

Scope: what follows from what. Independent of how lines are drawn and added.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Optional

from qgis.core import Qgis, QgsField, QgsProject, QgsRasterLayer, QgsVectorLayer
from qgis.gui import QgisInterface
from qgis.PyQt.QtCore import QMetaType, QObject, QTimer
from qgis.PyQt.QtWidgets import QAction

from ....training_core.errors import ImageryError, RoadSegError, RuntimeEnvironmentError
from ...translation import tr
from ..dialogs import show_message, show_missing_runtime
from ..probability import Sessions, choose_probability, forget_choice
from ..session_client import SessionClient
from .drawing import Drawing
from .line_layer import STATUS, check_line_layer
from .tool import TracingTool


class Tracing:
    """The map tool in a window: one layer at a time. `action` is checked as long as it draws."""

    def __init__(self, window: QgisInterface) -> None:
        self._window = window
        self.action: Optional[QAction] = None
        self._session: Optional[SessionClient] = None
        self._sessions = Sessions(self._on_ended)
        self._drawing: Optional[Drawing] = None
        self._tool: Optional[TracingTool] = None
        self._connections: list[Any] = []
        self._then: Optional[Callable[[], None]] = None

    def toggle(self) -> None:
        """Take up the tool on the current layer, or say why that cannot be; or lay it down."""
        if self._tool is not None:
            self.end()
            return
        try:
            layer = check_line_layer(self._window.activeLayer())
            question = tr("Road probability along which roads are traced:")
            raster = choose_probability(self._window, tr("Trace roads"), question)
            if raster is not None:
                self._begin(layer, raster)
        except RuntimeEnvironmentError as error:
            show_missing_runtime(self._window, str(error))
        except (RoadSegError, OSError) as error:
            self._tell(str(error))
        self.action.setChecked(self._tool is not None)

    def draw_one(self, layer: QgsVectorLayer, then: Callable[[], None]) -> bool:
        """Take up the tool for one road, and return whether that worked; call `then` after it, or if there is none.

        The layer gets the field `status`, which tells drawn roads. One that is not being edited is saved then: no road
        waits for a Save, which a crash would lose.
        """
        self.end()
        self._window.setActiveLayer(layer)
        saves = not layer.isEditable() and layer.startEditing()
        self.toggle()
        if self._tool is None:
            if saves:
                layer.rollBack()
            return False
        if layer.fields().lookupField(STATUS) < 0:
            layer.addAttribute(QgsField(STATUS, QMetaType.Type.QString))
        self._then = partial(self._after_one, layer, then) if saves else then
        # As soon as the worker's answer is through.
        self._connections.append(layer.editCommandEnded.connect(lambda: QTimer.singleShot(0, self.end)))
        return True

    def _after_one(self, layer: QgsVectorLayer, then: Callable[[], None]) -> None:
        is_drawn = layer.isEditable() and layer.editBuffer().addedFeatures()
        if layer.isEditable() and not (layer.commitChanges() if is_drawn else layer.rollBack()):
            text = tr("The layer {layer} cannot be saved ({reason}).")
            self._tell(text.format(layer=layer.name(), reason=layer.commitErrors()[-1].strip()))
        then()

    def end(self, why: str = "") -> None:
        """Lay the tool down; what is not finished is forgotten."""
        if self._tool is None:
            return
        tool, self._tool = self._tool, None
        for connection in self._connections:
            QObject.disconnect(connection)
        self._connections = []
        self._drawing.close()
        self._session.stop()
        self._session = self._drawing = None
        self._window.mapCanvas().unsetMapTool(tool)
        tool.deleteLater()
        self._tell(why)
        then, self._then = self._then, None
        if then is not None:
            then()

    def close(self) -> None:
        """End all of it, and wait for the worker: the plugin is unloaded."""
        self.end()
        self._sessions.close()

    def _begin(self, layer: Any, raster: QgsRasterLayer) -> None:
        view = self._window.mapCanvas().mapSettings()
        if not raster.extent().intersects(view.mapToLayerCoordinates(raster, view.visibleExtent())):
            forget_choice()  # so that another can be chosen
            raise ImageryError(
                tr("The road probability {layer} does not cover this part of the map.").format(layer=raster.name()),
                tr("Move the map to where it lies, or choose Trace roads again for another one."),
            )
        session = self._sessions.start(raster)
        canvas = self._window.mapCanvas()
        self._session, self._drawing = session, Drawing(canvas, layer, raster, session, self._tell)
        self._tool = TracingTool(canvas, self._drawing)
        self._tool.setAction(self.action)
        project, names = QgsProject.instance(), {each.id(): each.name() for each in (layer, raster)}
        ended = tr("The layer {layer} is no longer being edited. Tracing has ended.").format(layer=layer.name())
        self._connections = [
            session.noted.connect(self._tell),
            project.layersWillBeRemoved.connect(lambda ids: self._on_removed(names, ids)),
            layer.editingStopped.connect(lambda: self.end(ended)),
            layer.crsChanged.connect(self.end),
            canvas.currentLayerChanged.connect(lambda current: self.end() if current is not layer else None),
            self._tool.deactivated.connect(self.end),
        ]
        canvas.setMapTool(self._tool)
        canvas.setFocus()

    def _on_removed(self, names: dict[str, str], layer_ids: list[str]) -> None:
        gone = [names[each] for each in layer_ids if each in names]
        if gone:
            self.end(tr("The layer {layer} was removed. Tracing has ended.").format(layer=gone[0]))

    def _on_ended(self, session: SessionClient, end: Any) -> None:
        if session is self._session:  # which was not asked to
            forget_choice()  # so that another can be chosen
            self.end(tr("{reason} Tracing has ended.").format(reason=end))

    def _tell(self, text: str) -> None:
        if text:
            show_message(self._window, text, Qgis.MessageLevel.Warning)
