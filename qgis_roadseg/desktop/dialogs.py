"""An algorithm's dialog, opened from a menu or a message; and messages with something to do about them.

Knows Processing's dialogs and the message bar; knows no single algorithm but the one that sets up the runtime.
"""

from __future__ import annotations

from collections.abc import Callable

from qgis import processing
from qgis.core import Qgis, QgsApplication, QgsProject
from qgis.gui import QgisInterface
from qgis.PyQt.QtWidgets import QPushButton

from ..layers import demo_project
from ..translation import tr

SET_UP = "setupruntime"


def open_dialog(window: QgisInterface, algorithm: str) -> None:
    """Open an algorithm's dialog, with what the project says to begin with; or say why it cannot run yet.

    Parameters
    ----------
    window : QgisInterface
        QGIS' window.
    algorithm : str
        The algorithm's id without its provider's.
    """
    able, why = QgsApplication.processingRegistry().algorithmById(f"roadseg:{algorithm}").canExecute()
    if not able:
        tell_missing_runtime(window, why)
        return
    start = demo_project.starting_values(QgsProject.instance(), algorithm)
    processing.execAlgorithmDialog(f"roadseg:{algorithm}", start)


def tell_missing_runtime(window: QgisInterface, why: str) -> None:
    """Say that there is no runtime, and offer to set it up."""
    button = (tr("Set up runtime…"), lambda: open_dialog(window, SET_UP))
    tell(window, why, Qgis.MessageLevel.Warning, button)


def tell(
    window: QgisInterface,
    text: str,
    level: Qgis.MessageLevel = Qgis.MessageLevel.Info,
    button: "tuple[str, Callable[[], None]] | None" = None,
) -> None:
    """Show a message above the map; one with a button (its words, and what it does) stays until it is closed."""
    bar = window.messageBar()
    if button is None:
        bar.pushMessage("RoadSeg", text, level)
        return
    words, act = button
    message, pushed = bar.createMessage("RoadSeg", text), QPushButton(words)
    # No function here holds the message: in a ring, Python takes both for garbage while the button can still be seen.
    pushed.clicked.connect(message.dismiss)
    pushed.clicked.connect(act)
    message.layout().addWidget(pushed)
    bar.pushWidget(message, level)
