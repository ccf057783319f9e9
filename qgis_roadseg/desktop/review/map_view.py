"""The line under review on the map: brought into view, and outlined so that the image below it stays visible.

Scope: the map canvas. Independent of what the line is.
"""

from __future__ import annotations

from qgis.core import Qgis, QgsGeometry, QgsRectangle
from qgis.gui import QgsMapCanvas, QgsRubberBand
from qgis.PyQt.QtGui import QColor

# A line that fits the map is shown at the scale that the person has chosen, unless roads are hardly seen there; any
# other one as a whole, with this margin, and so that roads are recognized.
COARSEST_SCALE, SCALE = 5000, 2000
MARGIN = 0.25
OUTLINE_PX, PEN_PX = 12, 2
_COLOR, _AROUND = QColor(255, 214, 0), QColor(0, 0, 0, 160)


class LineView:
    """Shows one line of the map at a time."""

    def __init__(self, canvas: QgsMapCanvas) -> None:
        self._canvas = canvas
        self._line = QgsGeometry()
        self._outline = QgsRubberBand(canvas, Qgis.GeometryType.Polygon)
        self._outline.setStrokeColor(_COLOR)
        self._outline.setSecondaryStrokeColor(_AROUND)
        self._outline.setFillColor(QColor(0, 0, 0, 0))
        self._outline.setWidth(PEN_PX)
        self._connection = canvas.scaleChanged.connect(lambda _: self._draw())

    def show(self, line: QgsGeometry) -> None:
        """Outline a line, in the map's CRS, and bring it into view."""
        self._line = line
        bounds = _with_margin(line.boundingBox())
        shown = self._canvas.extent()
        fits = bounds.width() <= shown.width() and bounds.height() <= shown.height()
        if fits and self._canvas.scale() <= COARSEST_SCALE:
            self._canvas.setCenter(bounds.center())
            self._canvas.refresh()
        else:
            self.zoom()
        self._draw()

    def zoom(self) -> None:
        """Show the whole line as large as makes sense."""
        self._canvas.setExtent(_with_margin(self._line.boundingBox()))
        if self._canvas.scale() < SCALE:
            self._canvas.zoomScale(SCALE)
        self._canvas.refresh()

    def clear(self) -> None:
        """Outline nothing."""
        self._line = QgsGeometry()
        self._outline.reset(Qgis.GeometryType.Polygon)

    def close(self) -> None:
        """Leave the map for good."""
        self._canvas.scaleChanged.disconnect(self._connection)
        self._canvas.scene().removeItem(self._outline)

    def _draw(self) -> None:
        if not self._line.isEmpty():
            around = self._line.buffer(OUTLINE_PX * self._canvas.mapUnitsPerPixel(), 8)
            self._outline.setToGeometry(around)


def _with_margin(bounds: QgsRectangle) -> QgsRectangle:
    return bounds.buffered(MARGIN * max(bounds.width(), bounds.height()))
