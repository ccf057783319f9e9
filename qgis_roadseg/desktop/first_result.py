"""The first result: once the runtime is set up, a message offers to extract roads from what the map shows.

Scope: the message, the layer, the extent. Independent of set-up and extraction.
"""

from __future__ import annotations

from typing import Optional

from qgis.core import Qgis, QgsMapLayer, QgsRasterLayer, QgsReferencedRectangle
from qgis.gui import QgisInterface

from ...training_core.jobs import STARTER, has_starter
from ..translation import tr
from .dialogs import run_in_dialog, show_message


def offer(window: QgisInterface) -> None:
    """Say that RoadSeg is ready, with a button that extracts roads."""
    if has_starter():
        text = tr("Ready to extract the roads of a satellite layer.")
        _show(window, text, Qgis.MessageLevel.Success)


def _extract(window: QgisInterface) -> None:
    """Extract roads with the starter from the active image, or else the topmost, within the map's extent."""
    layer = _image(window)
    if layer is None:
        _show(window, tr("The map does not show an image. Add a satellite layer first."), Qgis.MessageLevel.Warning)
        return
    map_settings = window.mapCanvas().mapSettings()
    extent = QgsReferencedRectangle(map_settings.visibleExtent(), map_settings.destinationCrs())
    run_in_dialog(window, "extractroads", {"INPUT": layer.id(), "MODEL": STARTER, "EXTENT": extent})


def _image(window: QgisInterface) -> Optional[QgsMapLayer]:
    layers = [window.activeLayer(), *window.mapCanvas().layers()]
    return next((layer for layer in layers if isinstance(layer, QgsRasterLayer)), None)


def _show(window: QgisInterface, text: str, level: Qgis.MessageLevel) -> None:
    show_message(window, text, level, (tr("Extract roads in this view"), lambda: _extract(window)))
