"""The panel "Review": the line to check, what can be said of it, with keys, and how many lines are left.

Scope: widgets, their words and keys. Independent of layers.
"""

from __future__ import annotations

import html
from collections.abc import Collection
from functools import partial
from typing import Optional

from qgis.core import QgsApplication
from qgis.gui import QgsDockWidget, QgsGui, QgsMapCanvas, QgsMapTool
from qgis.PyQt.QtCore import Qt, pyqtSignal
from qgis.PyQt.QtWidgets import (
    QAction,
    QGridLayout,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from ....training_core.jobs.review import ACCEPTED, ANSWERS, CROSSING, REJECTED, VERDICTS
from ...translation import tr
from ..dialogs import wrapped_label

# Actions: the answers to the questions, and what else can be done with a line.
SKIP, BACK, ZOOM, TRACE = "skip", "back", "zoom", "trace"
COUNTS = ANSWERS[CROSSING]
# Letters that QGIS leaves free: its own single keys are R, S and T, and those of digitizing.
KEYS = {ACCEPTED: "A", REJECTED: "X", SKIP: "N", BACK: "B", ZOOM: "Z", TRACE: "D", **dict(zip(COUNTS, COUNTS))}
_ICONS = {
    ACCEPTED: "/mIconSuccess.svg",
    REJECTED: "/mTaskCancel.svg",
    SKIP: "/mActionNext.svg",
    BACK: "/mActionUndo.svg",
    ZOOM: "/mActionZoomTo.svg",
    TRACE: "/mActionTracing.svg",
}

# Row, column and width of the button of each action: five counts in a row, then in pairs.
_CELLS = {
    **{count: (int(count) // 5, int(count) % 5 * 2, 2) for count in COUNTS},
    **{ACCEPTED: (2, 0, 5), REJECTED: (2, 5, 5), SKIP: (3, 0, 5), BACK: (3, 5, 5)},
    **{ZOOM: (4, 0, 10), TRACE: (5, 0, 10)},
}


class ReviewPanel(QgsDockWidget):
    """The dock widget.

    Its keys work where it or the map has the focus, except while a tool of the map digitizes: that has keys of its own.
    They are in QGIS' keyboard shortcuts, where they can be changed.

    Signals
    -------
    asked(str)
        A button or a key was pressed: an answer, skip, back or zoom.
    """

    asked = pyqtSignal(str)

    def __init__(self, canvas: QgsMapCanvas, parent: Optional[QWidget] = None) -> None:
        super().__init__(tr("Review"), parent)
        self.setObjectName("RoadSegReview")  # by which QGIS remembers its place
        self._canvas = canvas
        self.layer, self.line, self.accuracy, self.note, self.problem = (wrapped_label() for _ in range(5))
        self.problem.setTextFormat(Qt.TextFormat.PlainText)
        self.problem.setStyleSheet("color: #b00020")
        self.progress = QProgressBar()
        self.learn = QPushButton(tr("Learn from the review…"))
        self.actions_by_name = {name: self._action(name, text) for name, text in _texts().items()}
        self._buttons: dict[str, QToolButton] = {}
        self._lay_out()
        canvas.mapToolSet.connect(self._on_tool)
        self._on_tool(canvas.mapTool())
        self.show_line("")
        self.show_layer("")

    def show_layer(self, name: str, note: str = "", can_learn: bool = False) -> None:
        """Show which layer is reviewed, none without a name, and whether a model can learn from it."""
        hint = tr("Select a road network, changes or an accuracy sample, and choose Review.")
        self.layer.setText(f"<b>{html.escape(name)}</b>" if name else hint)
        self.note.setText(note)
        self.note.setVisible(bool(note))
        self.progress.setVisible(bool(name))
        self.learn.setVisible(can_learn)
        self.accuracy.hide()
        self.tell("")

    def show_line(self, text: str, answers: Collection[str] = (), can_go_back: bool = False) -> None:
        """Show what is asked about the line on the map, and offer the answers that it takes; none without a line."""
        self.line.setText(text)
        for name, action in self.actions_by_name.items():
            can_act = can_go_back if name == BACK else name in answers or (name == SKIP and bool(answers))
            action.setEnabled(can_act)
            if name not in (SKIP, BACK):
                self._buttons[name].setVisible(name in (answers or (*VERDICTS, ZOOM)))

    def show_progress(self, reviewed: int, total: int, accuracy: str) -> None:
        """Show how many lines are reviewed, and left; and what a sample tells of the accuracy, unless it is empty."""
        self.accuracy.setText(accuracy)
        self.accuracy.setVisible(bool(accuracy))
        self.progress.setRange(0, max(total, 1))
        self.progress.setValue(reviewed)
        words = tr("{reviewed} of {total} reviewed, {left} left")
        self.progress.setFormat(words.format(reviewed=reviewed, total=total, left=total - reviewed))

    def tell(self, problem: str) -> None:
        """Show a problem and its remedy; empty text hides it."""
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))

    def close_for_good(self) -> None:
        """Take the keys away: the plugin is unloaded."""
        self._canvas.mapToolSet.disconnect(self._on_tool)
        for action in self.actions_by_name.values():
            self._canvas.removeAction(action)
            QgsGui.shortcutsManager().unregisterAction(action)

    def _action(self, name: str, text: str) -> QAction:
        action = QAction(QgsApplication.getThemeIcon(_ICONS.get(name, "")), f"{tr('Review')}: {text}", self)
        action.setObjectName(f"roadseg_review_{name}")
        action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        action.triggered.connect(lambda: self.asked.emit(name))
        QgsGui.shortcutsManager().registerAction(action, KEYS[name])
        action.changed.connect(partial(_show_key, action, text))
        _show_key(action, text)
        self.addAction(action)
        return action

    def _on_tool(self, tool: Optional[QgsMapTool]) -> None:
        is_digitizing = tool is not None and bool(tool.flags() & QgsMapTool.Flag.EditTool)
        for action in self.actions_by_name.values():
            self._canvas.removeAction(action) if is_digitizing else self._canvas.addAction(action)

    def _lay_out(self) -> None:
        buttons = QGridLayout()
        for name, action in self.actions_by_name.items():
            row, column, width = _CELLS[name]
            self._buttons[name] = button = QToolButton()
            button.setDefaultAction(action)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            buttons.addWidget(button, row, column, 1, width)
        page = QWidget()
        lines = QVBoxLayout(page)
        for above in (self.layer, self.progress, self.line):
            lines.addWidget(above)
        lines.addLayout(buttons)
        for below in (self.problem, self.accuracy, self.learn, self.note):
            lines.addWidget(below)
        lines.addStretch()
        self.setWidget(page)


def _show_key(action: QAction, text: str) -> None:
    key = action.shortcut().toString()
    shown = text if key == text else f"{text} ({key})"
    if action.iconText() != shown:
        action.setIconText(shown)


def _texts() -> dict[str, str]:
    return {
        ACCEPTED: tr("Accept"),
        REJECTED: tr("Reject"),
        SKIP: tr("Skip"),
        BACK: tr("Back"),
        ZOOM: tr("Zoom to the line"),
        TRACE: tr("Trace a missing road"),
        **{count: count for count in COUNTS},
    }
