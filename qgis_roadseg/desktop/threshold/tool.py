"""The map tool with which an area is drawn: a lasso, by dragging; or the whole view, by Enter.

Scope: events of the map. Independent of what the area is for.
"""

from __future__ import annotations

from collections.abc import Callable

from qgis.core import Qgis, QgsGeometry, QgsPointXY
from qgis.gui import QgsMapCanvas, QgsMapMouseEvent, QgsMapTool, QgsRubberBand
from qgis.PyQt.QtCore import Qt
from qgis.PyQt.QtGui import QColor, QKeyEvent

_PEN, _FILL, _PEN_PX = QColor(255, 214, 0), QColor(255, 214, 0, 40), 2


class LassoTool(QgsMapTool):
    """Calls `drawn` with each area, in the map's CRS; Escape forgets the one that is being drawn."""

    def __init__(self, canvas: QgsMapCanvas, drawn: Callable[[QgsGeometry], None]) -> None:
        super().__init__(canvas)
        self._drawn = drawn
        self._points: list[QgsPointXY] = []
        self._band = QgsRubberBand(canvas, Qgis.GeometryType.Polygon)
        self._band.setStrokeColor(_PEN)
        self._band.setFillColor(_FILL)
        self._band.setWidth(_PEN_PX)
        self.setCursor(Qt.CursorShape.CrossCursor)

    def canvasPressEvent(self, event: QgsMapMouseEvent) -> None:
        """Begin with the left button, and forget with another one."""
        self._points = [event.mapPoint()] if event.button() == Qt.MouseButton.LeftButton else []

    def canvasMoveEvent(self, event: QgsMapMouseEvent) -> None:
        """Go on while the button is down."""
        if self._points:
            self._points.append(event.mapPoint())
            self._band.setToGeometry(QgsGeometry.fromPolygonXY([self._points]))

    def canvasReleaseEvent(self, event: QgsMapMouseEvent) -> None:
        """End; a click alone draws nothing."""
        self._end(QgsGeometry.fromPolygonXY([self._points]))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take the whole view, or forget; other keys are QGIS' own."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape):
            is_view = event.key() != Qt.Key.Key_Escape
            self._end(QgsGeometry.fromRect(self.canvas().extent()) if is_view else QgsGeometry())
            event.ignore()  # or the map would act, too

    def close(self) -> None:
        """Leave the map for good."""
        self.canvas().scene().removeItem(self._band)

    def _end(self, shape: QgsGeometry) -> None:
        self._points = []
        self._band.reset(Qgis.GeometryType.Polygon)
        if not shape.isEmpty():
            self._drawn(shape)
