"""The map tool with which roads are traced: mouse and keys.

Scope: events of the map. Independent of what follows from them.
"""

from __future__ import annotations

from qgis.gui import QgsMapCanvas, QgsMapMouseEvent, QgsMapTool
from qgis.PyQt.QtCore import Qt
from qgis.PyQt.QtGui import QKeyEvent

from .drawing import Drawing


class TracingTool(QgsMapTool):
    """Clicks go on, a double or right click or Enter ends, Backspace takes back, Shift is straight, Escape cancels."""

    def __init__(self, canvas: QgsMapCanvas, drawing: Drawing) -> None:
        super().__init__(canvas)
        self._drawing = drawing
        self.setCursor(Qt.CursorShape.CrossCursor)

    def flags(self) -> QgsMapTool.Flags:
        """Say that this tool edits, so that shortcuts of letters leave it alone."""
        return QgsMapTool.Flags(QgsMapTool.Flag.EditTool)

    def canvasPressEvent(self, event: QgsMapMouseEvent) -> None:
        """Begin or go on with the left button, end with the right one."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._drawing.click(event.mapPoint(), _is_straight(event))
        elif event.button() == Qt.MouseButton.RightButton:
            self._drawing.finish()

    def canvasDoubleClickEvent(self, event: QgsMapMouseEvent) -> None:
        """End where the first click of the two was."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._drawing.finish()

    def canvasMoveEvent(self, event: QgsMapMouseEvent) -> None:
        """Lead the line to the pointer."""
        self._drawing.move(event.mapPoint(), _is_straight(event))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """End, take back or cancel; other keys are QGIS' own."""
        acts = {
            Qt.Key.Key_Return: self._drawing.finish,
            Qt.Key.Key_Enter: self._drawing.finish,
            Qt.Key.Key_Backspace: self._drawing.take_back,
            Qt.Key.Key_Delete: self._drawing.take_back,
            Qt.Key.Key_Escape: self._cancel,
        }
        act = acts.get(event.key())
        if act is not None:
            act()
            event.ignore()  # or the map would act, too

    def _cancel(self) -> None:
        """Forget the road, or lay the tool down where there is none."""
        if not self._drawing.cancel():
            self.canvas().unsetMapTool(self)


def _is_straight(event: QgsMapMouseEvent) -> bool:
    return bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
