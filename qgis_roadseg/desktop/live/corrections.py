"""Correcting by clicks: the map tool, and the worker's answers as ordinary features of the label layers.

Scope: the map tool, the worker's answers. Independent of how the worker finds an answer.
"""

from __future__ import annotations

from typing import Any

from qgis.core import Qgis, QgsCoordinateTransform, QgsCsException, QgsMapLayer, QgsPointXY, QgsProject, QgsVectorLayer
from qgis.gui import QgisInterface, QgsMapToolEmitPoint
from qgis.PyQt.QtCore import QObject, Qt
from qgis.PyQt.sip import isdeleted

from ....training_core.errors import LayerError
from ...layers import exchange
from ...layers.label_layers import NO_ROAD, ROADS
from ...translation import tr
from ..dialogs import show_message
from .client import LiveClient
from .features import add_features
from .label_files import create_no_road, file_of
from .labels import LabelWatcher
from .panel import LivePanel


class Corrections(QObject):
    """Sends clicks to the worker, and puts its answers into the label layers."""

    def __init__(
        self, window: QgisInterface, panel: LivePanel, image: QgsMapLayer, session: LiveClient, watcher: LabelWatcher
    ) -> None:
        super().__init__()
        self._window, self._panel, self._session, self._watcher = window, panel, session, watcher
        self._crs = image.crs()
        self._image_file = "" if exchange.why_no_file(image) else exchange.absolute(image.source())
        self._waiting: list[str] = []  # for the layer of places without road, which is being made
        self._canvas = window.mapCanvas()
        self._tool = QgsMapToolEmitPoint(self._canvas)
        self._tool.setCursor(Qt.CursorShape.CrossCursor)
        self._tool.canvasClicked.connect(self._on_clicked)
        self._tool.deactivated.connect(lambda: panel.correct.setChecked(False))

    def switch(self, is_on: bool) -> None:
        """Take up the tool, or lay it down."""
        if is_on:
            self._canvas.setMapTool(self._tool)
        else:
            self._canvas.unsetMapTool(self._tool)

    def click(self, point: QgsPointXY) -> None:
        """Ask the worker for the error at a point, in the map's CRS."""
        crs = self._canvas.mapSettings().destinationCrs()
        try:
            place = QgsCoordinateTransform(crs, self._crs, QgsProject.instance()).transform(point)
        except QgsCsException:
            self._panel.tell(tr("This place is not on the image. Click within the image."))
            return
        self._session.send_numbered("correct", x=place.x(), y=place.y())

    def _on_clicked(self, point: QgsPointXY, button: Qt.MouseButton) -> None:
        if button == Qt.MouseButton.LeftButton:
            self.click(point)

    def answer(self, event: Any) -> None:
        """Add the worker's correction to its layer, or report that there is none."""
        if not event.layer:
            show_message(self._window, event.message or tr("There is nothing to correct at this place."))
            return
        layer = self._watcher.layer(event.layer)
        if layer is not None:
            self._add(layer, event.layer, event.geometry)
        elif event.layer == NO_ROAD:
            self._waiting.append(event.geometry)
            if len(self._waiting) == 1:
                self._create()
        else:
            self._panel.tell(tr("Choose a layer of drawn roads. The link is added to it."))

    def close(self) -> None:
        """Lay the tool down."""
        self._canvas.unsetMapTool(self._tool)
        self._waiting = []

    def _add(self, layer: QgsVectorLayer, name: str, geometry: str) -> None:
        words = tr("No road here") if name == NO_ROAD else tr("Accept the link")
        try:
            add_features(layer, geometry, self._crs, words)
        except LayerError as error:
            show_message(self._window, str(error), Qgis.MessageLevel.Warning)

    def _create(self) -> None:
        """Create the missing layer: in the file of the roads, else next to it or to the image."""
        roads = self._watcher.layer(ROADS)
        beside = (file_of(roads) if roads is not None else "") or self._image_file
        if beside:
            create_no_road(beside, self._crs, self._on_created)
        else:
            self._waiting = []
            self._panel.tell(tr("Choose a polygon layer for places without a road. Create label layers makes one."))

    def _on_created(self, layer: Any, error: str) -> None:
        waiting, self._waiting = self._waiting, []
        if isdeleted(self._panel):  # the plugin has been unloaded
            return
        if layer is None:
            show_message(self._window, error, Qgis.MessageLevel.Warning)
            return
        self._panel.choices.choose(NO_ROAD, layer)
        if not waiting:  # the session has ended meanwhile
            return
        self._watcher.watch(NO_ROAD, layer)
        for geometry in waiting:
            self._add(layer, NO_ROAD, geometry)
