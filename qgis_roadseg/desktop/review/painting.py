"""The map tool with which wrong lines are painted: a click is a place, a stroke with the button held is a path.

Scope: mouse and rubber band. Independent of what follows from a stroke.
"""

from __future__ import annotations

from typing import Optional

from qgis.core import Qgis, QgsGeometry
from qgis.gui import QgsMapCanvas, QgsMapMouseEvent, QgsMapTool, QgsRubberBand
from qgis.PyQt.QtCore import QPoint, Qt, pyqtSignal
from qgis.PyQt.QtGui import QColor

# Width of the brush; movements below the other number are a click.
BRUSH_PX, CLICK_PX = 14, 4
_COLOR = QColor(213, 0, 0, 110)


class PaintingTool(QgsMapTool):
    """A brush, by default of BRUSH_PX; other buttons and the wheel move the map as usual.

    Signals
    -------
    painted(QgsGeometry)
        A point or a line in the map's CRS.
    """

    painted = pyqtSignal(QgsGeometry)

    def __init__(self, canvas: QgsMapCanvas, color: QColor = _COLOR, width_px: int = BRUSH_PX) -> None:
        super().__init__(canvas)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self._begin: Optional[QPoint] = None
        self._stroke = QgsRubberBand(canvas, Qgis.GeometryType.Line)
        self._stroke.setColor(color)
        self._stroke.setWidth(width_px)

    def canvasPressEvent(self, event: QgsMapMouseEvent) -> None:
        """Begin a stroke."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._begin = event.pos()
            self._stroke.reset(Qgis.GeometryType.Line)
            self._stroke.addPoint(event.mapPoint())

    def canvasMoveEvent(self, event: QgsMapMouseEvent) -> None:
        """Go on with it."""
        if self._begin is not None:
            self._stroke.addPoint(event.mapPoint())

    def canvasReleaseEvent(self, event: QgsMapMouseEvent) -> None:
        """Emit the stroke, or the place of a click."""
        if event.button() != Qt.MouseButton.LeftButton or self._begin is None:
            return
        self._stroke.addPoint(event.mapPoint())
        is_click = (event.pos() - self._begin).manhattanLength() < CLICK_PX
        stroke = QgsGeometry.fromPointXY(event.mapPoint()) if is_click else self._stroke.asGeometry()
        self._begin = None
        self._stroke.reset(Qgis.GeometryType.Line)
        self.painted.emit(stroke)

    def close(self) -> None:
        """Leave the map for good."""
        self.canvas().scene().removeItem(self._stroke)
        self.canvas().unsetMapTool(self)
        self.deleteLater()
