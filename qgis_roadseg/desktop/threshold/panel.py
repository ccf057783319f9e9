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

from ....training_core.jobs.shared import THRESHOLDS
from ...translation import tr
from ..dialogs import wrapped_label

MORE, FEWER, UNDO, EXTRACT, USE = "more", "fewer", "undo", "extract", "use"
# Algorithms of which a person may want the threshold.
USERS = ("segment", "extractroads", "mapregion")
# The slider has whole numbers: hundredths.
_PARTS = 100
_ICONS = {
    **{MORE: "/mActionAdd.svg", FEWER: "/mActionRemove.svg", UNDO: "/mActionUndo.svg"},
    **{EXTRACT: "/mActionStart.svg", USE: "/mActionSharingExport.svg"},
}


class ThresholdPanel(QgsDockWidget):
    """The dock widget; `asked` names the button that was pressed, or the algorithm that is to use the threshold."""

    moved, asked = pyqtSignal(float), pyqtSignal(str)

    def __init__(self, parent: Optional[QWidget] = None) -> None:
        super().__init__(tr("Threshold"), parent)
        self.setObjectName("RoadSegThreshold")  # by which QGIS remembers its place
        self.layer, self.note, self.number = wrapped_label(), wrapped_label(), QLabel()
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(*(round(threshold * _PARTS) for threshold in THRESHOLDS))
        self.slider.setPageStep(5)
        self.slider.setAccessibleName(tr("Threshold"))
        self.slider.setToolTip(tr("Minimum probability of a road pixel"))
        self.slider.valueChanged.connect(lambda value: self.moved.emit(value / _PARTS))
        self.buttons = {name: self._button(name, text) for name, text in _texts().items()}
        for name in (MORE, FEWER):
            self.buttons[name].setCheckable(True)
            self.buttons[name].setToolTip(tr("Drag around a part of the map, or across it for a rectangle."))
        self.buttons[USE].setMenu(QMenu(self))
        self.buttons[USE].setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.buttons[USE].setToolTip(tr("Opens a dialog in which the advanced parameter Threshold is filled in"))
        for name in USERS:
            title = QgsApplication.processingRegistry().algorithmById(f"roadseg:{name}").displayName()
            self.buttons[USE].menu().addAction(f"{title}…").triggered.connect(partial(self.asked.emit, name))
        page, row = QWidget(), QHBoxLayout()
        row.addWidget(self.slider)
        row.addWidget(self.number)
        grid = QGridLayout(page)
        grid.addWidget(self.layer, 0, 0, 1, 2)
        grid.addLayout(row, 1, 0, 1, 2)
        for column, name in enumerate((MORE, FEWER)):
            grid.addWidget(self.buttons[name], 2, column)
        for line, widget in enumerate((*map(self.buttons.get, (UNDO, EXTRACT, USE)), self.note), 3):
            grid.addWidget(widget, line, 0, 1, 2)
        grid.setRowStretch(7, 1)
        self.setWidget(page)
        self.show_layer("")

    def show_layer(self, name: str) -> None:
        """Show which layer the threshold is for; none without a name."""
        self.layer.setText(name or tr("Select a road probability, and choose Threshold."))
        for widget in (self.slider, *self.buttons.values()):
            widget.setEnabled(bool(name))
        self.note.setText("")

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

    def _button(self, name: str, text: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setIcon(QgsApplication.getThemeIcon(_ICONS[name]))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        button.clicked.connect(lambda: self.asked.emit(name))
        return button


def _texts() -> dict[str, str]:
    return {
        MORE: tr("More roads here"),
        FEWER: tr("Fewer roads here"),
        UNDO: tr("Undo last area"),
        EXTRACT: tr("Extract all lines"),
        USE: tr("Use this threshold for"),
    }
