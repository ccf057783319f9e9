"""The small chart of a live session: F1 on held-out blocks over time.

Scope: painting. Independent of where the scores come from.
"""

from __future__ import annotations

from typing import Optional

from qgis.PyQt.QtCore import QPointF, QRectF, QSize, Qt
from qgis.PyQt.QtGui import QColor, QPainter, QPaintEvent, QPalette, QPen, QPolygonF
from qgis.PyQt.QtWidgets import QSizePolicy, QWidget

from ...translation import tr

LINE = QColor("#bd0026")
# Levels of F1 that have a line across the chart.
LEVELS = (0.0, 0.5, 1.0)
# A chart of the first moments is as wide as these seconds.
MIN_S = 60.0
MARGIN_PX = 4


class LiveChart(QWidget):
    """A line of scores from 0 to 1, the last of which is named."""

    def __init__(self, parent: Optional[QWidget] = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.scores: list[tuple[float, float]] = []  # so far: seconds and F1

    def add(self, at_s: float, f1: float) -> None:
        """Add an F1 score, and paint it."""
        self.scores.append((at_s, min(max(f1, 0.0), 1.0)))
        self.setToolTip(tr("F1 on held-out blocks: {f1:.2f}").format(f1=f1))
        self.update()

    def clear(self) -> None:
        self.scores = []
        self.setToolTip("")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, 96)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint levels, line and last score; or a note that there is none yet."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), self.palette().color(QPalette.ColorRole.Base))
        words = self.palette().color(QPalette.ColorRole.Text)
        if not self.scores:
            painter.setPen(words)
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, tr("F1 on held-out blocks"))
            return
        area = self._area(painter)
        self._paint_levels(painter, area, words)
        points = QPolygonF([self._point(area, *score) for score in self.scores])
        painter.setPen(QPen(LINE, 2))
        painter.drawPolyline(points)
        painter.setBrush(LINE)
        painter.drawEllipse(points[-1], 3, 3)
        painter.setPen(words)
        last = tr("F1 {f1:.2f} on held-out blocks").format(f1=self.scores[-1][1])
        painter.drawText(area, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignRight, last)

    def _area(self, painter: QPainter) -> QRectF:
        metrics = painter.fontMetrics()
        left, half = metrics.horizontalAdvance("0.0") + 2 * MARGIN_PX, metrics.height() / 2
        return QRectF(self.rect()).adjusted(left, half, -2 * MARGIN_PX, -half)

    def _paint_levels(self, painter: QPainter, area: QRectF, words: QColor) -> None:
        faint = QColor(words)
        faint.setAlpha(60)
        for level in LEVELS:
            height = area.bottom() - level * area.height()
            painter.setPen(faint)
            painter.drawLine(QPointF(area.left(), height), QPointF(area.right(), height))
            painter.setPen(words)
            label = QRectF(0, height - area.top(), area.left() - MARGIN_PX, 2 * area.top())
            painter.drawText(label, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{level:g}")

    def _point(self, area: QRectF, at_s: float, f1: float) -> QPointF:
        widest_s = max(MIN_S, self.scores[-1][0])
        return QPointF(area.left() + at_s / widest_s * area.width(), area.bottom() - f1 * area.height())
