"""Dialogs of algorithms, messages with buttons in the message bar, and labels of panels.

Scope: Processing's dialogs, the message bar, labels. Independent of single algorithms but Set up runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Optional

from qgis import processing
from qgis.core import Qgis, QgsApplication, QgsProject
from qgis.gui import QgisInterface
from qgis.PyQt.QtCore import Qt
from qgis.PyQt.QtWidgets import QLabel, QPushButton

from ..layers import demo_project
from ..translation import tr

SET_UP, ALSO = "setupruntime", "ALSO_INSTALL"


def open_dialog(window: QgisInterface, algorithm: str, values: Optional[Mapping[str, Any]] = None) -> None:
    """Open an algorithm's dialog; or show why it cannot run yet.

    The algorithm is named without its provider. Initial values take precedence over those of the project.
    """
    if can_run(window, algorithm):
        start = demo_project.starting_values(QgsProject.instance(), algorithm)
        processing.execAlgorithmDialog(f"roadseg:{algorithm}", {**start, **(values or {})})


def run_in_dialog(window: QgisInterface, algorithm: str, values: Mapping[str, Any]) -> None:
    """Open an algorithm's dialog with these values and run it at once; or show why it cannot run yet."""
    if can_run(window, algorithm):
        dialog = processing.createAlgorithmDialog(f"roadseg:{algorithm}", dict(values))
        dialog.show()
        dialog.runButton().click()


def can_run(window: QgisInterface, algorithm: str) -> bool:
    """Return whether an algorithm can run; show why not."""
    able, why = QgsApplication.processingRegistry().algorithmById(f"roadseg:{algorithm}").canExecute()
    if not able:
        show_missing_runtime(window, why)
    return able


def show_missing_runtime(window: QgisInterface, why: str) -> None:
    """Show why there is no runtime, with a button that sets it up."""
    button = (tr("Set up runtime…"), lambda: open_dialog(window, SET_UP))
    show_message(window, why, Qgis.MessageLevel.Warning, button)


def show_missing_packages(window: QgisInterface, why: str, name: str) -> None:
    """Show why a job has not run, with a button that installs the set of packages that it asks for."""
    button = (tr("Install {packages}").format(packages=name), lambda: run_in_dialog(window, SET_UP, {ALSO: [name]}))
    show_message(window, why, Qgis.MessageLevel.Warning, button)


def show_message(
    window: QgisInterface,
    text: str,
    level: Qgis.MessageLevel = Qgis.MessageLevel.Info,
    *buttons: "tuple[str, Callable[[], None]]",
) -> None:
    """Show a message in the message bar; one with buttons stays until it is closed."""
    bar = window.messageBar()
    if not buttons:
        bar.pushMessage("RoadSeg", text, level)
        return
    message = bar.createMessage("RoadSeg", text)
    for label, act in buttons:
        pushed = QPushButton(label)
        # No closure may hold the message: Python would collect the reference cycle while the button is still visible.
        pushed.clicked.connect(message.dismiss)
        pushed.clicked.connect(act)
        message.layout().addWidget(pushed)
    bar.pushWidget(message, level)


def wrapped_label(text: str = "", name: str = "") -> QLabel:
    """Return a label whose text is broken into lines, and can be selected."""
    label = QLabel(text)
    label.setObjectName(name)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
