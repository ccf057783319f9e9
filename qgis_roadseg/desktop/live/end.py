"""The end of a live session: model and labels kept as files, mapping and fine-tuning with them.

Scope: files asked for, dialogs opened. Independent of how the model was learned.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qgis.core import Qgis, QgsFileUtils, QgsMapLayer, QgsVectorLayer
from qgis.gui import QgisInterface
from qgis.PyQt.QtCore import QTimer
from qgis.PyQt.QtWidgets import QFileDialog

from ... import settings
from ...layers.label_layers import AOI, NO_ROAD, ROADS, SURE_FIELD, WIDTH_FIELD, layer_uri
from ...paths import free_path
from ...toolbox.model_files import MODEL_SUFFIX
from ...toolbox.parameters import MODEL_FILTER
from ...translation import tr
from ..dialogs import open_dialog, show_message
from .client import LiveClient

EXTRACT, FINE_TUNE = "extractroads", "finetune"


class LiveEnd:
    """Keeps model and labels of a session, and opens what maps or trains with them."""

    def __init__(self, window: QgisInterface, image: QgsMapLayer, session: LiveClient) -> None:
        self._window, self._session = window, session
        self._image_id = image.id()
        self._maps_next = False

    def keep(self, maps_next: bool = False) -> None:
        """Ask for a file, have model, report and labels written there, and open *Extract roads* next if asked to."""
        self._maps_next = maps_next
        folder = settings.load().models_folder
        start = free_path((Path(folder) if folder and Path(folder).is_dir() else Path.home()) / f"model{MODEL_SUFFIX}")
        window = self._window.mainWindow()
        path, _ = QFileDialog.getSaveFileName(window, tr("Keep this model"), str(start), MODEL_FILTER)
        if not path:
            return
        path = QgsFileUtils.addExtensionFromFilter(path, MODEL_FILTER)
        if not self._session.is_running:  # it has ended while a file was asked for
            text = tr("The session ended before the model was kept. Resume the session, then keep the model.")
            show_message(self._window, text, Qgis.MessageLevel.Warning)
            return
        stem = Path(path).stem
        report, labels = (free_path(Path(path).with_name(name)) for name in (f"{stem}.html", f"{stem} labels.gpkg"))
        self._session.send("keep", model=path, report=str(report), labels=str(labels))

    def on_kept(self, event: Any) -> None:
        """Show the file's path and offer to map with it, or map at once if the user asked for that."""
        if self._maps_next:
            self._maps_next = False
            self._session.send("pause")  # two jobs at once would share the processor
            QTimer.singleShot(0, lambda: self._map(event.model))  # a dialog, which must not hold up further events
            return
        if event.f1 is None:
            text = tr("The model is in {model}.")
        else:
            text = tr("The model is in {model}. F1 on held-out blocks is {f1:.2f}.")
        text = text.format(model=event.model, f1=event.f1)
        buttons = [(tr("Map all…"), lambda: self._map(event.model))]
        if event.labels:
            text = f"{text} {tr('Its training labels are in {labels}.').format(labels=event.labels)}"
            buttons.append((tr("Fine-tune a model…"), lambda: self._fine_tune(event.model, event.labels)))
        show_message(self._window, text, Qgis.MessageLevel.Info, *buttons)

    def _map(self, model: str) -> None:
        open_dialog(self._window, EXTRACT, {"INPUT": self._image_id, "MODEL": model})

    def _fine_tune(self, model: str, labels: str) -> None:
        """Open *Fine-tune a model* with the session's training labels, which the label layers alone do not give."""
        layers = {name: layer_uri(labels, name) for name in (ROADS, AOI, NO_ROAD)}
        present = {name.upper(): uri for name, uri in layers.items() if QgsVectorLayer(uri, name, "ogr").isValid()}
        fields = {"WIDTH_FIELD": WIDTH_FIELD, "SURE_FIELD": SURE_FIELD}
        open_dialog(self._window, FINE_TUNE, {"INPUT": [self._image_id], "BASE_MODEL": model, **present, **fields})
