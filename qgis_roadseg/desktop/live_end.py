"""What a live session is good for in the end: its model kept as a file, and all of the image mapped with it.

Scope: files asked for, dialogs opened. Independent of how the model was learned.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

from qgis.core import QgsMapLayer
from qgis.gui import QgisInterface
from qgis.PyQt.QtWidgets import QFileDialog

from .. import settings
from ..toolbox.model_choice import MODEL_SUFFIX, free_path
from ..toolbox.parameters import MODEL_FILTER
from ..translation import tr
from .dialogs import open_dialog, show_message
from .live_session import LiveSession

EXTRACT = "extractroads"


class LiveEnd:
    """Keeps the model of a session, and opens what maps with it.

    Parameters
    ----------
    window : QgisInterface
        QGIS' window.
    image : QgsMapLayer
        The image.
    session : LiveSession
        The worker.
    """

    def __init__(self, window: QgisInterface, image: QgsMapLayer, session: LiveSession) -> None:
        self._window, self._session = window, session
        self._image_id = image.id()
        self._maps_next = False

    def keep(self) -> None:
        """Ask for a file, and have the model written there, with its report beside it."""
        self._maps_next = False
        self._ask()

    def map_all(self) -> None:
        """Keep the model, and open *Extract roads* with it."""
        self._maps_next = True
        self._ask()

    def _ask(self) -> None:
        folder = settings.load().models_folder
        start = free_path(Path(folder) if folder and Path(folder).is_dir() else Path.home(), MODEL_SUFFIX)
        window = self._window.mainWindow()
        path, _ = QFileDialog.getSaveFileName(window, tr("Keep this model"), str(start), MODEL_FILTER)
        if not path:
            return
        if not path.lower().endswith(MODEL_SUFFIX):
            path += MODEL_SUFFIX
        self._session.send("keep", model=path, report=str(_free_report(Path(path))))

    def on_kept(self, event: Any) -> None:
        """Tell of the file, and offer to map with it; or do so where that was asked for."""
        if self._maps_next:
            self._maps_next = False
            self._session.send("pause")  # two jobs at once would share the processor
            self._map(event.model)
            return
        if event.f1 is None:
            text = tr("The model is in {model}.").format(model=event.model)
        else:
            text = tr("The model is in {model}; F1 on held-out blocks {f1:.2f}.").format(model=event.model, f1=event.f1)
        show_message(self._window, text, button=(tr("Map all…"), lambda: self._map(event.model)))

    def _map(self, model: str) -> None:
        open_dialog(self._window, EXTRACT, {"INPUT": self._image_id, "MODEL": model})


def _free_report(model: Path) -> Path:
    """Return an unused path of a report beside a model: town.html, else town 2.html, and so on."""
    names = (f"{model.stem}{'' if number == 1 else f' {number}'}.html" for number in count(1))
    return next(path for path in map(model.with_name, names) if not path.exists())
