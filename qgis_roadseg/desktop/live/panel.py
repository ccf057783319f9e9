"""The panel "RoadSeg live": inputs, the session's state, its accuracy over time, and next steps.

Scope: widgets and their words. Independent of the session, which `LiveControl` runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Optional

from qgis.core import QgsApplication
from qgis.gui import QgsDockWidget, QgsScrollArea
from qgis.PyQt.QtCore import QSize, Qt, pyqtSignal
from qgis.PyQt.QtGui import QIcon
from qgis.PyQt.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from ...translation import tr
from ..dialogs import wrapped_label
from .chart import LiveChart
from .choices import ChoicesForm
from .overlay import PROBABILITY, UNCERTAINTY

IDLE, STARTING, RUNNING, PAUSED, STOPPING = "idle", "starting", "running", "paused", "stopping"
PLACES = 2


class LivePanel(QgsDockWidget):
    """The dock widget.

    Signals
    -------
    started, paused, stopped, resumed, kept, mapped()
        A button was pressed; `paused` also goes on.
    corrected(bool)
        Correcting was switched on or off.
    visited(int)
        One of the places to draw next was asked for.
    show_changed(str)
        Probability or uncertainty is to be shown.
    """

    started = pyqtSignal()
    paused = pyqtSignal()
    stopped = pyqtSignal()
    resumed = pyqtSignal()
    kept = pyqtSignal()
    mapped = pyqtSignal()
    corrected = pyqtSignal(bool)
    visited = pyqtSignal(int)
    show_changed = pyqtSignal(str)

    def __init__(self, parent: Optional[QWidget] = None) -> None:
        super().__init__(tr("RoadSeg live"), parent)
        self.setObjectName("RoadSegLive")  # by which QGIS remembers its place
        self.choices = ChoicesForm()
        self.chart = LiveChart()
        self._make_buttons()
        self.state = wrapped_label(name="roadseg_live_state")
        self.numbers = wrapped_label(name="roadseg_live_numbers")
        self.problem = wrapped_label(name="roadseg_live_problem")
        self.show_box = QComboBox()
        self.show_box.addItem(tr("Road probability"), PROBABILITY)
        self.show_box.addItem(tr("Uncertainty"), UNCERTAINTY)
        self.show_box.currentIndexChanged.connect(lambda: self.show_changed.emit(self.shown_style))
        self._lay_out()
        self.set_phase(IDLE)
        self.set_places(0)
        self.resume.setEnabled(False)
        self.tell("")

    @property
    def shown_style(self) -> str:
        """The chosen style: probability or uncertainty."""
        return self.show_box.currentData()

    def set_phase(self, phase: str) -> None:
        """Offer what can be done now: idle, starting, running, paused or stopping."""
        self.phase = phase
        is_idle, is_live = phase == IDLE, phase in (RUNNING, PAUSED)
        self.choices.image.setEnabled(is_idle)
        self.choices.model.setEnabled(is_idle)
        self.start.setEnabled(is_idle)
        self.resume.setVisible(is_idle)
        self.pause.setEnabled(is_live)
        self.pause.setText(tr("Continue") if phase == PAUSED else tr("Pause"))
        self.pause.setIcon(_icon("/mActionPlay.svg" if phase == PAUSED else "/temporal_navigation/pause.svg"))
        self.stop.setEnabled(not is_idle)
        self.stop.setText(tr("Stop now") if phase == STOPPING else tr("Stop"))
        for button in (self.correct, self.keep, self.map_all):
            button.setEnabled(is_live)
        if not is_live:
            self.correct.setChecked(False)
            self.set_places(0)

    def set_state(self, title: str, text: str = "") -> None:
        """Show the session's state in the status line."""
        self.state.setText(f"<b>{title}</b>" + (f": {text}" if text else ""))

    def set_numbers(self, numbers: Sequence[str]) -> None:
        """Show how much was drawn and learned."""
        self.numbers.setText(" · ".join(numbers))
        self.numbers.setVisible(bool(numbers))

    def set_places(self, count: int) -> None:
        """Offer to zoom to this number of uncertain places."""
        self.next_label.setVisible(count > 0)
        for number, button in enumerate(self.places):
            button.setVisible(number < count)

    def tell(self, problem: str) -> None:
        """Show a problem and its remedy; empty text hides it."""
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))

    def sizeHint(self) -> QSize:
        return QSize(300, 560)

    def _make_buttons(self) -> None:
        self.start = _button("start", tr("Start"), "/mActionPlay.svg", self.started.emit)
        self.pause = _button("pause", tr("Pause"), "/temporal_navigation/pause.svg", self.paused.emit)
        self.stop = _button("stop", tr("Stop"), "/mActionStop.svg", self.stopped.emit)
        self.resume = _button("resume", tr("Resume the last session"), "/mActionHistory.svg", self.resumed.emit)
        self.keep = _button("keep", tr("Keep this model…"), "/mActionFileSave.svg", self.kept.emit)
        self.map_all = _button("map", tr("Map all…"), "/mIconRaster.svg", self.mapped.emit)
        self.correct = QToolButton()
        self.correct.setObjectName("roadseg_live_correct")
        self.correct.setText(tr("Correct by clicks"))
        self.correct.setIcon(_icon("/mActionSelectPoint.svg"))
        self.correct.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.correct.setCheckable(True)
        self.correct.setToolTip(
            tr("Click on a false road to mark “no road here”. Click on a gap to turn the proposed link into a road.")
        )
        self.correct.toggled.connect(self.corrected)
        self.next_label = QLabel(tr("Draw next, where the model is most uncertain:"))
        self.next_label.setWordWrap(True)
        self.places = []
        for number in range(PLACES):
            words = tr("Place {number}").format(number=number + 1)
            visit = partial(self.visited.emit, number)
            self.places.append(_button(f"place_{number + 1}", words, "/mActionZoomTo.svg", visit))

    def _lay_out(self) -> None:
        top, ends = QHBoxLayout(), QHBoxLayout()
        for button in (self.start, self.pause, self.stop):
            top.addWidget(button)
        for button in (self.keep, self.map_all):
            ends.addWidget(button)
        shown = QGridLayout()
        shown.addWidget(QLabel(tr("Show")), 0, 0)
        shown.addWidget(self.show_box, 0, 1)
        shown.setColumnStretch(1, 1)
        places = QHBoxLayout()
        for button in self.places:
            places.addWidget(button)
        page = QWidget()
        column = QVBoxLayout(page)
        for part in (self.choices, top, self.resume, _line(), self.state, self.problem, self.chart, self.numbers):
            column.addLayout(part) if isinstance(part, QHBoxLayout) else column.addWidget(part)
        column.addWidget(self.next_label)
        column.addLayout(places)
        column.addLayout(shown)
        column.addWidget(self.correct)
        column.addWidget(_line())
        column.addLayout(ends)
        column.addStretch()
        area = QgsScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(page)
        self.setWidget(area)
        self.correct.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.problem.setStyleSheet("color: #b00020")


def _button(name: str, text: str, icon: str, act: Callable[[], None]) -> QPushButton:
    button = QPushButton(_icon(icon), text)
    button.setObjectName(f"roadseg_live_{name}")
    button.clicked.connect(lambda: act())
    return button


def _icon(name: str) -> QIcon:
    return QgsApplication.getThemeIcon(name)


def _line() -> QFrame:
    line = QFrame()
    line.setFrameShape(QFrame.Shape.HLine)
    line.setFrameShadow(QFrame.Shadow.Sunken)
    return line


def state_words(state: str) -> str:
    """Return the name of a state of the worker's in the user's language."""
    return {
        "loading": tr("Loading"),
        "waiting": tr("Waiting for labels"),
        "learning": tr("Learning"),
        "predicting": tr("Predicting"),
        "paused": tr("Paused"),
        "done learning": tr("Nothing new to learn"),
    }.get(state, state)


def state_hint(state: str) -> str:
    """Return advice for a state of the worker; empty where it waits for nothing."""
    return {
        "waiting": tr("Draw a road with QGIS' own tools."),
        "done learning": tr("Draw where the map is wrong."),
    }.get(state, "")


def numbers_of(state: Optional[Any], roads: int, learned_s: Optional[float]) -> list[str]:
    """Return how much was drawn and learned, and how fast."""
    numbers = [tr("Roads drawn: {count}").format(count=roads)]
    if state is not None:
        numbers.append(tr("Step {step:,}").format(step=state.step))
        if state.steps_per_s:
            numbers.append(tr("{rate:.1f} steps per second").format(rate=state.steps_per_s))
    if learned_s is not None:
        numbers.append(tr("Last stroke learned after {seconds:.1f} s").format(seconds=learned_s))
    return numbers
