"""The panel "Threshold": a slider, buttons for areas, and what is done with the choice.

Scope: widgets and their words. Independent of layers.
"""

from __future__ import annotations

from functools import partial
from typing import Optional

from qgis.core import QgsApplication
from qgis.gui import QgsDockWidget
from qgis.PyQt.QtCore import QSignalBlocker, Qt, pyqtSignal
from qgis.PyQt.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QMenu, QSizePolicy, QSlider, QToolButton, QWidget

from ....training_core.jobs.shared import HIGHEST_THRESHOLD, LOWEST_THRESHOLD
from ...translation import tr
from ..dialogs import wrapped_label

MORE, FEWER, UNDO, EXTRACT, USE = "more", "fewer", "undo", "extract", "use"
# Algorithms of which a person may want the threshold.
USERS = ("segment", "extractroads", "mapregion")
# The slider has whole numbers: hundredths.
_PARTS = 100
# Row, column and width of each button, and its icon.
_BUTTONS = {
    MORE: ((3, 0, 1), "/mActionAdd.svg"),
    FEWER: ((3, 1, 1), "/mActionRemove.svg"),
    UNDO: ((4, 0, 2), "/mActionUndo.svg"),
    EXTRACT: ((5, 0, 2), "/mActionStart.svg"),
    USE: ((6, 0, 2), "/mActionSharingExport.svg"),
}


class ThresholdPanel(QgsDockWidget):
    """The dock widget.

    Signals
    -------
    moved(float)
        The person has chosen a threshold.
    asked(str)
        A button was pressed: more, fewer, undo, extract, or an algorithm that is to use the threshold.
    """

    moved, asked = pyqtSignal(float), pyqtSignal(str)

    def __init__(self, parent: Optional[QWidget] = None) -> None:
        super().__init__(tr("Threshold"), parent)
        self.setObjectName("RoadSegThreshold")  # by which QGIS remembers its place
        self.layer, self.note = wrapped_label(), wrapped_label()
        for label in (self.layer, self.note):
            label.setTextFormat(Qt.TextFormat.PlainText)
        self.number, self.slider = QLabel(), QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(round(LOWEST_THRESHOLD * _PARTS), round(HIGHEST_THRESHOLD * _PARTS))
        self.slider.setPageStep(5)
        self.slider.setAccessibleName(tr("Threshold"))
        self.slider.setToolTip(tr("Minimum probability of a road pixel"))
        self.slider.valueChanged.connect(self._on_slider)
        self.buttons = {name: self._button(name, text) for name, text in _texts().items()}
        for name in (MORE, FEWER):
            self.buttons[name].setCheckable(True)
            self.buttons[name].setToolTip(tr("Drag around a part of the map. Enter takes all that the map shows."))
        self._fill_menu(self.buttons[USE])
        self._lay_out()
        self.show_layer("")

    def show_layer(self, name: str) -> None:
        """Show which layer the threshold is for; none without a name."""
        self.layer.setText(name or tr("Select a road probability, and choose Threshold."))
        for widget in (self.slider, *self.buttons.values()):
            widget.setEnabled(bool(name))
        self.tell("")

    def show_choice(self, threshold: float, area_count: int) -> None:
        """Show a threshold, and whether there are areas with others."""
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(threshold * _PARTS))
        self.number.setText(f"{threshold:.2f}")
        self.buttons[UNDO].setEnabled(area_count > 0)

    def check(self, name: str) -> None:
        """Show which of more and fewer is being drawn; neither for another name."""
        for each in (MORE, FEWER):
            self.buttons[each].setChecked(each == name)

    def tell(self, note: str) -> None:
        """Show what a person should know; empty text hides it."""
        self.note.setText(note)
        self.note.setVisible(bool(note))

    def _on_slider(self, value: int) -> None:
        self.number.setText(f"{value / _PARTS:.2f}")
        self.moved.emit(value / _PARTS)

    def _button(self, name: str, text: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setIcon(QgsApplication.getThemeIcon(_BUTTONS[name][1]))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        button.clicked.connect(lambda: self.asked.emit(name))
        return button

    def _fill_menu(self, button: QToolButton) -> None:
        menu = QMenu(button)
        for name in USERS:
            title = QgsApplication.processingRegistry().algorithmById(f"roadseg:{name}").displayName()
            menu.addAction(f"{title}…").triggered.connect(partial(self.asked.emit, name))
        button.setToolTip(tr("Opens a dialog in which the advanced parameter Threshold is filled in"))
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)

    def _lay_out(self) -> None:
        page = QWidget()
        grid = QGridLayout(page)
        grid.addWidget(self.layer, 0, 0, 1, 2)
        row = QHBoxLayout()
        row.addWidget(self.slider)
        row.addWidget(self.number)
        grid.addLayout(row, 1, 0, 1, 2)
        grid.addWidget(self.note, 2, 0, 1, 2)
        for name, ((row, column, width), _) in _BUTTONS.items():
            grid.addWidget(self.buttons[name], row, column, 1, width)
        grid.setRowStretch(7, 1)
        self.setWidget(page)


def _texts() -> dict[str, str]:
    return {
        MORE: tr("More roads here"),
        FEWER: tr("Fewer roads here"),
        UNDO: tr("Undo last area"),
        EXTRACT: tr("Extract all lines"),
        USE: tr("Use this threshold for"),
    }
