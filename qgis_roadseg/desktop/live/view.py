"""The visible extent, sent to the worker as it changes, and zooming to a place that is worth drawing.

Scope: the map canvas. Independent of predictions.
"""

from __future__ import annotations

from qgis.core import QgsCoordinateTransform, QgsCsException, QgsMapLayer, QgsPointXY, QgsProject
from qgis.gui import QgsMapCanvas
from qgis.PyQt.QtCore import QObject, QTimer

from ....training_core.errors import JobError
from .client import LiveClient
from .image import view_on

# While the map moves, nothing is sent until it rests this long.
REST_MS = 200
# At which scale roads are drawn: 1 to this.
DRAWING_SCALE = 2000


class ViewSender(QObject):
    """Sends the worker the view of the map, and what to show of it."""

    def __init__(self, canvas: QgsMapCanvas, image: QgsMapLayer, session: LiveClient, style: str) -> None:
        super().__init__()
        self._canvas, self._session, self._style = canvas, session, style
        self._crs, self._extent = image.crs(), image.extent()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REST_MS)
        self._timer.timeout.connect(self._send)
        changes = canvas.extentsChanged, canvas.destinationCrsChanged
        self._connections = [signal.connect(self._timer.start) for signal in changes]
        self._send()

    def show(self, style: str) -> None:
        """Have probability or uncertainty predicted from now on."""
        self._style = style
        self._send()

    def zoom_to(self, place: QgsPointXY) -> None:
        """Show a place so large that roads can be drawn; raise JobError if the map's CRS has no such place."""
        crs = self._canvas.mapSettings().destinationCrs()
        try:
            center = QgsCoordinateTransform(self._crs, crs, QgsProject.instance()).transform(place)
        except QgsCsException as error:
            raise JobError("The map cannot show this place.", "Choose another CRS for the project.") from error
        self._canvas.setCenter(center)
        if self._canvas.scale() > DRAWING_SCALE:
            self._canvas.zoomScale(DRAWING_SCALE)
        self._canvas.refresh()

    def close(self) -> None:
        """Send nothing any more."""
        self._timer.stop()
        for connection in self._connections:
            QObject.disconnect(connection)

    def _send(self) -> None:
        shown = view_on(self._crs, self._extent, self._canvas)
        if shown is not None:
            extent = [shown.xMinimum(), shown.yMinimum(), shown.xMaximum(), shown.yMaximum()]
            self._session.send("view", extent=extent, show=self._style)
